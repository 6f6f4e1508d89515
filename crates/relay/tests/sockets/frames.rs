//! RFC 6455 on the wire: what clients may send, byte by byte, and what they may not. These guard
//! against known defects of the frame reader (cases 52 to 54).

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;

use serde_json::{Value, json};
use zeolite_testkit::Factory;

use crate::support::{TestRelay, relay};

const MASK: [u8; 4] = [0xa5, 0x5a, 0x0f, 0xf0];

const TEXT: u8 = 1;
const CONTINUATION: u8 = 0;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// A masked frame.
fn frame(fin: bool, opcode: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![u8::from(fin) << 7 | opcode];
    match payload.len() {
        short @ 0..=125 => frame.push(0x80 | short as u8),
        middle @ 126..=0xffff => {
            frame.push(0x80 | 126);
            frame.extend_from_slice(&(middle as u16).to_be_bytes());
        }
        long => {
            frame.push(0x80 | 127);
            frame.extend_from_slice(&(long as u64).to_be_bytes());
        }
    }
    frame.extend_from_slice(&MASK);
    frame.extend(payload.iter().enumerate().map(|(at, byte)| byte ^ MASK[at % 4]));
    frame
}

/// The next frame of the relay: opcode and payload.
fn read(socket: &mut TcpStream) -> (u8, Vec<u8>) {
    let mut head = [0; 2];
    socket.read_exact(&mut head).unwrap();
    assert_eq!(head[0] & 0xf0, 0x80, "whole, without extensions");
    assert_eq!(head[1] & 0x80, 0, "unmasked");
    let length = match head[1] {
        126 => {
            let mut length = [0; 2];
            socket.read_exact(&mut length).unwrap();
            u16::from_be_bytes(length).into()
        }
        127 => {
            let mut length = [0; 8];
            socket.read_exact(&mut length).unwrap();
            u64::from_be_bytes(length) as usize
        }
        short => short.into(),
    };
    let mut payload = vec![0; length];
    socket.read_exact(&mut payload).unwrap();
    (head[0] & 0x0f, payload)
}

fn read_json(socket: &mut TcpStream) -> Value {
    let (opcode, payload) = read(socket);
    assert_eq!(opcode, TEXT);
    serde_json::from_slice(&payload).unwrap()
}

const COUNT: &[u8] = br#"["COUNT","n",{}]"#;

/// Sends frames; the relay must close with this code, and serve others as before.
#[track_caller]
fn check_refused(relay: &TestRelay, frames: &[&[u8]], code: u16) {
    let mut socket = relay.raw_websocket();
    socket.write_all(&frames.concat()).unwrap();
    let (opcode, payload) = read(&mut socket);
    assert_eq!((opcode, &payload[..2]), (CLOSE, &code.to_be_bytes()[..]));
    assert_eq!(socket.read(&mut [0]).unwrap(), 0, "the stream ends after the close frame");
    assert_still_serves(relay);
}

/// Sends frames; the relay must answer a COUNT in them.
#[track_caller]
fn check_answered(relay: &TestRelay, frames: &[&[u8]]) {
    let mut socket = relay.raw_websocket();
    socket.write_all(&frames.concat()).unwrap();
    assert_eq!(read_json(&mut socket), json!(["COUNT", "n", {"count": 0}]));
}

fn assert_still_serves(relay: &TestRelay) {
    check_answered(relay, &[&frame(true, TEXT, COUNT)]);
}

/// Case 54, E-08: messages in any legal cut.
#[test]
fn legal_frames_are_understood() {
    let relay = relay(|_| {});
    check_answered(&relay, &[&frame(true, TEXT, COUNT)]);
    check_answered(&relay, &[&frame(true, BINARY, COUNT)]);
    let (start, end) = COUNT.split_at(5);
    let (start, end) = (frame(false, TEXT, start), frame(true, CONTINUATION, end));
    check_answered(&relay, &[&start, &frame(false, CONTINUATION, b""), &end]);
    check_answered(&relay, &[&frame(true, PONG, b"nobody asked"), &frame(true, TEXT, COUNT)]);
    let mut socket = relay.raw_websocket();
    socket.write_all(&[&start[..], &frame(true, PING, b"alive?"), &end].concat()).unwrap();
    assert_eq!(read(&mut socket), (PONG, b"alive?".to_vec()));
    assert_eq!(read_json(&mut socket)[0], "COUNT");
    socket.write_all(&frame(true, CLOSE, &[&1000_u16.to_be_bytes()[..], b"bye"].concat())).unwrap();
    assert_eq!(read(&mut socket), (CLOSE, 1000_u16.to_be_bytes().to_vec()));
    assert_eq!(socket.read(&mut [0]).unwrap(), 0);
}

