//! Import through a running relay: events over one WebSocket, several under way.

mod socket;
mod window;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow};
use crossbeam_channel::{Receiver, TryRecvError, select};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use zeolite_proto::Event;

pub(crate) use self::socket::Target;
use self::socket::{Incoming, Socket};
use self::window::{Reply, Window};
use super::check::Checked;
use super::local::Ended;
use super::pipeline::Item;
use crate::commands::output;

/// Parts of the input that wait for the socket.
const PARTS_MAX: usize = 2;

/// How long a relay may leave everything unanswered, or take nothing, before the connection
/// counts as lost.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// The pause after a first `rate-limited:` or a lost connection, doubled each time in a row.
const PAUSE_MIN: Duration = Duration::from_millis(250);

/// The longest such pause.
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// Connections in a row that bring no answer before the import fails.
const FRUITLESS_MAX: u32 = 5;

/// Notices of the relay that are shown.
const NOTICES_MAX: usize = 3;

/// Sends what the pipeline gives until it ends, `stop` is disconnected, or the relay fails. What
/// is under way is waited for.
pub(crate) fn run(
    ordered: Receiver<Item<Checked<Event>>>,
    target: &Target,
    stop: &Receiver<()>,
    progress: Arc<AtomicU64>,
) -> anyhow::Result<Ended> {
    let (sender, parts) = mpsc::channel(PARTS_MAX);
    let thread_stop = stop.clone();
    let body = move || forward(&ordered, &thread_stop, &sender);
    thread::Builder::new().name("import-forward".to_owned()).spawn(body)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut courier = Courier {
        parts,
        is_over: false,
        window: Window::new(),
        unread: Vec::new(),
        notices: 0,
        progress,
    };
    let failure = runtime.block_on(courier.run(target)).err();
    let interrupted = failure.is_none() && stop.try_recv() == Err(TryRecvError::Disconnected);
    let Courier { window, unread, .. } = courier;
    Ok(Ended { tally: window.into_tally(), interrupted, failure, unread })
}

/// What a thread brings to the socket's task.
enum Part {
    Checked(Checked<Event>),
    Failed(usize, io::Error),
}

/// Carries the pipeline's results over until it ends, the user stops it or nobody takes them.
fn forward(
    ordered: &Receiver<Item<Checked<Event>>>,
    stop: &Receiver<()>,
    sender: &mpsc::Sender<Part>,
) {
    loop {
        let item = select! {
            recv(stop) -> _ => return,
            recv(ordered) -> item => item,
        };
        let part = match item {
            Ok(Item::Failed { file, error }) => Part::Failed(file, error),
            Ok(Item::Chunk(slot)) => match slot.recv() {
                Ok(checked) => Part::Checked(checked),
                Err(_) => return,
            },
            Err(_) => return,
        };
        if sender.blocking_send(part).is_err() {
            return;
        }
    }
}

/// Brings events to the relay, over as many connections as it takes.
struct Courier {
    parts: mpsc::Receiver<Part>,
    /// True if no part will come any more.
    is_over: bool,
    window: Window,
    unread: Vec<(usize, io::Error)>,
    notices: usize,
    progress: Arc<AtomicU64>,
}

/// How a connection ended.
enum End {
    /// Everything is answered.
    Done,
    /// The connection broke; another one may do better.
    Lost(anyhow::Error),
    /// The relay cannot store.
    Broken(String),
}

impl Courier {
    async fn run(&mut self, target: &Target) -> anyhow::Result<()> {
        // A relay that is not there at the start is a mistake; later it may be restarting.
        let mut socket = Ok(target.connect().await?);
        let mut fruitless = 0;
        loop {
            let before = self.window.done();
            let end = match socket {
                Ok(socket) => self.deliver(socket).await,
                Err(error) => End::Lost(error),
            };
            let error = match end {
                End::Done => return Ok(()),
                End::Broken(why) => return Err(anyhow!("the relay failed: {why}")),
                End::Lost(error) => error,
            };
            self.window.rewind();
            fruitless = if self.window.done() > before { 1 } else { fruitless + 1 };
            if fruitless >= FRUITLESS_MAX {
                return Err(error.context("the connection was lost again and again"));
            }
            output::say(format_args!("{error:#}; connecting again"));
            sleep(pause(fruitless)).await;
            socket = target.connect().await;
        }
    }

