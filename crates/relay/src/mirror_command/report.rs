//! What the user is told: how far it is, and how it ended.

use std::fmt::Write as _;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Map, Value, json};
use zeolite_mirror::{Counts, Direction, Ended, Method, Phase, Progress, Refusals};

use crate::commands::output;
use crate::mirror::MirrorStatus;
use crate::mirror::status::outcomes;

/// Time between two lines where there is no terminal, unless the phase changes.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// How it is told.
#[derive(Clone)]
enum Form {
    /// A bar on a terminal.
    Bar(ProgressBar),
    /// Lines of text on standard error.
    Lines,
    /// Objects on standard output.
    Json,
}

/// Tells the user.
#[derive(Clone)]
pub(super) struct Reporter {
    form: Form,
    status: MirrorStatus,
    start: Instant,
}

impl Reporter {
    pub(super) fn new(is_json: bool, status: MirrorStatus, start: Instant) -> Self {
        let form = if is_json {
            Form::Json
        } else if std::io::stderr().is_terminal() {
            Form::Bar(bar())
        } else {
            Form::Lines
        };
        Self { form, status, start }
    }

    /// Tells how far it is, for as long as it is polled.
    pub(super) async fn watch(mut self) {
        let mut last: Option<(Phase, Instant)> = None;
        while self.status.progress.changed().await.is_ok() {
            let progress = self.status.progress.borrow_and_update().clone();
            let is_due = last.is_none_or(|(phase, told)| {
                phase != progress.phase || told.elapsed() >= LINE_EVERY
            });
            match &self.form {
                Form::Bar(bar) => show(bar, &progress, self.start.elapsed()),
                Form::Lines if !is_due => continue,
                Form::Lines => output::say(line(&progress, self.start.elapsed())),
                Form::Json => {
                    // Nobody reads any more: the mirror goes on all the same.
                    _ = output::print(object("progress", &progress, self.start.elapsed()));
                }
            }
            last = Some((progress.phase, Instant::now()));
        }
    }

    /// Tells how it ended.
    pub(super) fn finish(&self, ended: &Ended) -> anyhow::Result<()> {
        let seconds = self.start.elapsed().as_secs_f64();
        match &self.form {
            Form::Json => output::print(summary_object(ended, seconds)),
            Form::Bar(bar) => {
                bar.finish_and_clear();
                output::say(summary(&self.status, ended, seconds));
                Ok(())
            }
            Form::Lines => {
                output::say(summary(&self.status, ended, seconds));
                Ok(())
            }
        }
    }
}

fn bar() -> ProgressBar {
    let template = "[{elapsed_precise}] {wide_bar} {pos}/{len} {msg}";
    let style = ProgressStyle::with_template(template).expect("the template is well formed");
    ProgressBar::new(0).with_style(style)
}

/// What was moved, and what is known to be missing on either side.
fn moved(counts: &Counts) -> (u64, u64) {
    let done = counts.received + counts.gone + counts.accepted + counts.accepted_duplicate;
    (done + counts.refused, counts.need + counts.have)
}

fn show(bar: &ProgressBar, progress: &Progress, elapsed: Duration) {
    let (done, known) = moved(&progress.counts);
    bar.set_length(known.max(done));
    bar.set_position(done);
    bar.set_message(format!("{} {:.0}/s", progress.phase.name(), per_second(done, elapsed)));
}

fn per_second(count: u64, elapsed: Duration) -> f64 {
    count as f64 / elapsed.as_secs_f64().max(f64::EPSILON)
}

fn line(progress: &Progress, elapsed: Duration) -> String {
    let counts = &progress.counts;
    let mut line = format!(
        "{}: {} stored, {} sent, {} to fetch, {} to send",
        progress.phase.name(),
        counts.stored,
        counts.sent,
        progress.need_waiting,
        progress.have_waiting,
    );
    let rate = per_second(moved(counts).0, elapsed);
    write!(line, ", {rate:.0} events/s").expect("writing to a string cannot fail");
    if let Some(trouble) = &progress.trouble {
        write!(line, "; {trouble}").expect("writing to a string cannot fail");
    }
    line
}