/// Cases 53 and 54, E-01: every breach has its close code.
#[test]
fn illegal_frames_close_the_connection() {
    let relay = relay(|config| config.limits.message_bytes_max = 1000);
    let mut unmasked = vec![0x81, COUNT.len() as u8];
    unmasked.extend_from_slice(COUNT);
    check_refused(&relay, &[&unmasked], 1002);
    let mut reserved = frame(true, TEXT, COUNT);
    reserved[0] |= 0x40;
    check_refused(&relay, &[&reserved], 1002);
    check_refused(&relay, &[&frame(true, 3, b"")], 1002);
    check_refused(&relay, &[&frame(true, CONTINUATION, COUNT)], 1002);
    check_refused(&relay, &[&frame(false, TEXT, b"["), &frame(true, TEXT, COUNT)], 1002);
    check_refused(&relay, &[&frame(false, PING, b"")], 1002);
    check_refused(&relay, &[&frame(true, PING, &[b'p'; 126])], 1002);
    check_refused(&relay, &[&frame(true, CLOSE, b"\x03")], 1002);
    check_refused(&relay, &[&frame(true, TEXT, b"\xff")], 1007);
    // Half a character in each fragment is legal; half of one that never comes is not.
    check_refused(
        &relay,
        &[&frame(false, TEXT, b"\"\xc3"), &frame(true, CONTINUATION, b"\"")],
        1007,
    );
    check_refused(&relay, &[&frame(true, TEXT, &[b' '; 1001])], 1009);
    let part = frame(false, CONTINUATION, &[b' '; 400]);
    check_refused(&relay, &[&frame(false, TEXT, &[b' '; 400]), &part, &part], 1009);
    // A declared length is refused before its bytes come, or memory is made for them.
    check_refused(&relay, &[b"\x81\xff\x00\x00\x00\x7f\xff\xff\xff\xff", &MASK], 1009);
    let exactly = [COUNT, &[b' '; 1000][COUNT.len()..]].concat();
    check_answered(&relay, &[&frame(true, TEXT, &exactly)]);
}

/// Case 52: a client that sends a frame byte by byte while the relay writes to it all the time.
#[test]
fn a_slow_sender_is_understood_beside_a_busy_writer() {
    let relay = relay(|_| {});
    let mut socket = relay.raw_websocket();
    socket.write_all(&frame(true, TEXT, br#"["REQ","s",{"kinds":[1]}]"#)).unwrap();
    assert_eq!(read_json(&mut socket)[0], "EOSE");
    let mut reader = socket.try_clone().unwrap();
    let reader = thread::spawn(move || {
        let (mut events, mut counts) = (0, 0);
        while counts < 3 {
            match read_json(&mut reader)[0].as_str() {
                Some("EVENT") => events += 1,
                Some("COUNT") => counts += 1,
                _ => panic!("neither event nor count"),
            }
        }
        events
    });
    let mut publisher = relay.client();
    let mut factory = Factory::new(4);
    let mut at = 0;
    let padding = " ".repeat(100);
    for count in 0..3 {
        let message = format!(r#"["COUNT","{count}",{padding}{{"kinds":[7]}}]"#);
        for byte in frame(true, TEXT, message.as_bytes()) {
            socket.write_all(&[byte]).unwrap();
            publisher.publish(&factory.note(0, 1_700_000_000 + at, "busy"));
            at += 1;
        }
    }
    assert!(reader.join().unwrap() > 300);
}

/// A client may send its first message with the upgrade request, before it has the answer.
#[test]
fn what_comes_with_the_upgrade_request_is_read() {
    let relay = relay(|_| {});
    let mut socket = relay.raw();
    let request = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                    Sec-WebSocket-Version: 13\r\n\
                    Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
    let count = frame(true, TEXT, COUNT);
    let (early, late) = count.split_at(9);
    socket.write_all(&[request, early].concat()).unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        socket.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    socket.write_all(late).unwrap();
    assert_eq!(read_json(&mut socket)[0], "COUNT");
}

/// Case 57: with Nagle's algorithm on either side, a CLOSE, which has no answer, would hold back
/// the next REQ for 40 ms, nearly each time. A busy machine is as slow now and then.
#[test]
fn close_does_not_delay_the_next_req() {
    let relay = relay(|_| {});
    let mut client = relay.client();
    let mut rounds: Vec<_> = (0..50)
        .map(|_| {
            let start = std::time::Instant::now();
            client.query("a", &json!({"limit": 20}));
            client.send(&json!(["CLOSE", "a"]));
            start.elapsed()
        })
        .collect();
    rounds.sort();
    assert!(rounds[25].as_millis() < 30, "{rounds:?} for one REQ and CLOSE");
}
