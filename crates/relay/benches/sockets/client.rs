//! A blocking WebSocket client that does next to nothing, so that little of what is measured is
//! its own.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::Range;
use std::time::Duration;

use serde_json::{Value, json};

const TEXT: u8 = 0x81;
const PING: u8 = 0x89;

const BUFFER_BYTES: usize = 256 << 10;

pub(crate) struct Client {
    socket: TcpStream,
    buffer: Vec<u8>,
    start: usize,
}

impl Client {
    pub(crate) fn connect(addr: SocketAddr) -> Self {
        let mut socket = TcpStream::connect(addr).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let request = "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                       Sec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
        socket.write_all(request.as_bytes()).unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            socket.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        assert!(head.starts_with(b"HTTP/1.1 101"));
        Self { socket, buffer: Vec::new(), start: 0 }
    }

    /// Appends one text frame, masked with zeros.
    pub(crate) fn push_frame(frames: &mut Vec<u8>, message: &str) {
        frames.push(TEXT);
        match u16::try_from(message.len()).unwrap() {
            short @ 0..=125 => frames.push(0x80 | short as u8),
            long => {
                frames.push(0x80 | 126);
                frames.extend_from_slice(&long.to_be_bytes());
            }
        }
        frames.extend_from_slice(&[0; 4]);
        frames.extend_from_slice(message.as_bytes());
    }

    pub(crate) fn send(&mut self, message: &Value) {
        let mut frame = Vec::new();
        Self::push_frame(&mut frame, &message.to_string());
        self.send_frames(&frame);
    }

    pub(crate) fn send_frames(&mut self, frames: &[u8]) {
        self.socket.write_all(frames).unwrap();
    }

    pub(crate) fn recv(&mut self) -> Value {
        serde_json::from_slice(self.recv_bytes()).unwrap()
    }

    /// The text of the next frame.
    pub(crate) fn recv_bytes(&mut self) -> &[u8] {
        loop {
            match self.take_frame() {
                Some((TEXT, message)) => return &self.buffer[message],
                Some(_) => {}
                None => _ = self.fill(BUFFER_BYTES),
            }
        }
    }

    /// Reads at most this much more.
    pub(crate) fn fill(&mut self, bytes_max: usize) -> usize {
        self.buffer.drain(..self.start);
        self.start = 0;
        let old = self.buffer.len();
        self.buffer.resize(old + bytes_max, 0);
        let read = self.socket.read(&mut self.buffer[old..]).unwrap();
        assert!(read > 0, "the relay closed the connection");
        self.buffer.truncate(old + read);
        if old == 0 && read < 4096 {
            // Thousands of idle clients live in one process.
            self.buffer.shrink_to_fit();
        }
        read
    }

    /// Takes the frames that are there in whole.
    pub(crate) fn take_whole(&mut self, mut each: impl FnMut(&[u8])) {
        while let Some((opcode, message)) = self.take_frame() {
            if opcode == TEXT {
                each(&self.buffer[message]);
            }
        }
    }

    /// The next frame, if it is there in whole: its first byte, and where its payload is. Pings
    /// come to clients that say nothing for long; they need no answer from one that reads.
    fn take_frame(&mut self) -> Option<(u8, Range<usize>)> {
        let bytes = &self.buffer[self.start..];
        let (head, length) = whole_frame(bytes)?;
        let opcode = bytes[0];
        assert!(opcode == TEXT || opcode == PING, "{opcode:x}");
        let from = self.start + head;
        self.start = from + length;
        Some((opcode, from..self.start))
    }

    pub(crate) fn subscribe(&mut self, author: &str) {
        self.send(&json!(["REQ", "s", {"authors": [author], "kinds": [1]}]));
        assert_eq!(self.recv()[0], "EOSE");
    }

    pub(crate) fn assert_silent(&self) {
        assert_eq!(self.start, self.buffer.len());
        self.socket.set_nonblocking(true).unwrap();
        let error = (&self.socket).read_exact(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
    }
}

/// Lengths of the head and the payload of the frame that `bytes` begins with, if it is all there.
fn whole_frame(bytes: &[u8]) -> Option<(usize, usize)> {
    let (head, length) = match *bytes.get(1)? {
        126 => (4, u16::from_be_bytes(*bytes[2..].first_chunk()?).into()),
        127 => (10, u64::from_be_bytes(*bytes[2..].first_chunk()?) as usize),
        short => (2, short.into()),
    };
    (bytes.len() >= head + length).then_some((head, length))
}