fn method(method: Method) -> &'static str {
    match method {
        Method::Unknown => "unknown",
        Method::Negentropy => "negentropy",
        Method::Paging => "req",
    }
}

fn object(kind: &str, progress: &Progress, elapsed: Duration) -> Value {
    let mut object = counted(&progress.counts);
    object.insert("type".to_owned(), kind.into());
    object.insert("phase".to_owned(), progress.phase.name().into());
    object.insert("method".to_owned(), method(progress.method).into());
    object.insert("seconds".to_owned(), elapsed.as_secs_f64().into());
    object.insert("to_fetch".to_owned(), progress.need_waiting.into());
    object.insert("to_send".to_owned(), progress.have_waiting.into());
    object.insert("trouble".to_owned(), json!(progress.trouble));
    Value::Object(object)
}

fn counted(counts: &Counts) -> Map<String, Value> {
    let more = [
        ("offered_down", counts.need),
        ("offered_up", counts.have),
        ("rounds", counts.rounds),
        ("pages", counts.pages),
        ("splits", counts.splits),
        ("connections", counts.connections),
        ("dense_seconds", counts.dense_seconds),
    ];
    let all = outcomes(counts).into_iter().chain(more);
    all.map(|(name, count)| (name.to_owned(), count.into())).collect()
}

fn summary_object(ended: &Ended, seconds: f64) -> Value {
    let Ended { outcome, refusals: Refusals { here, there } } = ended;
    let mut object = counted(&outcome.counts);
    let (done, _) = moved(&outcome.counts);
    object.insert("type".to_owned(), "summary".into());
    object.insert("end".to_owned(), outcome.end.to_string().into());
    object.insert("success".to_owned(), outcome.end.is_success().into());
    object.insert("seconds".to_owned(), seconds.into());
    object.insert("events_per_s".to_owned(), (done as f64 / seconds.max(f64::EPSILON)).into());
    object.insert("rss_bytes_max".to_owned(), json!(rss_bytes_max()));
    object.insert("refused_here".to_owned(), json!(here));
    object.insert("refused_there".to_owned(), json!(there));
    Value::Object(object)
}

/// The most memory this process held, where the system tells.
fn rss_bytes_max() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let text = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = text.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

fn summary(status: &MirrorStatus, ended: &Ended, seconds: f64) -> String {
    let Ended { outcome, refusals } = ended;
    let counts = &outcome.counts;
    let mut rows: Vec<(u64, String)> = Vec::new();
    let mut row = |count: u64, what: &str| rows.push((count, what.to_owned()));
    if status.direction != Direction::Up {
        row(counts.need, "offered: missing here");
        row(counts.received, "received");
        row(counts.stored, "stored");
        row(counts.duplicate, "duplicates");
        row(counts.ephemeral, "ephemeral, passed on");
        row(counts.gone, "listed and then not given");
        row(counts.unasked, "not asked for, dropped");
    }
    if status.direction != Direction::Down {
        row(counts.have, "missing there");
        row(counts.sent, "sent");
        row(counts.accepted, "accepted");
        row(counts.accepted_duplicate, "accepted, there already");
    }
    row(counts.rounds, "rounds of reconciliation");
    row(counts.pages, "pages");
    row(counts.dense_seconds, "seconds with more events than a page");
    let of =
        |side: &str, (reason, count): (&&str, &u64)| (*count, format!("refused {side}: {reason}"));
    rows.extend(refusals.here.iter().map(|entry| of("here", entry)));
    rows.extend(refusals.there.iter().map(|entry| of("there", entry)));
    let mut text = format!("{}: {}\n", status.url, outcome.end);
    // The first row is the one that is looked for, also when it is nothing.
    for (at, (count, what)) in rows.iter().enumerate() {
        if *count > 0 || at == 0 {
            writeln!(text, "{count:>12} {what}").expect("writing to a string cannot fail");
        }
    }
    let rate = moved(counts).0 as f64 / seconds.max(f64::EPSILON);
    write!(text, "{rate:>12.0} events/s in {seconds:.2} s")
        .expect("writing to a string cannot fail");
    text
}
