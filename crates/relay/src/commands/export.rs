//! `export`: events as NDJSON, in constant memory, beside a running relay.

mod sink;

use anyhow::Context;
use zeolite_proto::{EventRef, Filter, Seq};

pub(crate) use self::sink::{Compression, Sink};
use super::store::open_to_read;
use super::walk::{Visit, archived, log_order, newest_first};
use super::{Exit, filters, output};
use crate::cli::{ExportArgs, Order};
use crate::config::Config;

/// Runs the command.
pub(crate) fn run(args: &ExportArgs, config: &Config) -> anyhow::Result<Exit> {
    let filters = filters::parse(&args.filters)?;
    anyhow::ensure!(
        args.archived
            || args.order == Order::Newest
            || filters.iter().all(|filter| filter.limit.is_none()),
        "a limit keeps the newest events: use it with --order newest"
    );
    let store = open_to_read(config)?;
    let mut lines = Lines::new(sink(args)?);
    match args.order {
        _ if args.archived => archived(&store, &filters, &mut lines)?,
        Order::Stored => log_order(&store, &filters, &mut lines)?,
        Order::Newest if filters.is_empty() => {
            newest_first(&store, &[Filter::default()], &mut lines)?;
        }
        Order::Newest => newest_first(&store, &filters, &mut lines)?,
    }
    let events = lines.finish()?;
    if args.out.is_some() {
        output::say(format_args!("{events} events exported"));
    }
    Ok(Exit::Done)
}

fn sink(args: &ExportArgs) -> anyhow::Result<Sink> {
    let compression = match (args.zstd, args.gzip) {
        (true, _) => Compression::Zstd,
        (_, true) => Compression::Gzip,
        _ => Compression::of_name(args.out.as_deref()),
    };
    match &args.out {
        Some(path) => Sink::create(path, compression),
        None => Ok(Sink::stdout(compression)?),
    }
}

/// Bytes of JSON that are made in one slice before they are written.
const LINES_BYTES_MAX: usize = 1 << 20;

/// Writes each event as one line.
pub(crate) struct Lines {
    sink: Sink,
    buffer: Vec<u8>,
    events: u64,
    is_open: bool,
}

impl Lines {
    pub(crate) fn new(sink: Sink) -> Self {
        Self { sink, buffer: Vec::new(), events: 0, is_open: true }
    }

    /// Ends the output; gives the number of events.
    pub(crate) fn finish(self) -> anyhow::Result<u64> {
        if self.is_open {
            output::until_closed(self.sink.finish()).context("cannot write")?;
        }
        Ok(self.events)
    }
}

impl Visit for Lines {
    fn event(&mut self, _: Option<Seq>, event: EventRef<'_>) -> bool {
        event.push_json(&mut self.buffer);
        self.buffer.push(b'\n');
        self.events += 1;
        self.buffer.len() < LINES_BYTES_MAX
    }

    fn pause(&mut self) -> anyhow::Result<bool> {
        let written = self.sink.write_all(&self.buffer);
        self.buffer.clear();
        self.is_open = output::until_closed(written).context("cannot write")?;
        Ok(self.is_open)
    }
}
