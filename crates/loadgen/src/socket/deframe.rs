//! From bytes to messages, wherever the reads cut them.

use super::frame::{FrameError, Header, Opcode, apply_mask};
use crate::limits::FRAME_BYTES_MAX;

/// What came over the connection.
#[derive(Debug, PartialEq, Eq)]
pub enum Incoming<'a> {
    /// A whole text message.
    Text(&'a [u8]),
    /// A ping, whose payload the pong must repeat.
    Ping(&'a [u8]),
    /// The other side ends the connection, with this code if it gave one.
    Close(Option<u16>),
}

/// Which side reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// A client, whose relay does not mask.
    Client,
    /// A server, whose clients mask.
    Server,
}

/// Keeps what one read left unfinished.
#[derive(Debug)]
pub struct Deframer {
    side: Side,
    /// The beginning of a frame that is not all there.
    rest: Vec<u8>,
    /// The fragments of a message that is not all there.
    fragments: Option<Vec<u8>>,
}

impl Deframer {
    /// A reader at the beginning of a frame.
    pub fn new(side: Side) -> Self {
        Self { side, rest: Vec::new(), fragments: None }
    }

    /// Takes what one read brought and gives every message that it completes to `on`. The bytes
    /// are unmasked in place.
    pub fn feed(
        &mut self,
        bytes: &mut [u8],
        on: &mut dyn FnMut(Incoming<'_>),
    ) -> Result<(), FrameError> {
        if self.rest.is_empty() {
            let used = self.frames(bytes, on)?;
            self.rest.extend_from_slice(&bytes[used..]);
            return Ok(());
        }
        let mut joined = std::mem::take(&mut self.rest);
        joined.extend_from_slice(bytes);
        let used = self.frames(&mut joined, on)?;
        joined.drain(..used);
        if !joined.is_empty() {
            self.rest = joined;
        }
        Ok(())
    }

    /// Handles the whole frames in `bytes` and says how many bytes they took.
    fn frames(
        &mut self,
        bytes: &mut [u8],
        on: &mut dyn FnMut(Incoming<'_>),
    ) -> Result<usize, FrameError> {
        let mut used = 0;
        while let Some(head) = Header::parse(&bytes[used..])? {
            let start = used + head.head_bytes;
            let Some(payload) = bytes.get_mut(start..start + head.payload_bytes) else { break };
            if let (Side::Server, Some(key)) = (self.side, head.mask) {
                apply_mask(payload, key);
            }
            used = start + head.payload_bytes;
            self.frame(head, payload, on)?;
        }
        Ok(used)
    }

    fn frame(
        &mut self,
        head: Header,
        payload: &[u8],
        on: &mut dyn FnMut(Incoming<'_>),
    ) -> Result<(), FrameError> {
        match head.opcode {
            Opcode::Text | Opcode::Binary if self.fragments.is_some() => {
                return Err(FrameError::Fragment);
            }
            Opcode::Text | Opcode::Binary if head.is_final => on(Incoming::Text(payload)),
            Opcode::Text | Opcode::Binary => self.fragments = Some(payload.to_vec()),
            Opcode::Continuation => self.fragment(head.is_final, payload, on)?,
            Opcode::Ping => on(Incoming::Ping(payload)),
            Opcode::Pong => {}
            Opcode::Close => {
                let code = payload.first_chunk().map(|code| u16::from_be_bytes(*code));
                on(Incoming::Close(code));
            }
        }
        Ok(())
    }

    fn fragment(
        &mut self,
        is_final: bool,
        payload: &[u8],
        on: &mut dyn FnMut(Incoming<'_>),
    ) -> Result<(), FrameError> {
        let message = self.fragments.as_mut().ok_or(FrameError::Fragment)?;
        message.extend_from_slice(payload);
        if message.len() > FRAME_BYTES_MAX {
            return Err(FrameError::TooLong);
        }
        if is_final && let Some(message) = self.fragments.take() {
            on(Incoming::Text(&message));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::{push_masked, push_plain};
    use super::*;

    fn texts(side: Side, reads: &[&[u8]]) -> Vec<String> {
        let mut deframer = Deframer::new(side);
        let mut got = Vec::new();
        for read in reads {
            let mut read = read.to_vec();
            let mut on = |incoming: Incoming<'_>| match incoming {
                Incoming::Text(text) => got.push(String::from_utf8(text.to_vec()).unwrap()),
                Incoming::Ping(text) => got.push(format!("ping {}", text.len())),
                Incoming::Close(code) => got.push(format!("close {code:?}")),
            };
            deframer.feed(&mut read, &mut on).unwrap();
        }
        got
    }

    /// Three messages, cut by the reads at every place: the same three messages.
    #[test]
    fn messages_do_not_depend_on_the_cuts_of_reads() {
        let mut plain = Vec::new();
        let mut masked = Vec::new();
        for text in ["one", "", "three"] {
            push_plain(&mut plain, Opcode::Text, text.as_bytes());
            push_masked(&mut masked, Opcode::Text, text.as_bytes(), [9, 8, 7, 6]);
        }
        for (side, bytes) in [(Side::Client, plain), (Side::Server, masked)] {
            for cut in 0..bytes.len() {
                let (head, tail) = bytes.split_at(cut);
                assert_eq!(texts(side, &[head, tail]), ["one", "", "three"], "{side:?} at {cut}");
            }
        }
    }

    /// Fragments with a ping between them are one message, and the ping comes first.
    #[test]
    fn fragments_are_put_together() {
        let bytes = [&[0x01, 2][..], b"ab", &[0x89, 1], b"p", &[0x80, 1], b"c", &[0x88, 2, 3, 232]];
        assert_eq!(texts(Side::Client, &[&bytes.concat()]), ["ping 1", "abc", "close Some(1000)"]);
        let stray = &mut [0x80, 1, b'c'][..];
        let error = Deframer::new(Side::Client).feed(stray, &mut |_| {});
        assert_eq!(error, Err(FrameError::Fragment));
    }
}
