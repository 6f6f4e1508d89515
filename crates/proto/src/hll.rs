//! How many different authors, about: the HyperLogLog of NIP-45.
//!
//! A relay that answers a COUNT gives 256 registers with it. Registers of several relays, merged,
//! say how many different authors there are in all of them together, which their numbers do not.

use sha2::{Digest, Sha256};

use crate::filter::TagValue;
use crate::ids::{PubKey, push_hex};

/// One for each value of a byte.
const REGISTERS: usize = 256;

/// Which byte of a public key is the register's number: 8 to 23. It depends on what is counted, so
/// that nobody can mine one key that spoils every count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HllOffset(u8);

impl HllOffset {
    /// The offset for a filter whose first `#` member, as written, begins with this value (R45-07):
    /// the 33rd hex digit of an id or key, of the key in an address, or of the value's hash.
    pub fn of(value: &TagValue) -> Self {
        let bytes = match value {
            TagValue::Hex(bytes) => *bytes,
            TagValue::Text(text) => author_of_address(text)
                .map_or_else(|| Sha256::digest(text).into(), |author| author.0),
        };
        Self((bytes[16] >> 4) + 8)
    }
}

/// The author in `kind:author:d`.
fn author_of_address(text: &[u8]) -> Option<PubKey> {
    let mut parts = std::str::from_utf8(text).ok()?.splitn(3, ':');
    let (kind, author, _d) = (parts.next()?, parts.next()?, parts.next()?);
    kind.parse::<u16>().ok()?;
    PubKey::from_hex(author).ok()
}

/// The registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hll([u8; REGISTERS]);

impl Default for Hll {
    fn default() -> Self {
        Self([0; REGISTERS])
    }
}

impl Hll {
    /// Takes an author in (R45-08). Taking one in again changes nothing.
    pub fn add(&mut self, author: &PubKey, offset: HllOffset) {
        let at = usize::from(offset.0);
        let rest = &author.0[at + 1..];
        let zero_bytes = rest.iter().take_while(|byte| **byte == 0).count();
        let zero_bits = rest.get(zero_bytes).map_or(0, |byte| byte.leading_zeros());
        // At most 23 bytes of zeros: 185 fits.
        let value = (zero_bytes * 8) as u8 + zero_bits as u8 + 1;
        let register = &mut self.0[usize::from(author.0[at])];
        *register = (*register).max(value);
    }

    /// Takes in all that another one with the same offset has.
    pub fn merge(&mut self, other: &Self) {
        for (register, value) in self.0.iter_mut().zip(other.0) {
            *register = (*register).max(value);
        }
    }

    /// Appends the registers as 512 hex digits (R45-06).
    pub fn push_hex(&self, out: &mut Vec<u8>) {
        push_hex(out, &self.0);
    }

    /// The value of each register.
    pub fn registers(&self) -> &[u8; REGISTERS] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::Filter;

    fn key(bytes: &[(usize, u8)]) -> PubKey {
        let mut key = [0; 32];
        bytes.iter().for_each(|(at, byte)| key[*at] = *byte);
        PubKey(key)
    }

    /// The value's 33rd hex digit decides, whatever the value is (the vectors of R45-07).
    #[test]
    fn the_offset_comes_from_the_first_value() {
        let hex = |digit: char| format!("{}{digit}{}", "5".repeat(32), "5".repeat(31));
        for (value, offset) in [
            (hex('a'), 18),
            (hex('0'), 8),
            (hex('f'), 23),
            (format!("30023:{}:{}", hex('a'), hex('0')), 18),
            (format!("30023:{}:", hex('c')), 20),
            // SHA-256 of "hello" begins 2cf24dba5fb0a30e26e83b2ac5b9e29e1.
            ("hello".to_owned(), 9),
        ] {
            assert_eq!(HllOffset::of(&TagValue::new(&value)).0, offset, "{value}");
        }
        // What only looks like an address is hashed, which here makes another offset.
        for value in [format!("x:{}:", hex('a')), format!("30023:{}", hex('a'))] {
            assert_eq!(HllOffset::of(&TagValue::new(&value)), of_hash(&value), "{value}");
        }
    }

