//! WebSocket frames as the relay writes them (RFC 6455, section 5).
//!
//! The encoder appends whole frames to one buffer, which the connection's writer hands to the
//! socket in one call. A server's frames are unmasked and never fragmented.

/// The final frame of a text message.
const TEXT: u8 = 0x81;
const CLOSE: u8 = 0x88;
const PING: u8 = 0x89;
const PONG: u8 = 0x8a;

/// The longest payload of a control frame.
pub(crate) const CONTROL_BYTES_MAX: usize = 125;

/// Bytes before the payload of the middle size of frames, which nearly all messages have.
const HEAD_GUESS: usize = 4;

/// Appends a text frame whose payload `encode` appends.
///
/// The head comes before a length that is known last, so room for the likeliest head is left and
/// the payload moves in the rare cases where the guess was wrong.
pub fn push_text(out: &mut Vec<u8>, encode: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; HEAD_GUESS]);
    encode(out);
    let payload = out.len() - start - HEAD_GUESS;
    let (head, head_bytes) = head(TEXT, payload);
    if head_bytes > HEAD_GUESS {
        out.resize(out.len() + head_bytes - HEAD_GUESS, 0);
    }
    if head_bytes != HEAD_GUESS {
        let from = start + HEAD_GUESS;
        out.copy_within(from..from + payload, start + head_bytes);
        out.truncate(start + head_bytes + payload);
    }
    out[start..start + head_bytes].copy_from_slice(&head[..head_bytes]);
}

/// Appends a text frame of `parts`, one after the other.
pub fn push_text_parts(out: &mut Vec<u8>, parts: &[&[u8]]) {
    let payload = parts.iter().map(|part| part.len()).sum();
    let (head, head_bytes) = head(TEXT, payload);
    out.reserve(head_bytes + payload);
    out.extend_from_slice(&head[..head_bytes]);
    for part in parts {
        out.extend_from_slice(part);
    }
}

/// Appends a close frame; a reason that does not fit is cut.
pub fn push_close(out: &mut Vec<u8>, code: u16, reason: &str) {
    let fits = (0..=CONTROL_BYTES_MAX - 2).rev().find(|&at| reason.is_char_boundary(at));
    let reason = &reason[..fits.expect("every text has a boundary at its start")];
    push_control(out, CLOSE, &[&code.to_be_bytes(), reason.as_bytes()]);
}

/// Appends a close frame without a code, the answer to one without a code.
pub fn push_close_empty(out: &mut Vec<u8>) {
    push_control(out, CLOSE, &[]);
}

/// Appends a ping without payload.
pub fn push_ping(out: &mut Vec<u8>) {
    push_control(out, PING, &[]);
}

/// Appends the answer to a ping, whose payload it repeats.
pub fn push_pong(out: &mut Vec<u8>, payload: &[u8]) {
    push_control(out, PONG, &[payload]);
}

fn push_control(out: &mut Vec<u8>, opcode: u8, parts: &[&[u8]]) {
    let payload: usize = parts.iter().map(|part| part.len()).sum();
    assert!(payload <= CONTROL_BYTES_MAX, "the reader refuses longer control frames");
    out.extend_from_slice(&[opcode, payload as u8]);
    for part in parts {
        out.extend_from_slice(part);
    }
}

/// The head of an unmasked frame, and how many of its bytes are in use.
fn head(opcode: u8, payload: usize) -> ([u8; 10], usize) {
    let mut head = [0; 10];
    head[0] = opcode;
    if payload <= 125 {
        head[1] = payload as u8;
        (head, 2)
    } else if let Ok(short) = u16::try_from(payload) {
        head[1] = 126;
        head[2..4].copy_from_slice(&short.to_be_bytes());
        (head, 4)
    } else {
        head[1] = 127;
        head[2..10].copy_from_slice(&(payload as u64).to_be_bytes());
        (head, 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6455, 5.2: the three ways to write a length, at both of their ends, after other bytes.
    #[test]
    fn lengths_are_written_in_the_shortest_form() {
        for (payload, head) in [
            (0, &[0x81, 0][..]),
            (125, &[0x81, 125]),
            (126, &[0x81, 126, 0, 126]),
            (65_535, &[0x81, 126, 0xff, 0xff]),
            (65_536, &[0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
        ] {
            let text: Vec<u8> = (0..payload).map(|at| b'a' + (at % 26) as u8).collect();
            let wanted = [b"before", head, &text].concat();
            let mut grown = b"before".to_vec();
            push_text(&mut grown, |out| out.extend_from_slice(&text));
            assert!(grown == wanted, "{payload} bytes, length known last");
            let mut joined = b"before".to_vec();
            let (first, second) = text.split_at(payload / 2);
            push_text_parts(&mut joined, &[first, second]);
            assert!(joined == wanted, "{payload} bytes, length known first");
        }
    }

    /// RFC 6455, 5.5: a control frame carries at most 125 bytes, and its text stays UTF-8.
    #[test]
    fn a_close_reason_is_cut_between_characters() {
        let mut out = Vec::new();
        push_close(&mut out, 1009, &"é".repeat(100));
        assert_eq!(out[..4], [0x88, 124, 0x03, 0xf1]);
        assert_eq!(std::str::from_utf8(&out[4..]).unwrap(), "é".repeat(61));
        out.clear();
        push_close(&mut out, 1000, "");
        assert_eq!(out, [0x88, 2, 0x03, 0xe8]);
    }
}