    /// Uses one connection until it ends.
    async fn deliver(&mut self, mut socket: Socket) -> End {
        let mut slow = 0;
        let mut resume_at = Instant::now();
        let mut silent_at = Instant::now() + SILENCE_MAX;
        loop {
            let is_paused = Instant::now() < resume_at;
            if !self.window.awaits_answers() {
                silent_at = Instant::now() + SILENCE_MAX;
            }
            if !is_paused && let Err(error) = self.send(&mut socket).await {
                return End::Lost(error);
            }
            if self.is_over && self.window.is_idle() {
                socket.close().await;
                return End::Done;
            }
            let reply = tokio::select! {
                incoming = socket.incoming.recv() => {
                    silent_at = Instant::now() + SILENCE_MAX;
                    self.take(incoming, &mut socket).await
                }
                part = self.parts.recv(), if !self.is_over && self.window.wants_more() => {
                    self.push(part);
                    Ok(Reply::Fine)
                }
                () = sleep_until(resume_at), if is_paused => Ok(Reply::Fine),
                () = sleep_until(silent_at), if self.window.awaits_answers() => {
                    Err(anyhow!("the relay answers nothing"))
                }
            };
            match reply {
                Ok(Reply::SlowDown) => {
                    // One pause for all refusals of the same moment.
                    if !is_paused {
                        slow += 1;
                        resume_at = Instant::now() + pause(slow);
                    }
                }
                Ok(Reply::Broken(why)) => return End::Broken(why),
                Ok(Reply::Fine | Reply::Unknown) if !is_paused => slow = 0,
                Ok(_) => {}
                Err(error) => return End::Lost(error),
            }
            self.progress.store(self.window.done(), Ordering::Relaxed);
        }
    }

    /// Sends what the window lets pass.
    async fn send(&mut self, socket: &mut Socket) -> anyhow::Result<()> {
        let mut is_new = false;
        let window = &mut self.window;
        let work = async {
            while let Some(event) = window.next_to_send() {
                is_new = true;
                socket.push(&event).await?;
            }
            if is_new { socket.flush().await } else { Ok(()) }
        };
        timeout(SILENCE_MAX, work).await.context("the relay takes nothing")?
    }

    fn push(&mut self, part: Option<Part>) {
        match part {
            Some(Part::Checked(checked)) => self.window.push(checked.tally, checked.events),
            Some(Part::Failed(file, error)) => self.unread.push((file, error)),
            None => self.is_over = true,
        }
    }

    async fn take(
        &mut self,
        incoming: Option<Incoming>,
        socket: &mut Socket,
    ) -> anyhow::Result<Reply> {
        match incoming {
            Some(Incoming::Answer { id, accepted, text }) => {
                Ok(self.window.answer(&id, accepted, &text))
            }
            Some(Incoming::Notice(text)) => {
                self.notices += 1;
                if self.notices <= NOTICES_MAX {
                    output::say(format_args!("notice from the relay: {text}"));
                }
                Ok(Reply::Fine)
            }
            Some(Incoming::Ping(payload)) => socket.pong(payload).await.map(|()| Reply::Fine),
            Some(Incoming::Lost(why)) => Err(anyhow!("the connection is lost: {why}")),
            None => Err(anyhow!("the connection is lost")),
        }
    }
}

/// The pause before the next try, after so many in a row.
fn pause(times: u32) -> Duration {
    PAUSE_MIN.saturating_mul(1 << times.saturating_sub(1).min(16)).min(PAUSE_MAX)
}
