//! The outbox on its own.

use zeolite_proto::Reason;

use super::*;

const BOUNDS: OutboxBounds = OutboxBounds {
    results_high_bytes: 100,
    low_bytes: 50,
    live_bytes_max: 200,
    reply_bytes_max: 80,
    ingest_bytes_max: 1000,
};

fn take(outbox: &Outbox) -> Vec<u8> {
    let mut frames = Vec::new();
    assert_eq!(outbox.take(&mut frames), Taken::Frames);
    frames
}

/// R01-47: after the end of a subscription nothing of it is added, whoever tries.
#[test]
fn nothing_follows_the_end_of_a_subscription() {
    let outbox = Outbox::new(BOUNDS);
    let (ended, other) = (Ticket::default(), Ticket::default());
    outbox.end(&ended);
    assert_eq!(outbox.live(&ended, &[b"live"], false), Offer::Gone);
    assert_eq!(outbox.results(&ended, &mut b"stored".to_vec()), Room::Gone);
    let closed = RelayMsg::Closed("s", Reason::error("x"));
    assert!(!outbox.end_with(&ended, SubKey(1), &closed));
    assert_eq!(outbox.live(&other, &[b"a", b"b"], false), Offer::Taken);
    assert_eq!(take(&outbox), b"\x81\x02ab");
    assert!(outbox.end_with(&other, SubKey(2), &closed));
    assert_eq!(outbox.live(&other, &[b"c"], false), Offer::Gone);
    assert_eq!(outbox.take_ended(), [SubKey(2)]);
    assert!(take(&outbox).ends_with(br#"["CLOSED","s","error: x"]"#));
}

/// Case 20: a job parks at high water and goes on at low water, not before.
#[test]
fn results_are_paced_between_high_and_low_water() {
    let outbox = Outbox::new(BOUNDS);
    let ticket = Ticket::default();
    assert_eq!(outbox.results(&ticket, &mut vec![0; 60]), Room::Some);
    assert_eq!(outbox.results(&ticket, &mut vec![0; 60]), Room::None);
    assert!(outbox.wait_for_low_water());
    assert_eq!(take(&outbox).len(), 120);
    assert_eq!(outbox.written(69), Drained::default());
    assert_eq!(outbox.written(1), Drained { jobs: true, lag: false });
    assert!(!outbox.wait_for_low_water());
    assert_eq!(outbox.written(50), Drained::default());
}

/// A live event that finds the outbox full is not added; the drain tells of it once.
#[test]
fn a_full_outbox_lets_live_events_lag() {
    let outbox = Outbox::new(BOUNDS);
    let ticket = Ticket::default();
    assert_eq!(outbox.live(&ticket, &[&[b'x'; 210]], false), Offer::Taken);
    assert_eq!(outbox.live(&ticket, &[b"y"], false), Offer::Full);
    let bytes = take(&outbox).len();
    assert_eq!(outbox.live(&ticket, &[b"y"], false), Offer::Full, "taken is not written");
    assert_eq!(outbox.written(bytes), Drained { jobs: false, lag: true });
    assert_eq!(outbox.live(&ticket, &[b"y"], false), Offer::Taken);
}

/// A client that is sent replies and does not read them is not read either, until the socket
/// took them.
#[test]
fn the_reader_waits_for_replies_and_answers() {
    let outbox = Outbox::new(BOUNDS);
    assert!(outbox.has_reader_room());
    outbox.reply_json(&[b' '; 100]);
    assert!(!outbox.has_reader_room());
    let bytes = take(&outbox).len();
    assert!(!outbox.has_reader_room(), "taken is not written");
    outbox.written(bytes);
    assert!(outbox.has_reader_room());
    outbox.ingest_began(1001);
    assert!(!outbox.has_reader_room());
    outbox.ingest_ended(1001, &RelayMsg::Ok("x", Ok(None)));
    assert!(outbox.has_reader_room());
}

/// Case 20: two bursts, the second of which came while the first was written, leave no buffer
/// behind.
#[test]
fn an_idle_outbox_holds_no_buffer() {
    let outbox = Outbox::new(BOUNDS);
    let ticket = Ticket::default();
    let mut frames = Vec::new();
    for _ in 0..2 {
        outbox.results(&ticket, &mut vec![0; 1000]);
        assert_eq!(outbox.take(&mut frames), Taken::Frames);
        outbox.results(&ticket, &mut vec![0; 1000]);
        outbox.written(frames.len());
        frames.clear();
        assert_eq!(outbox.take(&mut frames), Taken::Frames);
        outbox.written(frames.len());
        frames.clear();
    }
    assert_eq!(outbox.take(&mut frames), Taken::Nothing);
    assert_eq!(outbox.state.lock().pending.capacity(), 0);
}

/// The close frame is the last one, and only the first reason counts.
#[test]
fn nothing_follows_the_close_frame() {
    let outbox = Outbox::new(BOUNDS);
    outbox.reply_json(b"r");
    outbox.close(1001, "bye");
    outbox.close(1009, "again");
    outbox.reply_json(b"late");
    assert_eq!(outbox.live(&Ticket::default(), &[b"late"], false), Offer::Gone);
    assert_eq!(take(&outbox), b"\x81\x01r\x88\x05\x03\xe9bye");
    assert_eq!(outbox.take(&mut Vec::new()), Taken::Closed);
    assert!(outbox.has_reader_room(), "nobody waits for a closed connection");
}

/// An outbox with an idle writer on one end of a connection, and the other end.
async fn connected() -> (Outbox, tokio::net::TcpStream) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let near = tokio::net::TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (far, _) = listener.accept().await.unwrap();
    let (_, socket) = near.into_split();
    socket.writable().await.unwrap();
    let outbox = Outbox::new(OutboxBounds { live_bytes_max: 1 << 20, ..BOUNDS });
    outbox.set_socket(Some(Arc::new(socket)));
    assert_eq!(outbox.take(&mut Vec::new()), Taken::Nothing);
    (outbox, far)
}

/// An idle writer is not woken for what the socket takes at once. With a writer at work, or where it is
/// not wanted, the event waits its turn.
#[tokio::test]
async fn live_events_go_past_an_idle_writer() {
    use tokio::io::AsyncReadExt;
    let (outbox, mut far) = connected().await;
    let ticket = Ticket::default();
    assert_eq!(outbox.live(&ticket, &[b"a"], true), Offer::Sent(3));
    assert_eq!(outbox.take(&mut Vec::new()), Taken::Nothing);
    assert_eq!(outbox.live(&ticket, &[b"b"], false), Offer::Taken);
    assert_eq!(outbox.live(&ticket, &[b"c"], true), Offer::Taken, "behind what waits");
    let taken = take(&outbox);
    assert_eq!(taken, b"\x81\x01b\x81\x01c");
    assert_eq!(outbox.live(&ticket, &[b"d"], true), Offer::Taken, "behind what is being written");
    assert_eq!(take(&outbox), b"\x81\x01d");
    let mut read = [0; 3];
    far.read_exact(&mut read).await.unwrap();
    assert_eq!(&read, b"\x81\x01a");
    outbox.set_socket(None);
    assert_eq!(outbox.take(&mut Vec::new()), Taken::Nothing);
    assert_eq!(outbox.live(&ticket, &[b"e"], true), Offer::Taken, "without a socket");
}

/// What a full socket does not take waits for the writer, from the very byte on.
#[tokio::test]
async fn a_full_socket_leaves_the_rest_to_the_writer() {
    use tokio::io::AsyncReadExt;
    let (outbox, mut far) = connected().await;
    let ticket = Ticket::default();
    let (mut expected, mut sent) = (Vec::new(), 0);
    let rest = loop {
        let text = format!("{:060000}", expected.len());
        frames::push_text_parts(&mut expected, &[text.as_bytes()]);
        match outbox.live(&ticket, &[text.as_bytes()], true) {
            Offer::Sent(bytes) => sent += bytes,
            offer => assert_eq!(offer, Offer::Taken),
        }
        if sent < expected.len() {
            break take(&outbox);
        }
    };
    assert_eq!(rest, expected[sent..]);
    let mut read = vec![0; sent];
    far.read_exact(&mut read).await.unwrap();
    assert_eq!(read, expected[..sent]);
}