    fn of_hash(text: &str) -> HllOffset {
        HllOffset((Sha256::digest(text)[16] >> 4) + 8)
    }

    /// The order of members and of values is the one that was written, however the filter is kept.
    #[test]
    fn filters_know_what_was_written_first() {
        let hex = |digit: char| format!("{}{digit}{}", "5".repeat(32), "5".repeat(31));
        let (a, f) = (hex('a'), hex('f'));
        for (json, offset) in [
            ("{}".to_owned(), None),
            (format!(r##"{{"#p":["{f}","{a}"]}}"##), Some(23)),
            (format!(r##"{{"#p":["{a}","{f}"]}}"##), Some(18)),
            (format!(r##"{{"&p":["{f}"],"kinds":[1],"#q":["{a}"],"#e":["{f}"]}}"##), Some(18)),
            (format!(r##"{{"#t":["hello","a"],"#p":["{a}"]}}"##), Some(9)),
            (format!(r##"{{"#t":[],"#p":["{a}"]}}"##), None),
            (format!(r##"{{"&p":["{f}"]}}"##), None),
        ] {
            let filter = Filter::from_json(&json).expect(&json);
            assert_eq!(filter.hll_offset().map(|offset| offset.0), offset, "{json}");
        }
        let parse = |one: &str, two: &str| {
            Filter::from_json(&format!(r##"{{"#p":["{one}","{two}"]}}"##)).expect("a filter")
        };
        assert_eq!(parse(&a, &f), parse(&f, &a), "they select the same");
    }

    /// R45-08, with the vector of a key that has eleven zero bits; more zeros win, fewer do not.
    #[test]
    fn registers_keep_the_longest_run_of_zeros() {
        let mut hll = Hll::default();
        for (bytes, offset, register, expected) in [
            (&[(18, 0x5c), (20, 0x10)][..], 18, 92, 12),
            (&[(18, 0x5c), (19, 0x80)], 18, 92, 12),
            (&[(18, 0x5c), (20, 0x08)], 18, 92, 13),
            (&[(18, 0xff), (19, 0xff)], 18, 255, 1),
            (&[(23, 7)], 23, 7, 65),
            (&[(8, 7)], 8, 7, 185),
        ] {
            hll.add(&key(bytes), HllOffset(offset));
            assert_eq!(hll.registers()[register], expected, "{bytes:?} at {offset}");
        }
        let mut hex = Vec::new();
        hll.push_hex(&mut hex);
        assert_eq!((hex.len(), &hex[184..186], &hex[510..]), (512, &b"0d"[..], &b"01"[..]));
    }

    /// The estimate of NIP-45's algorithm, with the correction for few.
    fn estimate(hll: &Hll) -> f64 {
        let m = REGISTERS as f64;
        let sum: f64 = hll.registers().iter().map(|value| 0.5_f64.powi(i32::from(*value))).sum();
        let raw = 0.7182725932495458 * m * m / sum;
        let zeros = hll.registers().iter().filter(|value| **value == 0).count();
        if raw <= 2.5 * m && zeros > 0 { m * (m / zeros as f64).ln() } else { raw }
    }

    /// A key that is as good as random: a hash.
    fn author(number: u32) -> PubKey {
        PubKey(Sha256::digest(number.to_be_bytes()).into())
    }

    /// The error of 256 registers is 6.5 %, and of few authors much less; doubles count once, and
    /// what two relays know is merged to what one would know of both.
    #[test]
    fn distinct_authors_are_estimated() {
        for offset in [8, 15, 23].map(HllOffset) {
            for (count, error_max) in [(1, 0.01), (10, 0.05), (100, 0.10), (10_000, 0.20)] {
                let (mut one, mut other, mut all) = Default::default();
                for number in 0..count {
                    let author = author(number);
                    for hll in [&mut all, if number % 3 == 0 { &mut one } else { &mut other }] {
                        Hll::add(hll, &author, offset);
                        Hll::add(hll, &author, offset);
                    }
                }
                let error = (estimate(&all) - f64::from(count)).abs() / f64::from(count);
                assert!(error < error_max, "{count}: {error}");
                one.merge(&other);
                assert_eq!(one, all);
            }
        }
        assert_eq!(estimate(&Hll::default()), 0.0);
    }
}
