//! A relay of a few lines that keeps everything in a list, honest or lying in one chosen way.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::HashSet;
use std::net::TcpListener;
use std::rc::Rc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{AbortHandle, LocalSet, spawn_local};
use zeolite_loadgen::socket::{Deframer, Incoming, Opcode, Side, push_plain};
use zeolite_proto::{Event, EventId};

use crate::lie::Lie;
use crate::talk::Talk;

/// A running relay, which ends with this value.
pub(crate) struct TestRelay {
    url: String,
    crashes: Option<UnboundedSender<Crash>>,
    thread: Option<JoinHandle<()>>,
}

impl TestRelay {
    /// Serves these events, and whatever is published, on a thread of its own.
    pub(crate) fn start(events: Vec<Event>, lie: Lie) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("ws://{}", listener.local_addr().unwrap());
        let (crashes, mut to_crash) = unbounded_channel();
        let thread = std::thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            LocalSet::new().block_on(&runtime, serve(listener, events, lie, &mut to_crash));
        });
        Self { url, crashes: Some(crashes), thread: Some(thread) }
    }

    /// A crash to order: all connections end, and the newest `lose` events were never on disk.
    pub(crate) fn crasher(&self) -> impl Fn(usize) + Send + use<> {
        let crashes = self.crashes.clone().unwrap();
        move |lose| {
            let (done, is_done) = std::sync::mpsc::channel();
            crashes.send(Crash { lose, done }).unwrap();
            is_done.recv().unwrap();
        }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for TestRelay {
    fn drop(&mut self) {
        drop(self.crashes.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

struct Crash {
    lose: usize,
    done: std::sync::mpsc::Sender<()>,
}

/// What all connections share.
pub(crate) struct World {
    pub(crate) lie: Lie,
    pub(crate) events: RefCell<Vec<Event>>,
    pub(crate) known: RefCell<HashSet<EventId>>,
    pub(crate) listeners: RefCell<Vec<Listener>>,
    counted: Cell<u64>,
}

/// A live subscription.
pub(crate) struct Listener {
    pub(crate) connection: u64,
    pub(crate) sub: String,
    pub(crate) filters: Vec<zeolite_proto::Filter>,
    pub(crate) outbox: UnboundedSender<Out>,
}

/// What a connection's writer does next.
pub(crate) enum Out {
    Text(String),
    /// Waits before the next text.
    Wait(Duration),
    Hang,
}

impl World {
    /// True every `every`th time that a lying relay gets a chance to lie.
    pub(crate) fn lies_now(&self, every: u64) -> bool {
        self.counted.set(self.counted.get() + 1);
        self.counted.get().is_multiple_of(every)
    }

    /// Stores an event unless it is there.
    pub(crate) fn store(&self, event: &Event) -> bool {
        let is_new = self.known.borrow_mut().insert(event.view().id());
        if is_new && !event.view().kind().is_ephemeral() {
            self.events.borrow_mut().push(event.clone());
        }
        is_new
    }

    fn crash(&self, lose: usize) {
        self.listeners.borrow_mut().clear();
        let mut events = self.events.borrow_mut();
        let kept = events.len().saturating_sub(lose);
        for event in events.drain(kept..) {
            self.known.borrow_mut().remove(&event.view().id());
        }
    }

    /// The stored events in the order in which they are served.
    pub(crate) fn newest_first(&self) -> Vec<Event> {
        let mut events = self.events.borrow().clone();
        events.sort_by_key(|event| (Reverse(event.view().created_at()), event.view().id()));
        events
    }
}

/// Serves until nobody can order a crash any more.
async fn serve(
    listener: TcpListener,
    events: Vec<Event>,
    lie: Lie,
    to_crash: &mut UnboundedReceiver<Crash>,
) {
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    let known = events.iter().map(|event| event.view().id()).collect();
    let world = Rc::new(World {
        lie,
        events: RefCell::new(events),
        known: RefCell::new(known),
        listeners: RefCell::default(),
        counted: Cell::new(0),
    });
    let mut connections = Vec::new();
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => accepted.unwrap().0,
            crash = to_crash.recv() => {
                let Some(crash) = crash else { return };
                connections.drain(..).for_each(|task: AbortHandle| task.abort());
                world.crash(crash.lose);
                crash.done.send(()).unwrap();
                continue;
            }
        };
        stream.set_nodelay(true).unwrap();
        let (world, connection) = (world.clone(), connections.len() as u64);
        let task = spawn_local(async move {
            // The end of a connection is the client's business.
            let _ = converse(stream, connection, &world).await;
            world.listeners.borrow_mut().retain(|listener| listener.connection != connection);
        });
        connections.push(task.abort_handle());
    }
}

async fn converse(
    mut stream: TcpStream,
    connection: u64,
    world: &Rc<World>,
) -> std::io::Result<()> {
    upgrade(&mut stream).await?;
    let (mut read, write) = stream.into_split();
    let (outbox, texts) = unbounded_channel();
    let mut writing = spawn_local(write_all(write, texts));
    let mut talk = Talk::new(connection, outbox, world.clone());
    let mut deframer = Deframer::new(Side::Server);
    let mut buffer = vec![0; 64 << 10];
    loop {
        let length = tokio::select! {
            length = read.read(&mut buffer) => length?,
            _ = &mut writing => return Ok(()),
        };
        if length == 0 {
            return Ok(());
        }
        let mut on = |incoming: Incoming<'_>| {
            if let Incoming::Text(text) = incoming {
                talk.hear(std::str::from_utf8(text).unwrap());
            }
        };
        deframer.feed(&mut buffer[..length], &mut on).map_err(std::io::Error::other)?;
    }
}

async fn write_all(
    mut write: tokio::net::tcp::OwnedWriteHalf,
    mut texts: UnboundedReceiver<Out>,
) -> std::io::Result<()> {
    let mut frames = Vec::new();
    while let Some(out) = texts.recv().await {
        match out {
            Out::Text(text) => push_plain(&mut frames, Opcode::Text, text.as_bytes()),
            Out::Wait(time) => tokio::time::sleep(time).await,
            Out::Hang => return Ok(()),
        }
        if texts.is_empty() {
            write.write_all(&frames).await?;
            frames.clear();
        }
    }
    Ok(())
}

async fn upgrade(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut request).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
    stream.write_all(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n").await
}
