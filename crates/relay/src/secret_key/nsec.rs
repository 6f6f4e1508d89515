//! Secret keys as people copy them: `nsec1...`, bech32 (NIP-19, BIP-173).

/// The 32 values of bech32, in its order.
const LETTERS: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";

/// 32 bytes in groups of five bits, the last one filled up.
const KEY_GROUPS: usize = 52;
const CHECKSUM_GROUPS: usize = 6;
const HEAD: &str = "nsec";

/// The 32 bytes; `None` if the text is anything else, or was mistyped.
pub(super) fn decode(text: &str) -> Option<[u8; 32]> {
    let lower = text.to_ascii_lowercase();
    if lower != text && text.to_ascii_uppercase() != text {
        return None;
    }
    let letters = lower.strip_prefix(HEAD)?.strip_prefix('1')?.bytes();
    let groups: Option<Vec<u8>> = letters.map(value).collect();
    let groups = groups.filter(|groups| groups.len() == KEY_GROUPS + CHECKSUM_GROUPS)?;
    if checksum(&groups) != 1 {
        return None;
    }
    let mut bytes = Vec::with_capacity(32);
    let (mut held, mut bits) = (0_u32, 0);
    for group in &groups[..KEY_GROUPS] {
        held = held << 5 | u32::from(*group);
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
            held &= (1 << bits) - 1;
        }
    }
    // What fills up the last group must be zero.
    (held == 0).then(|| bytes.try_into().expect("52 groups are 32 bytes and 4 bits"))
}

fn value(letter: u8) -> Option<u8> {
    let at = LETTERS.iter().position(|known| *known == letter)?;
    u8::try_from(at).ok()
}

/// 1 for what was not changed (BIP-173).
fn checksum(groups: &[u8]) -> u32 {
    const STEPS: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
    let high = HEAD.bytes().map(|letter| letter >> 5);
    let low = HEAD.bytes().map(|letter| letter & 31);
    let all = high.chain([0]).chain(low).chain(groups.iter().copied());
    all.fold(1, |sum, group| {
        let top = sum >> 25;
        let sum = (sum & 0x1ff_ffff) << 5 ^ u32::from(group);
        let taken = STEPS.into_iter().enumerate().filter(|(bit, _)| top >> bit & 1 == 1);
        taken.fold(sum, |sum, (_, step)| sum ^ step)
    })
}
