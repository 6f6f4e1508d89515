//! The hex form of reconciliation messages.

use zeolite_proto::Reason;

/// The bytes of a message: hex in either case (R77-01), an even number of digits.
pub(crate) fn decode(hex: &str) -> Result<Vec<u8>, Reason> {
    if !hex.len().is_multiple_of(2) {
        return Err(Reason::invalid("message has an odd number of hex digits"));
    }
    let mut bytes = vec![0; hex.len() / 2];
    faster_hex::hex_decode(hex.as_bytes(), &mut bytes)
        .map_err(|_| Reason::invalid("message is not hex"))?;
    Ok(bytes)
}
