//! `visible`: how long after its publication an event can be asked for.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use zeolite_proto::EventId;

use super::ask::Asker;
use super::error::DriveError;
use super::notes::{Notes, authors};
use super::runtime::block_on;
use crate::latency::Recorder;
use crate::report::Report;
use crate::row::Row;
use crate::socket::{Message, Socket, SocketError};
use crate::target::Target;

/// How much of it.
#[derive(Args, Clone, Debug)]
pub struct Spec {
    /// Events to publish, one after the other
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub events: usize,
    /// Bytes of content of each event
    #[arg(long, value_name = "BYTES", default_value_t = 200)]
    pub content_bytes: usize,
    /// The corpus that the relay holds, for the report only
    #[arg(long, value_name = "FILE")]
    pub corpus: Option<PathBuf>,
    /// Seconds without any progress after which the row ends
    #[arg(long, value_name = "S", default_value_t = 20)]
    pub silence_s: u64,
}

/// One row: `events`.
pub fn run(target: &Target, spec: &Spec, emit: &mut dyn FnMut(Report)) {
    let mut row = Row::new("visible", "one at a time", target);
    row.param("events", spec.events).param("content_bytes", spec.content_bytes);
    let outcome = block_on(measure(target, spec, &mut row));
    emit(row.close(outcome));
}

/// The three times of one event, from the moment before it is sent.
struct Times {
    ok: Duration,
    /// The answer that brought it had come.
    seen: Duration,
}

async fn measure(target: &Target, spec: &Spec, row: &mut Row) -> Result<(), DriveError> {
    let silence = Duration::from_secs(spec.silence_s);
    let notes = Notes::new(&authors(1), spec.events, spec.content_bytes, |_| 0);
    let mut publisher = Socket::connect(&target.address, 0).await?;
    let mut asker = Asker::connect(target, 1, silence).await?;
    let [mut ok, mut seen, mut after_ok] = [Recorder::new(), Recorder::new(), Recorder::new()];
    let (mut refused, mut wrong) = (0_u64, 0_u64);
    row.begin();
    for place in 0..notes.len() {
        let note = notes.event(place);
        let begin = Instant::now();
        publisher.sender().send(note.message()).await?;
        let (answered, found) = tokio::join!(
            answer(&mut publisher, note.id, begin, silence),
            poll(&mut asker, note.id, begin, silence, &mut wrong),
        );
        let (accepted, ok_time) = answered?;
        refused += u64::from(!accepted);
        let times = Times { ok: ok_time, seen: found? };
        ok.record(times.ok);
        seen.record(times.seen);
        after_ok.record(times.seen.saturating_sub(times.ok));
    }
    row.end(notes.len() as u64);
    row.latency("ok", &ok)
        .latency("visible", &seen)
        .latency("after_ok", &after_ok)
        .check("visible_events", notes.len() as u64, seen.count())
        .check("refused", 0, refused)
        .check("wrong_answers", 0, wrong);
    Ok(())
}

async fn answer(
    publisher: &mut Socket,
    id: EventId,
    begin: Instant,
    silence: Duration,
) -> Result<(bool, Duration), SocketError> {
    let mut result = (false, Duration::ZERO);
    publisher
        .read_until(silence, |message, now| match message {
            Message::Ok(of, accepted, _) if of == id => {
                result = (accepted, now - begin);
                true
            }
            _ => false,
        })
        .await?;
    Ok(result)
}

/// Asks again and again until the event is there.
async fn poll(
    asker: &mut Asker,
    id: EventId,
    begin: Instant,
    silence: Duration,
    wrong: &mut u64,
) -> Result<Duration, DriveError> {
    let filter = format!("{{\"ids\":[\"{id}\"]}}");
    while begin.elapsed() < silence {
        let answer = asker.ask(&filter).await?;
        if let Some(text) = answer.refusal {
            return Err(DriveError::Refused { what: filter, text });
        }
        let is_right = answer.ids == [id];
        *wrong += u64::from(!answer.ids.is_empty() && !is_right);
        if is_right {
            return Ok(begin.elapsed());
        }
    }
    Err(SocketError::Silent(silence).into())
}
