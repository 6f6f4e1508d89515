//! Whole messages out of frames (RFC 6455, sections 5.4 to 5.6).

use fastwebsockets::{Frame, OpCode, Payload};

use crate::frames::CONTROL_BYTES_MAX;

/// A whole message or a control frame.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Incoming {
    Text(String),
    Binary(Vec<u8>),
    Ping(Vec<u8>),
    Pong,
    /// With the code to answer, if the client sent one.
    Close(Option<u16>),
    /// Part of a message; more has to come.
    Part,
}

/// Why a connection is closed, as the code and reason of the close frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) code: u16,
    pub(crate) reason: &'static str,
}

const fn protocol(reason: &'static str) -> Violation {
    Violation { code: 1002, reason }
}

pub(crate) const TOO_BIG: Violation = Violation { code: 1009, reason: "message is too large" };
pub(crate) const TOO_SLOW: Violation =
    Violation { code: 1008, reason: "the rest of a message did not come" };
pub(crate) const NOT_UTF8: Violation = Violation { code: 1007, reason: "text is not UTF-8" };
pub(crate) const BAD_FRAME: Violation = protocol("frame is malformed");
const UNMASKED: Violation = protocol("client frames must be masked");
const LONG_CONTROL: Violation = protocol("control frame is too long");
const BAD_CLOSE: Violation = protocol("close frame is malformed");
const NO_START: Violation = protocol("continuation without a start");
const NO_END: Violation = protocol("a new message before the end of the last one");

/// Puts fragments together, with a bound on the whole message.
pub(crate) struct Assembler {
    bytes_max: usize,
    started: Option<(OpCode, Vec<u8>)>,
}

impl Assembler {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, started: None }
    }

    /// True unless the rest of a message has to come.
    pub(crate) fn is_empty(&self) -> bool {
        self.started.is_none()
    }

    /// Takes one frame as it was read, unmasked.
    pub(crate) fn push(&mut self, mut frame: Frame<'_>) -> Result<Incoming, Violation> {
        if !is_masked(&mut frame) {
            return Err(UNMASKED);
        }
        match frame.opcode {
            OpCode::Close | OpCode::Ping | OpCode::Pong => control(frame),
            OpCode::Continuation => self.go_on(frame),
            OpCode::Text | OpCode::Binary => self.start(frame),
        }
    }

    fn start(&mut self, frame: Frame<'_>) -> Result<Incoming, Violation> {
        if self.started.is_some() {
            return Err(NO_END);
        }
        if frame.payload.len() > self.bytes_max {
            return Err(TOO_BIG);
        }
        if frame.fin {
            return whole(frame.opcode, frame.payload.into());
        }
        self.started = Some((frame.opcode, frame.payload.to_vec()));
        Ok(Incoming::Part)
    }

    fn go_on(&mut self, frame: Frame<'_>) -> Result<Incoming, Violation> {
        let (opcode, mut message) = self.started.take().ok_or(NO_START)?;
        if message.len() + frame.payload.len() > self.bytes_max {
            return Err(TOO_BIG);
        }
        message.extend_from_slice(&frame.payload);
        if frame.fin {
            return whole(opcode, message);
        }
        self.started = Some((opcode, message));
        Ok(Incoming::Part)
    }
}

fn whole(opcode: OpCode, message: Vec<u8>) -> Result<Incoming, Violation> {
    match opcode {
        OpCode::Text => String::from_utf8(message).map(Incoming::Text).map_err(|_| NOT_UTF8),
        _ => Ok(Incoming::Binary(message)),
    }
}

fn control(frame: Frame<'_>) -> Result<Incoming, Violation> {
    if frame.payload.len() > CONTROL_BYTES_MAX {
        return Err(LONG_CONTROL);
    }
    match frame.opcode {
        OpCode::Ping => Ok(Incoming::Ping(frame.payload.into())),
        OpCode::Pong => Ok(Incoming::Pong),
        _ => close(&frame.payload),
    }
}

