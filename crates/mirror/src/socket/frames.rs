//! WebSocket frames as a client reads and writes them (RFC 6455, section 5).
//!
//! fastwebsockets encodes heads and masks. Reading is our own: its reader makes an object of each
//! frame and cannot tell whether its buffer is empty, so that messages could be handed on only one
//! by one; and it puts no bound on fragments. A server's frames are plain bytes, so taking them
//! apart where they lie in the buffer is all there is to do.

use fastwebsockets::{Frame, OpCode, Payload};

const FIN: u8 = 0x80;
const RESERVED: u8 = 0x70;
const MASKED: u8 = 0x80;
const CONTROL_BYTES_MAX: usize = 125;

/// A whole message, or a control frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// Text; not yet known to be UTF-8.
    Text(&'a [u8]),
    /// Anything else.
    Binary,
    /// To be answered with the same payload.
    Ping(&'a [u8]),
    /// The answer to a ping of ours.
    Pong,
    /// The peer closes, with a code and a reason if it gave them.
    Close(u16, &'a [u8]),
}

/// The code of a close frame that has none.
const NO_CODE: u16 = 1005;

/// How a peer broke the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A message is longer than we take.
    #[error("sent a message of more than {0} bytes")]
    TooLong(usize),
    /// A frame is not as RFC 6455 has it.
    #[error("sent a malformed frame: {0}")]
    Malformed(&'static str),
}

/// Takes messages out of what was read.
pub(crate) struct Decoder {
    message_bytes_max: usize,
    /// The beginning of a message that comes in fragments.
    started: Option<(bool, Vec<u8>)>,
}

/// The head of a frame.
struct Head {
    first: u8,
    bytes: usize,
    payload: usize,
}

impl Decoder {
    pub(crate) fn new(message_bytes_max: usize) -> Self {
        Self { message_bytes_max, started: None }
    }

    /// Gives every message that ends in `bytes` to `each`. Returns how many bytes it took; the rest
    /// is the beginning of a frame, and comes again with what follows it.
    pub(crate) fn decode(
        &mut self,
        bytes: &[u8],
        each: &mut impl FnMut(Message<'_>),
    ) -> Result<usize, FrameError> {
        let mut taken = 0;
        while let Some(head) = self.head(&bytes[taken..])? {
            let from = taken + head.bytes;
            let Some(payload) = bytes.get(from..from + head.payload) else { break };
            self.frame(head.first, payload, each)?;
            taken = from + head.payload;
        }
        Ok(taken)
    }

    /// Reads a head, if it is there in full, and refuses lengths before any room is made for them.
    fn head(&self, bytes: &[u8]) -> Result<Option<Head>, FrameError> {
        let [first, second, rest @ ..] = bytes else { return Ok(None) };
        if first & RESERVED != 0 {
            return Err(FrameError::Malformed("reserved bits are set"));
        }
        if second & MASKED != 0 {
            return Err(FrameError::Malformed("a server's frames are not masked"));
        }
        let (payload, bytes) = match second & !MASKED {
            126 => match rest.first_chunk() {
                Some(length) => (u64::from(u16::from_be_bytes(*length)), 4),
                None => return Ok(None),
            },
            127 => match rest.first_chunk() {
                Some(length) => (u64::from_be_bytes(*length), 10),
                None => return Ok(None),
            },
            length => (u64::from(length), 2),
        };
        let payload = usize::try_from(payload).unwrap_or(usize::MAX);
        if payload > self.message_bytes_max {
            return Err(FrameError::TooLong(self.message_bytes_max));
        }
        Ok(Some(Head { first: *first, bytes, payload }))
    }

    fn frame(
        &mut self,
        first: u8,
        payload: &[u8],
        each: &mut impl FnMut(Message<'_>),
    ) -> Result<(), FrameError> {
        let is_last = first & FIN != 0;
        match first & 0x0f {
            0 => self.go_on(is_last, payload, each),
            opcode @ (1 | 2) => {
                if self.started.is_some() {
                    return Err(FrameError::Malformed("a new message before the end of the last"));
                }
                if is_last {
                    each(whole(opcode == 1, payload));
                } else {
                    self.started = Some((opcode == 1, payload.to_vec()));
                }
                Ok(())
            }
            opcode @ 8..=10 => {
                if !is_last || payload.len() > CONTROL_BYTES_MAX {
                    return Err(FrameError::Malformed("a control frame is too long"));
                }
                each(control(opcode, payload));
                Ok(())
            }
            _ => Err(FrameError::Malformed("unknown opcode")),
        }
    }

    fn go_on(
        &mut self,
        is_last: bool,
        payload: &[u8],
        each: &mut impl FnMut(Message<'_>),
    ) -> Result<(), FrameError> {
        let Some((_, message)) = &mut self.started else {
            return Err(FrameError::Malformed("a continuation without a start"));
        };
        if message.len() + payload.len() > self.message_bytes_max {
            return Err(FrameError::TooLong(self.message_bytes_max));
        }
        message.extend_from_slice(payload);
        if is_last && let Some((is_text, message)) = self.started.take() {
            each(whole(is_text, &message));
        }
        Ok(())
    }
}

fn whole(is_text: bool, payload: &[u8]) -> Message<'_> {
    if is_text { Message::Text(payload) } else { Message::Binary }
}

fn control(opcode: u8, payload: &[u8]) -> Message<'_> {
    match (opcode, payload) {
        (9, payload) => Message::Ping(payload),
        (10, _) => Message::Pong,
        (_, [high, low, reason @ ..]) => Message::Close(u16::from_be_bytes([*high, *low]), reason),
        _ => Message::Close(NO_CODE, &[]),
    }
}

/// Appends a masked text frame.
pub(crate) fn push_text(out: &mut Vec<u8>, text: Vec<u8>) {
    push(out, Frame::text(Payload::Owned(text)));
}

/// Appends the answer to a ping.
pub(crate) fn push_pong(out: &mut Vec<u8>, payload: &[u8]) {
    push(out, Frame::pong(Payload::Owned(payload.to_vec())));
}

/// Appends a ping without payload.
pub(crate) fn push_ping(out: &mut Vec<u8>) {
    push(out, Frame::new(true, OpCode::Ping, None, Payload::Owned(Vec::new())));
}

/// Appends a close frame: we are done, nothing is wrong.
pub(crate) fn push_close(out: &mut Vec<u8>) {
    push(out, Frame::close(1000, b""));
}

fn push(out: &mut Vec<u8>, mut frame: Frame<'_>) {
    frame.mask();
    let mut head = [0; 16];
    let bytes = frame.fmt_head(&mut head);
    out.extend_from_slice(&head[..bytes]);
    out.extend_from_slice(&frame.payload);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The messages in `bytes`, as text, wherever they are cut.
    fn check(bytes: &[u8], expected: Result<&[&str], FrameError>) {
        for cut in 0..=bytes.len() {
            let mut decoder = Decoder::new(10);
            let mut found = Vec::new();
            let mut each = |message: Message<'_>| found.push(format!("{message:?}"));
            let result = decoder.decode(&bytes[..cut], &mut each).and_then(|taken| {
                decoder.decode(&bytes[taken..], &mut each).map(|more| taken + more)
            });
            let found: Vec<_> = found.iter().map(String::as_str).collect();
            match expected {
                Ok(messages) => {
                    assert_eq!(found, messages, "cut at {cut}");
                    assert!(result.is_ok(), "{result:?}");
                }
                Err(error) => assert_eq!(result, Err(error), "cut at {cut}"),
            }
        }
    }

    /// RFC 6455, 5.2 to 5.5, case 53: whole messages out of frames, however they are cut, and
    /// lengths refused by their head.
    #[test]
    fn messages_come_out_whole_or_not_at_all() {
        check(b"\x81\x02ab\x81\x00", Ok(&["Text([97, 98])", "Text([])"]));
        check(b"\x01\x01a\x89\x01p\x80\x01b", Ok(&["Ping([112])", "Text([97, 98])"]));
        check(b"\x82\x01a\x8a\x00", Ok(&["Binary", "Pong"]));
        check(b"\x88\x00", Ok(&["Close(1005, [])"]));
        check(b"\x88\x03\x03\xe8x", Ok(&["Close(1000, [120])"]));
        check(b"\x81\x7e\x00\x01a", Ok(&["Text([97])"]));
        check(b"\x81\x0b", Err(FrameError::TooLong(10)));
        check(b"\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xff", Err(FrameError::TooLong(10)));
        check(b"\x01\x0a0123456789\x80\x01a", Err(FrameError::TooLong(10)));
        check(b"\x81\x81\0\0\0\0a", Err(FrameError::Malformed("a server's frames are not masked")));
        check(b"\xc1\x01a", Err(FrameError::Malformed("reserved bits are set")));
        check(b"\x80\x01a", Err(FrameError::Malformed("a continuation without a start")));
        let twice = FrameError::Malformed("a new message before the end of the last");
        check(b"\x01\x01a\x81\x01b", Err(twice));
        check(b"\x09\x00", Err(FrameError::Malformed("a control frame is too long")));
        check(b"\x83\x00", Err(FrameError::Malformed("unknown opcode")));
    }

    /// A client's frames are masked (RFC 6455, 5.3).
    #[test]
    fn what_is_sent_is_masked() {
        let mut out = Vec::new();
        push_text(&mut out, b"hello".to_vec());
        assert_eq!(out[..2], [0x81, 0x85]);
        let mask = &out[2..6];
        let text: Vec<_> = out[6..].iter().zip(mask.iter().cycle()).map(|(a, b)| a ^ b).collect();
        assert_eq!(text, b"hello");
        out.clear();
        push_ping(&mut out);
        assert_eq!(out[..2], [0x89, 0x80]);
    }
}
