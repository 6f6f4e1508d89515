//! Identifiers: event ids, public keys, signatures and subscription ids.

use std::fmt;

use crate::limits::SUB_ID_CHARS_MAX;

/// Why a text is not the lower-case hex of the expected length (NIP-01).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {digits} lower-case hex digits")]
pub struct HexError {
    /// The number of hex digits that would have been right.
    pub digits: usize,
}

/// Decodes exactly `2 * N` lower-case hex digits.
pub(crate) fn decode_hex<const N: usize>(text: &[u8]) -> Result<[u8; N], HexError> {
    let mut bytes = [0; N];
    let wrong = HexError { digits: 2 * N };
    if text.len() != 2 * N {
        return Err(wrong);
    }
    faster_hex::hex_decode_with_case(text, &mut bytes, faster_hex::CheckCase::Lower)
        .map_err(|_| wrong)?;
    Ok(bytes)
}

/// Appends the lower-case hex of `bytes`.
pub(crate) fn push_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    let start = out.len();
    out.resize(start + 2 * bytes.len(), 0);
    faster_hex::hex_encode(bytes, &mut out[start..])
        .expect("the output was sized for twice the input");
}

macro_rules! hex_newtype {
    ($(#[$doc:meta])* $name:ident, $len:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; $len]);

        impl $name {
            /// Reads lower-case hex of exactly the right length.
            pub fn from_hex(text: &str) -> Result<Self, HexError> {
                decode_hex(text.as_bytes()).map(Self)
            }

            /// Appends the lower-case hex form.
            pub fn push_hex(&self, out: &mut Vec<u8>) {
                push_hex(out, &self.0);
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&faster_hex::hex_string(&self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{self}")
            }
        }
    };
}

hex_newtype! {
    /// The id of an event: the SHA-256 of its canonical form (NIP-01).
    EventId, 32
}
hex_newtype! {
    /// An x-only public key of secp256k1 (BIP-340).
    PubKey, 32
}
hex_newtype! {
    /// A Schnorr signature (BIP-340).
    Signature, 64
}

/// A subscription id: 1 to 64 characters of any kind, chosen by the client (NIP-01).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubId(Box<str>);

/// Why a text cannot be a subscription id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubIdError {
    /// The text is empty.
    #[error("subscription id is empty")]
    Empty,
    /// The text has more than [`SUB_ID_CHARS_MAX`] characters.
    #[error("subscription id is longer than {SUB_ID_CHARS_MAX} characters")]
    TooLong,
}

impl SubId {
    /// Checks the length, counted in Unicode scalar values.
    pub fn new(text: &str) -> Result<Self, SubIdError> {
        // A scalar value takes at most four bytes, so most texts need no count.
        if text.is_empty() {
            Err(SubIdError::Empty)
        } else if text.len() > SUB_ID_CHARS_MAX && text.chars().count() > SUB_ID_CHARS_MAX {
            Err(SubIdError::TooLong)
        } else {
            Ok(Self(text.into()))
        }
    }

    /// The id as the client wrote it, unescaped.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SubId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R01-01, E-23: upper case, 63 and 65 digits are not ids.
    #[test]
    fn hex_is_lower_case_and_exact() {
        let good = "0123456789abcdef".repeat(4);
        assert_eq!(EventId::from_hex(&good).expect("well formed").to_string(), good);
        for bad in [good.to_uppercase(), good[..63].into(), format!("{good}0"), "g".repeat(64)] {
            assert_eq!(EventId::from_hex(&bad), Err(HexError { digits: 64 }), "{bad}");
        }
    }

    /// R01-45: 1 to 64 characters, counted as characters and not as bytes.
    #[test]
    fn sub_ids_count_characters() {
        assert_eq!(SubId::new(""), Err(SubIdError::Empty));
        assert!(SubId::new(&"x".repeat(64)).is_ok());
        assert!(SubId::new(&"é😀".repeat(32)).is_ok());
        assert_eq!(SubId::new(&"x".repeat(65)), Err(SubIdError::TooLong));
        assert_eq!(SubId::new(&"😀".repeat(65)), Err(SubIdError::TooLong));
    }
}