fn close(payload: &Payload<'_>) -> Result<Incoming, Violation> {
    match **payload {
        [] => Ok(Incoming::Close(None)),
        [_] => Err(BAD_CLOSE),
        [high, low, ref reason @ ..] => {
            let code = u16::from_be_bytes([high, low]);
            if std::str::from_utf8(reason).is_err() {
                return Err(NOT_UTF8);
            }
            match code {
                1000..=1003 | 1007..=1014 | 3000..=4999 => Ok(Incoming::Close(Some(code))),
                _ => Err(BAD_CLOSE),
            }
        }
    }
}

/// The library keeps the mask to itself, but writes it into a head.
fn is_masked(frame: &mut Frame<'_>) -> bool {
    const MASK_BIT: u8 = 0x80;
    let mut head = [0; 16];
    frame.fmt_head(&mut head);
    head[1] & MASK_BIT != 0
}

/// Bytes that this frame's head took on the wire, if its length was written in the shortest form.
pub(crate) fn head_bytes(frame: &mut Frame<'_>) -> usize {
    frame.fmt_head(&mut [0; 16])
}

#[cfg(test)]
mod tests {
    use super::*;

    const MASK: Option<[u8; 4]> = Some([0; 4]);

    fn frame(fin: bool, opcode: OpCode, payload: &[u8]) -> Frame<'_> {
        Frame::new(fin, opcode, MASK, Payload::Borrowed(payload))
    }

    fn check(frames: Vec<Frame<'_>>, expected: Result<Incoming, Violation>) {
        let mut assembler = Assembler::new(10);
        let mut last = Ok(Incoming::Part);
        for frame in frames {
            last = assembler.push(frame);
        }
        assert_eq!(last, expected);
    }

    /// Case 53, 54 and RFC 6455, 5.4 to 5.6: fragments, what may stand between them, and their
    /// bound as a whole message.
    #[test]
    fn messages_come_out_whole_or_not_at_all() {
        use OpCode::{Binary, Close, Continuation, Ping, Pong, Text};
        let text = |text: &str| Ok(Incoming::Text(text.to_owned()));
        check(vec![frame(true, Text, b"0123456789")], text("0123456789"));
        check(vec![frame(true, Text, b"0123456789a")], Err(TOO_BIG));
        check(vec![frame(true, Binary, b"\xff")], Ok(Incoming::Binary(vec![0xff])));
        let split = [&b"a\xc3"[..], b"\xa9"];
        check(
            vec![frame(false, Text, split[0]), frame(true, Continuation, split[1])],
            text("a\u{e9}"),
        );
        check(
            vec![
                frame(false, Text, b"a"),
                frame(true, Ping, b"p"),
                frame(false, Continuation, b""),
                frame(true, Continuation, b"b"),
            ],
            text("ab"),
        );
        check(
            vec![frame(false, Text, b"01234"), frame(false, Continuation, b"567890")],
            Err(TOO_BIG),
        );
        check(vec![frame(false, Text, b"a\xc3"), frame(true, Continuation, b"(")], Err(NOT_UTF8));
        check(vec![frame(true, Continuation, b"a")], Err(NO_START));
        check(vec![frame(false, Text, b"a"), frame(true, Text, b"b")], Err(NO_END));
        check(vec![frame(true, Ping, b"p")], Ok(Incoming::Ping(b"p".to_vec())));
        check(vec![frame(true, Pong, b"p")], Ok(Incoming::Pong));
        check(vec![frame(true, Pong, &[0; 126])], Err(LONG_CONTROL));
        check(vec![frame(true, Close, b"")], Ok(Incoming::Close(None)));
        check(vec![frame(true, Close, b"\x03\xe8bye")], Ok(Incoming::Close(Some(1000))));
        check(vec![frame(true, Close, b"\x03")], Err(BAD_CLOSE));
        check(vec![frame(true, Close, b"\x03\xed")], Err(BAD_CLOSE));
        check(vec![frame(true, Close, b"\x03\xe8\xff")], Err(NOT_UTF8));
        check(vec![Frame::new(true, Text, None, Payload::Borrowed(b"a"))], Err(UNMASKED));
    }
}
