//! `crash`: the relay is killed while it takes events; what it acknowledged must be there again.
//!
//! The driver publishes and connects again whenever a connection breaks. Who kills and starts the
//! relay is the caller: a closure, a command, or somebody who simply does it meanwhile.

use std::cell::{Cell, RefCell};
use std::process::Command;
use std::rc::Rc;
use std::time::{Duration, Instant};

use clap::Args;
use tokio::task::JoinSet;
use zeolite_proto::EventId;

use super::ask::Asker;
use super::error::DriveError;
use super::facts::name_some;
use super::ingest::missing;
use super::notes::{Notes, authors};
use super::rng::Rng;
use super::runtime::block_on;
use crate::corpus::SignedEvent;
use crate::report::Report;
use crate::row::Row;
use crate::socket::{Message, Socket, SocketError};
use crate::target::Target;

/// How long to wait before connecting again to a relay that is down.
const AGAIN: Duration = Duration::from_millis(20);

/// How long to wait when no event is due.
const NOTHING_DUE: Duration = Duration::from_millis(2);

/// Unanswered events of a connection.
const WINDOW: usize = 200;

/// Authors of the events.
const AUTHORS: usize = 100;

/// How much of it.
#[derive(Args, Clone, Debug)]
pub struct Spec {
    /// Seconds of publishing, over all crashes
    #[arg(long, value_name = "S", default_value_t = 20.0)]
    pub seconds: f64,
    /// Connections that publish
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub connections: usize,
    /// Events to publish, spread evenly over that time
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub events: usize,
    /// Command that kills the relay, starts it again and returns when it listens; run by `sh -c`
    #[arg(long, value_name = "COMMAND")]
    pub restart_command: Option<String>,
    /// How often the command is run, at random moments; 0 leaves the killing to somebody else
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub crashes: u32,
    /// Seconds for which a relay may be down
    #[arg(long, value_name = "S", default_value_t = 30)]
    pub silence_s: u64,
}

/// What kills the relay and starts it again; returns when it listens.
pub type Restart = Box<dyn FnMut() -> Result<(), String> + Send>;

/// One row: `kill -9`. Crashes come from the `restart_command`, if there is one.
pub fn run(target: &Target, spec: &Spec, emit: &mut dyn FnMut(Report)) {
    let restart = spec.restart_command.clone().map(|command| -> Restart {
        Box::new(move || {
            let status = Command::new("sh").arg("-c").arg(&command).status();
            match status {
                Ok(status) if status.success() => Ok(()),
                Ok(status) => Err(format!("the restart command ended with {status}")),
                Err(error) => Err(error.to_string()),
            }
        })
    });
    run_with(target, spec, restart, emit);
}

/// Like [`run`], with a closure that crashes the relay.
pub fn run_with(
    target: &Target,
    spec: &Spec,
    restart: Option<Restart>,
    emit: &mut dyn FnMut(Report),
) {
    // A relay that is killed comes back with another process id.
    let target = Target { pid: None, ..target.clone() };
    let mut row = Row::new("crash", "kill -9", &target);
    row.param("seconds", spec.seconds)
        .param("connections", spec.connections)
        .param("crashes", spec.crashes);
    let outcome = block_on(measure(&target, spec, restart, &mut row));
    emit(row.close(outcome));
}

/// What the publishing connections share.
struct Shared {
    notes: Notes,
    next: Cell<usize>,
    begin: Instant,
    time: Duration,
    acknowledged: RefCell<Vec<EventId>>,
    refused: Cell<u64>,
    disconnects: Cell<u64>,
}

impl Shared {
    fn is_over(&self) -> bool {
        self.begin.elapsed() >= self.time
    }

    /// The next event, if it is due.
    fn take(&self) -> Option<&SignedEvent> {
        let share = self.begin.elapsed().as_secs_f64() / self.time.as_secs_f64();
        let due = (share * self.notes.len() as f64) as usize;
        let next = self.next.get();
        if next >= due.min(self.notes.len()) {
            return None;
        }
        self.next.set(next + 1);
        Some(self.notes.event(next))
    }
}

