//! WebSocket frames (RFC 6455): encoding for both sides, and the header of the next one.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::limits::FRAME_BYTES_MAX;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opcode {
    /// Goes on with a fragmented message.
    Continuation,
    /// A text message, or its first fragment.
    Text,
    /// A binary message, which Nostr does not use.
    Binary,
    /// The end of the connection.
    Close,
    /// Asks for a pong.
    Ping,
    /// Answers a ping.
    Pong,
}

/// Why bytes are not a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Reserved bits or opcodes: a compressed frame that nobody negotiated, or no WebSocket at all.
    #[error("a frame uses reserved bits or opcodes")]
    Reserved,
    /// The declared length is above [`FRAME_BYTES_MAX`].
    #[error("a frame or message is longer than {FRAME_BYTES_MAX} bytes")]
    TooLong,
    /// A fragment without a beginning, or a beginning inside a fragmented message.
    #[error("fragments are out of order")]
    Fragment,
}

impl Opcode {
    fn bits(self) -> u8 {
        match self {
            Self::Continuation => 0,
            Self::Text => 1,
            Self::Binary => 2,
            Self::Close => 8,
            Self::Ping => 9,
            Self::Pong => 10,
        }
    }

    fn from_bits(bits: u8) -> Result<Self, FrameError> {
        Ok(match bits {
            0 => Self::Continuation,
            1 => Self::Text,
            2 => Self::Binary,
            8 => Self::Close,
            9 => Self::Ping,
            10 => Self::Pong,
            _ => return Err(FrameError::Reserved),
        })
    }
}

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) is_final: bool,
    pub(crate) opcode: Opcode,
    pub(crate) mask: Option<[u8; 4]>,
    pub(crate) head_bytes: usize,
    pub(crate) payload_bytes: usize,
}

impl Header {
    /// Reads the head of the frame that begins `bytes`; `None` if it is not all there.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Option<Self>, FrameError> {
        let &[first, second, ..] = bytes else { return Ok(None) };
        if first & 0x70 != 0 {
            return Err(FrameError::Reserved);
        }
        let opcode = Opcode::from_bits(first & 0x0f)?;
        let Some((length, at)) = length(second & 0x7f, bytes) else { return Ok(None) };
        let payload_bytes = usize::try_from(length).unwrap_or(usize::MAX);
        if payload_bytes > FRAME_BYTES_MAX {
            return Err(FrameError::TooLong);
        }
        let mut head =
            Self { is_final: first & 0x80 != 0, opcode, mask: None, head_bytes: at, payload_bytes };
        if second & 0x80 != 0 {
            let Some(key) = bytes.get(at..at + 4) else { return Ok(None) };
            head.mask = key.try_into().ok();
            head.head_bytes += 4;
        }
        Ok(Some(head))
    }
}

fn length(short: u8, bytes: &[u8]) -> Option<(u64, usize)> {
    match short {
        126 => Some((u64::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?)), 4)),
        127 => Some((u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?), 10)),
        short => Some((u64::from(short), 2)),
    }
}

/// Appends a whole frame as a server sends it.
pub fn push_plain(out: &mut Vec<u8>, opcode: Opcode, payload: &[u8]) {
    push_plain_parts(out, opcode, &[payload]);
}

/// Appends a whole frame as a server sends it, whose payload consists of these parts.
pub fn push_plain_parts(out: &mut Vec<u8>, opcode: Opcode, parts: &[&[u8]]) {
    push_head(out, opcode, parts.iter().map(|part| part.len()).sum(), 0);
    parts.iter().for_each(|part| out.extend_from_slice(part));
}

/// Appends a whole frame as a client sends it, masked with `key`.
pub fn push_masked(out: &mut Vec<u8>, opcode: Opcode, payload: &[u8], key: [u8; 4]) {
    push_head(out, opcode, payload.len(), 0x80);
    out.extend_from_slice(&key);
    let start = out.len();
    out.extend_from_slice(payload);
    apply_mask(&mut out[start..], key);
}

fn push_head(out: &mut Vec<u8>, opcode: Opcode, length: usize, mask_bit: u8) {
    out.push(0x80 | opcode.bits());
    match u16::try_from(length) {
        Ok(short @ 0..126) => out.push(mask_bit | short as u8),
        Ok(medium) => {
            out.push(mask_bit | 126);
            out.extend_from_slice(&medium.to_be_bytes());
        }
        Err(_) => {
            out.push(mask_bit | 127);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
}

/// Masks or unmasks in place, eight bytes at a time.
pub(crate) fn apply_mask(bytes: &mut [u8], key: [u8; 4]) {
    let narrow = u32::from_ne_bytes(key);
    let wide = u64::from(narrow) << 32 | u64::from(narrow);
    let mut chunks = bytes.chunks_exact_mut(8);
    for chunk in &mut chunks {
        let value = u64::from_ne_bytes((&*chunk).try_into().expect("a chunk of eight"));
        chunk.copy_from_slice(&(value ^ wide).to_ne_bytes());
    }
    for (byte, key) in chunks.into_remainder().iter_mut().zip(key.iter().cycle()) {
        *byte ^= key;
    }
}

/// A new masking key. Masks protect proxies from a browser's page; a load generator needs keys
/// that differ and are not zero, so that the relay does the work it does for real clients.
pub fn mask_key() -> [u8; 4] {
    static STATE: AtomicU32 = AtomicU32::new(0x9e37_79b9);
    let mut key = STATE.fetch_add(0x6d2b_79f5, Ordering::Relaxed);
    key = (key ^ key >> 15).wrapping_mul(key | 1);
    (key ^ key >> 14 | 1).to_ne_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every form of the length, at both of its ends, masked and plain.
    #[test]
    fn frames_survive_encoding() {
        for length in [0, 1, 7, 8, 125, 126, 127, 65_535, 65_536] {
            let payload: Vec<u8> = (0..length).map(|n: usize| n as u8).collect();
            let (mut plain, mut masked) = (Vec::new(), Vec::new());
            push_plain(&mut plain, Opcode::Text, &payload);
            push_masked(&mut masked, Opcode::Text, &payload, [1, 2, 3, 4]);
            for (mut frame, mask) in [(plain, None), (masked, Some([1, 2, 3, 4]))] {
                let head = Header::parse(&frame).expect("a frame").expect("a whole head");
                assert_eq!((head.payload_bytes, head.mask, head.is_final), (length, mask, true));
                assert_eq!(head.head_bytes + length, frame.len());
                let body = &mut frame[head.head_bytes..];
                apply_mask(body, mask.unwrap_or_default());
                assert_eq!(body, payload);
                for cut in 0..head.head_bytes {
                    assert_eq!(Header::parse(&frame[..cut]), Ok(None), "{length} at {cut}");
                }
            }
        }
    }

    /// A compressed frame (RSV1) was never negotiated; a length of 2^63 is never waited for.
    #[test]
    fn senseless_heads_are_refused() {
        assert_eq!(Header::parse(&[0xc1, 0]), Err(FrameError::Reserved));
        assert_eq!(Header::parse(&[0x83, 0]), Err(FrameError::Reserved));
        let long = [&[0x81, 127][..], &(1_u64 << 62).to_be_bytes()].concat();
        assert_eq!(Header::parse(&long), Err(FrameError::TooLong));
    }
}
