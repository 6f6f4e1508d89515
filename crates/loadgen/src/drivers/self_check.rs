//! `self-check`: what the generator takes from a relay, and what it takes from nothing at all.
//!
//! A figure of a relay is the relay's as long as the generator can offer twice as much. The other side
//! is the null server in a process of its own, on the same machine.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use clap::Args;

use super::crowd::Crowd;
use super::error::DriveError;
use super::flood::flood;
use super::ingest::Shape;
use super::notes::{Notes, authors};
use super::runtime::{block_on, wait_for};
use crate::cost::Reading;
use crate::report::Report;
use crate::row::Row;
use crate::socket::Message;
use crate::target::Target;

/// What the generator must offer, as a multiple of what the relay takes.
const RATIO_MIN: f64 = 2.0;

/// Authors of the events.
const AUTHORS: usize = 100;

/// How much of it.
#[derive(Args, Clone, Debug)]
pub struct Spec {
    /// A null server that runs already; without it one is started
    #[arg(long, value_name = "URL")]
    pub null_url: Option<String>,
    /// Events to publish
    #[arg(long, value_name = "N", default_value_t = 50_000)]
    pub events: usize,
    /// Sockets that want every event of the second half
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub subscribers: usize,
    /// Events of the second half
    #[arg(long, value_name = "N", default_value_t = 3_000)]
    pub live_events: usize,
    /// Seconds without any progress after which a row ends
    #[arg(long, value_name = "S", default_value_t = 20)]
    pub silence_s: u64,
}

/// Two rows: `events` and `deliveries`, with what the relay took and what the null server took.
pub fn run(target: &Target, spec: &Spec, emit: &mut dyn FnMut(Report)) {
    let started = match &spec.null_url {
        Some(url) => Ok((None, url.clone())),
        None => NullProcess::start().map(|(process, url)| (Some(process), url)),
    };
    let null = started.and_then(|(process, url)| {
        let null = Target::new(&url, process.as_ref().map(NullProcess::pid));
        Ok((process, null.map_err(|error| DriveError::Spec(error.to_string()))?))
    });
    for (case, subscribers) in [("events", 0), ("deliveries", spec.subscribers)] {
        // The measured phase is the null server's; the relay's own costs are other scenarios'.
        let mut row = Row::new("self-check", case, &Target { pid: None, ..target.clone() });
        row.param("subscribers", subscribers);
        let report = match &null {
            Err(error) => row.fail(error),
            Ok((_, null)) => {
                let outcome = compare(target, null, spec, subscribers, &mut row);
                row.close(outcome)
            }
        };
        emit(report);
    }
}

fn compare(
    relay: &Target,
    null: &Target,
    spec: &Spec,
    subscribers: usize,
    row: &mut Row,
) -> Result<(), DriveError> {
    let relay = block_on(pace(relay, spec, subscribers, row))?;
    let null = block_on(pace(null, spec, subscribers, row))?;
    // The null server may be the slower of the two: then what the generator would need of its one
    // thread says what it can offer.
    let generator_per_s = 1.0 / null.cpu_s.max(1e-9);
    let ratio = null.per_s.max(generator_per_s) / relay.per_s;
    row.figure("relay_per_s", relay.per_s)
        .figure("null_per_s", null.per_s)
        .figure("generator_per_s", generator_per_s)
        .figure("generator_cpu_us", 1e6 * null.cpu_s)
        .figure("ratio", ratio)
        .require("ratio", "at least 2", format!("{ratio:.2}"), ratio >= RATIO_MIN);
    Ok(())
}

/// How fast it went, and what the generator spent.
struct Pace {
    /// Events, or deliveries when somebody listens, in a second.
    per_s: f64,
    /// The generator's processor time for each.
    cpu_s: f64,
}

async fn pace(
    target: &Target,
    spec: &Spec,
    subscribers: usize,
    row: &mut Row,
) -> Result<Pace, DriveError> {
    let silence = Duration::from_secs(spec.silence_s);
    let events = if subscribers == 0 { spec.events } else { spec.live_events };
    let notes = Rc::new(Notes::new(&authors(AUTHORS), events, 350, |place| place % AUTHORS));
    let filter_of = |_| r#"{"kinds":[1],"limit":1}"#.to_owned();
    let crowd = Crowd::gather(target, 4, subscribers, silence, filter_of).await?;
    let arrived = Rc::new(std::cell::Cell::new(0_u64));
    let count = arrived.clone();
    let (begin, spent) = (Instant::now(), Reading::own().unwrap_or_default());
    let _listening = crowd.listen(move |_, message, _| {
        count.set(count.get() + u64::from(matches!(message, Message::Event(..))));
    });
    let shape = Shape { connections: 4, window: 200 };
    let flood = flood(target, notes, events, shape, silence, row).await?;
    let answered = flood.answered;
    let deliveries = (events * subscribers) as u64;
    wait_for(deliveries, silence, || arrived.get()).await;
    row.check("answered", events as u64, answered).check("deliveries", deliveries, arrived.get());
    let (items, seconds) = match subscribers {
        0 => (answered, flood.elapsed_s),
        _ => (arrived.get(), begin.elapsed().as_secs_f64()),
    };
    let cost = Reading::own().unwrap_or_default().since(&spent, items);
    Ok(Pace { per_s: items as f64 / seconds, cpu_s: cost.cpu_us_per_event / 1e6 })
}

/// A null server in a process of its own, which ends with this value.
struct NullProcess(Child);

impl NullProcess {
    fn start() -> Result<(Self, String), DriveError> {
        let fail = |error: std::io::Error| DriveError::Program(format!("null server: {error}"));
        let program = std::env::current_exe().map_err(fail)?;
        let mut command = Command::new(program);
        let child = command.arg("null-server").stdout(Stdio::piped()).spawn().map_err(fail)?;
        let mut process = Self(child);
        let mut url = String::new();
        if let Some(stdout) = process.0.stdout.take() {
            BufReader::new(stdout).read_line(&mut url).map_err(fail)?;
        }
        Ok((process, url.trim().to_owned()))
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for NullProcess {
    fn drop(&mut self) {
        // It is gone already, or it goes by this.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