async fn measure(
    target: &Target,
    spec: &Spec,
    restart: Option<Restart>,
    row: &mut Row,
) -> Result<(), DriveError> {
    let silence = Duration::from_secs(spec.silence_s);
    let notes = Notes::new(&authors(AUTHORS), spec.events, 300, |place| place % AUTHORS);
    let begin = row.begin();
    let shared = Rc::new(Shared {
        notes,
        next: Cell::new(0),
        begin,
        time: Duration::from_secs_f64(spec.seconds),
        acknowledged: RefCell::default(),
        refused: Cell::new(0),
        disconnects: Cell::new(0),
    });
    let mut lanes = JoinSet::new();
    for number in 0..spec.connections {
        let (target, shared) = (target.clone(), shared.clone());
        lanes.spawn_local(async move { publish(&target, number, silence, &shared).await });
    }
    if let Some(restart) = restart {
        crash_at_random(restart, spec, begin).await?;
    }
    while let Some(lane) = lanes.join_next().await {
        if let Ok(result) = lane {
            result?;
        }
    }
    let acknowledged = shared.acknowledged.take();
    let elapsed_s = row.end(acknowledged.len() as u64);
    row.figure("acknowledged", acknowledged.len() as f64)
        .figure("acknowledged_per_s", acknowledged.len() as f64 / elapsed_s)
        .figure("disconnects", shared.disconnects.get() as f64)
        .figure("refused", shared.refused.get() as f64);
    let mut asker = reconnect(target, silence).await?;
    let missing = missing(&mut asker, &acknowledged).await?;
    let lost_some = shared.disconnects.get() > 0;
    row.check("acknowledged_and_missing", 0, missing.len())
        .require("acknowledged", "at least 1", acknowledged.len(), !acknowledged.is_empty())
        .require("disconnects", "at least 1", shared.disconnects.get(), lost_some);
    name_some(row, "acknowledged and missing", &missing);
    Ok(())
}

/// Runs the restarts on a thread of its own, each at a random moment of its share of the time.
async fn crash_at_random(
    mut restart: Restart,
    spec: &Spec,
    begin: Instant,
) -> Result<(), DriveError> {
    let mut rng = Rng::new(u64::from(begin.elapsed().subsec_nanos()) | 1);
    let share_s = spec.seconds / f64::from(spec.crashes.max(1));
    for crash in 0..spec.crashes {
        let at_s = share_s * (f64::from(crash) + 0.1 + 0.8 * rng.share());
        tokio::time::sleep_until((begin + Duration::from_secs_f64(at_s)).into()).await;
        let running = tokio::task::spawn_blocking(move || (restart(), restart));
        let (result, back) =
            running.await.map_err(|error| DriveError::Program(error.to_string()))?;
        result.map_err(DriveError::Program)?;
        restart = back;
    }
    Ok(())
}

/// Publishes until the time is over, over as many connections as that takes.
async fn publish(
    target: &Target,
    number: usize,
    silence: Duration,
    shared: &Shared,
) -> Result<(), DriveError> {
    let mut last_up = Instant::now();
    while !shared.is_over() {
        match Socket::connect(&target.address, number).await {
            Ok(socket) => {
                if publish_on(socket, silence, shared).await.is_err() {
                    shared.disconnects.set(shared.disconnects.get() + 1);
                }
                last_up = Instant::now();
            }
            Err(error) if last_up.elapsed() > silence => return Err(error.into()),
            Err(_) => tokio::time::sleep(AGAIN).await,
        }
    }
    Ok(())
}

/// Publishes on one connection until the time is over or it breaks. Events that a break leaves
/// unanswered may be there or not; they are not sent again.
async fn publish_on(
    mut socket: Socket,
    silence: Duration,
    shared: &Shared,
) -> Result<(), SocketError> {
    let mut waiting = 0;
    loop {
        while waiting < WINDOW
            && let Some(note) = shared.take()
        {
            socket.sender().queue(note.message());
            waiting += 1;
        }
        if waiting == 0 {
            if shared.is_over() {
                return Ok(());
            }
            tokio::time::sleep(NOTHING_DUE).await;
            continue;
        }
        socket.sender().flush().await?;
        let reading = socket.read(|message, _| match message {
            Message::Ok(id, true, _) => {
                waiting -= usize::from(waiting > 0);
                shared.acknowledged.borrow_mut().push(id);
            }
            Message::Ok(_, false, _) => {
                waiting -= usize::from(waiting > 0);
                shared.refused.set(shared.refused.get() + 1);
            }
            _ => {}
        });
        tokio::time::timeout(silence, reading)
            .await
            .map_err(|_| SocketError::Silent(silence))??;
    }
}

async fn reconnect(target: &Target, silence: Duration) -> Result<Asker, DriveError> {
    let begin = Instant::now();
    loop {
        match Asker::connect(target, 0, silence).await {
            Ok(asker) => return Ok(asker),
            Err(error) if begin.elapsed() > silence => return Err(error.into()),
            Err(_) => tokio::time::sleep(AGAIN).await,
        }
    }
}
