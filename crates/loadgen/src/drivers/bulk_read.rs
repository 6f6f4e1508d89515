//! `bulk-read`: one REQ for everything, at full speed and through a slow reader.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use zeolite_proto::EventId;

use super::error::DriveError;
use super::facts::{Expectation, expectation};
use super::runtime::block_on;
use crate::latency::Recorder;
use crate::report::{Point, Report};
use crate::row::Row;
use crate::socket::{Message, Socket, SocketError};
use crate::target::Target;

/// Bytes that the slow reader takes at a time.
const SIP_BYTES: usize = 64 << 10;

/// How much of it.
#[derive(Args, Clone, Debug)]
pub struct Spec {
    /// The corpus that the relay holds
    #[arg(long, value_name = "FILE")]
    pub corpus: PathBuf,
    /// Speeds of the reader in MB/s, a row for each; 0 is as fast as it can
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_values_t = [0.0, 5.0])]
    pub mb_per_s: Vec<f64>,
    /// The filter; the relay's limits must be lifted
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub filter: String,
    /// Seconds without any progress after which a row ends
    #[arg(long, value_name = "S", default_value_t = 20)]
    pub silence_s: u64,
}

/// A row for each speed of the reader.
pub fn run(target: &Target, spec: &Spec, emit: &mut dyn FnMut(Report)) {
    let expected = expectation(&spec.corpus);
    for &speed in &spec.mb_per_s {
        let case = if speed > 0.0 { format!("{speed} MB/s") } else { "full speed".into() };
        let mut row = Row::new("bulk-read", case, target);
        row.param("reader_mb_per_s", speed).param("filter", &*spec.filter);
        let report = match &expected {
            Err(error) => row.fail(error),
            Ok(expected) => {
                let outcome = block_on(measure(target, spec, speed, expected, &mut row));
                row.close(outcome)
            }
        };
        emit(report);
    }
}

/// What a bulk answer brought.
#[derive(Default)]
struct Taken {
    ids: Vec<EventId>,
    first: Option<Duration>,
    end: Option<Result<(), String>>,
    progress: Vec<Point>,
}

async fn measure(
    target: &Target,
    spec: &Spec,
    mb_per_s: f64,
    expected: &Expectation,
    row: &mut Row,
) -> Result<(), DriveError> {
    let silence = Duration::from_secs(spec.silence_s);
    let slow_buffer = (mb_per_s > 0.0).then_some(SIP_BYTES as u32);
    let mut socket = Socket::connect_with(&target.address, 0, slow_buffer).await?;
    let mut taken = Taken::default();
    taken.ids.reserve(expected.len());
    let begin = row.begin();
    socket.sender().send(format!("[\"REQ\",\"bulk\",{}]", spec.filter).as_bytes()).await?;
    let reading = read_all(&mut socket, &mut taken, begin, mb_per_s, silence).await;
    let elapsed_s = row.end(taken.ids.len() as u64);
    let mut first = Recorder::new();
    first.record(taken.first.unwrap_or_default());
    row.figure("events", taken.ids.len() as f64)
        .figure("events_per_s", taken.ids.len() as f64 / elapsed_s)
        .figure("mb_per_s", socket.received_bytes() as f64 / 1e6 / elapsed_s)
        .latency("first_event", &first)
        .series("events", std::mem::take(&mut taken.progress))
        .results(&taken.ids);
    expected.check_all(row, &taken.ids);
    let end = match (&reading, &taken.end) {
        (_, Some(Ok(()))) => "EOSE".to_owned(),
        (_, Some(Err(text))) => format!("CLOSED {text}"),
        (Err(error), None) => error.to_string(),
        (Ok(()), None) => "nothing".to_owned(),
    };
    row.check("end", "EOSE".to_owned(), end);
    Ok(())
}

async fn read_all(
    socket: &mut Socket,
    taken: &mut Taken,
    begin: Instant,
    mb_per_s: f64,
    silence: Duration,
) -> Result<(), SocketError> {
    let sip_bytes = if mb_per_s > 0.0 { SIP_BYTES } else { usize::MAX };
    while taken.end.is_none() {
        let reading = socket.read_some(sip_bytes, |message, now| taken.take(message, now - begin));
        tokio::time::timeout(silence, reading)
            .await
            .map_err(|_| SocketError::Silent(silence))??;
        if mb_per_s > 0.0 {
            let due_s = socket.received_bytes() as f64 / (mb_per_s * 1e6);
            tokio::time::sleep_until((begin + Duration::from_secs_f64(due_s)).into()).await;
        }
    }
    Ok(())
}

impl Taken {
    fn take(&mut self, message: Message<'_>, elapsed: Duration) {
        match message {
            // What follows the end is live.
            _ if self.end.is_some() => {}
            Message::Event("bulk", id, _) => {
                self.first.get_or_insert(elapsed);
                self.ids.push(id);
                let second = self.progress.len() as f64;
                if elapsed.as_secs_f64() >= second {
                    let value = self.ids.len() as f64;
                    self.progress.push(Point { at_s: elapsed.as_secs_f64(), value });
                }
            }
            Message::Eose("bulk") => self.end = Some(Ok(())),
            Message::Closed("bulk", text) | Message::Notice(text) => self.end = Some(Err(text)),
            _ => {}
        }
    }
}
