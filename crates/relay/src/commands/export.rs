//! `export`: events as NDJSON, in constant memory, beside a running relay.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use anyhow::Context;
use flate2::write::GzEncoder;
use zeolite_proto::{EventRef, Filter, Seq};

use super::store::open_to_read;
use super::walk::{Visit, log_order, newest_first};
use super::{Exit, filters, output};
use crate::cli::{ExportArgs, Order};
use crate::config::Config;

/// Runs the command.
pub(crate) fn run(args: &ExportArgs, config: &Config) -> anyhow::Result<Exit> {
    let filters = filters::parse(&args.filters)?;
    anyhow::ensure!(
        args.order == Order::Newest || filters.iter().all(|filter| filter.limit.is_none()),
        "a limit keeps the newest events: use it with --order newest"
    );
    let store = open_to_read(config)?;
    let mut lines = Lines::new(create(args)?);
    match args.order {
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

/// Bytes of JSON that are made in one slice before they are written.
const LINES_BYTES_MAX: usize = 1 << 20;

/// Writes each event as one line.
pub(crate) struct Lines {
    out: Output,
    buffer: Vec<u8>,
    events: u64,
    is_open: bool,
}

impl Lines {
    pub(crate) fn new(out: Output) -> Self {
        Self { out, buffer: Vec::new(), events: 0, is_open: true }
    }

    /// Ends the output; gives the number of events.
    pub(crate) fn finish(self) -> anyhow::Result<u64> {
        if self.is_open {
            output::until_closed(self.out.finish()).context("cannot write")?;
        }
        Ok(self.events)
    }
}

impl Visit for Lines {
    fn event(&mut self, _: Seq, event: EventRef<'_>) -> bool {
        event.push_json(&mut self.buffer);
        self.buffer.push(b'\n');
        self.events += 1;
        self.buffer.len() < LINES_BYTES_MAX
    }

    fn pause(&mut self) -> anyhow::Result<bool> {
        let written = self.out.write_all(&self.buffer);
        self.buffer.clear();
        self.is_open = output::until_closed(written).context("cannot write")?;
        Ok(self.is_open)
    }
}

/// Where events go, and through which compression.
pub(crate) enum Output {
    Plain(BufWriter<Box<dyn Write>>),
    Zstd(zstd::Encoder<'static, BufWriter<Box<dyn Write>>>),
    Gzip(GzEncoder<BufWriter<Box<dyn Write>>>),
}

/// zstd's own default: about 500 MB/s, a fifth of the size.
const ZSTD_LEVEL: i32 = 3;

#[derive(Clone, Copy)]
enum Compression {
    None,
    Zstd,
    Gzip,
}

fn create(args: &ExportArgs) -> anyhow::Result<Output> {
    let raw: Box<dyn Write> = match &args.out {
        Some(path) => {
            // An export must not destroy the one before it.
            let created = File::options().write(true).create_new(true).open(path);
            Box::new(created.with_context(|| format!("cannot make {}", path.display()))?)
        }
        None => Box::new(io::stdout()),
    };
    let suffix = args.out.as_ref().and_then(|path| path.extension()).and_then(|text| text.to_str());
    let compression = match suffix {
        _ if args.zstd => Compression::Zstd,
        _ if args.gzip => Compression::Gzip,
        Some("zst" | "zstd") => Compression::Zstd,
        Some("gz") => Compression::Gzip,
        _ => Compression::None,
    };
    Ok(Output::new(raw, compression)?)
}

impl Output {
    /// Standard output, as it is.
    pub(crate) fn stdout() -> Self {
        Self::Plain(BufWriter::new(Box::new(io::stdout())))
    }

    fn new(raw: Box<dyn Write>, compression: Compression) -> io::Result<Self> {
        let out = BufWriter::new(raw);
        Ok(match compression {
            Compression::None => Self::Plain(out),
            Compression::Zstd => Self::Zstd(zstd::Encoder::new(out, ZSTD_LEVEL)?),
            Compression::Gzip => Self::Gzip(GzEncoder::new(out, flate2::Compression::default())),
        })
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.write_all(bytes),
            Self::Zstd(out) => out.write_all(bytes),
            Self::Gzip(out) => out.write_all(bytes),
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Plain(mut out) => out.flush(),
            Self::Zstd(out) => out.finish().and_then(|mut out| out.flush()),
            Self::Gzip(out) => out.finish().and_then(|mut out| out.flush()),
        }
    }
}
