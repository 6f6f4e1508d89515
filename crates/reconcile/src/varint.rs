//! Base-128 numbers: most significant digit first, the high bit set on all but the last (N-02).

/// The digits of 2^64 - 1.
pub(crate) const BYTES_MAX: usize = 10;

/// The fewest digits of `value`: they are the first of the array, as many as the second number.
pub(crate) fn encode(value: u64) -> ([u8; BYTES_MAX], usize) {
    let mut digits = [0; BYTES_MAX];
    let len = (64 - (value | 1).leading_zeros() as usize).div_ceil(7);
    for (place, digit) in digits[..len].iter_mut().rev().enumerate() {
        let more = if place == 0 { 0 } else { 0x80 };
        *digit = (value >> (7 * place)) as u8 & 0x7F | more;
    }
    (digits, len)
}

/// Appends the fewest digits of `value`.
pub(crate) fn push(out: &mut Vec<u8>, value: u64) {
    let (digits, len) = encode(value);
    out.extend_from_slice(&digits[..len]);
}

/// Why bytes are not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VarintError {
    /// They end before a last digit.
    Truncated,
    /// More than ten digits, or more than 2^64 - 1.
    TooLarge,
}

/// Takes a number off the front. Leading zeros are accepted, within ten digits.
pub(crate) fn take(bytes: &mut &[u8]) -> Result<u64, VarintError> {
    let mut value: u64 = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if at == BYTES_MAX || value >> 57 != 0 {
            return Err(VarintError::TooLarge);
        }
        value = value << 7 | u64::from(byte & 0x7F);
        if byte & 0x80 == 0 {
            *bytes = &bytes[at + 1..];
            return Ok(value);
        }
    }
    Err(VarintError::Truncated)
}
