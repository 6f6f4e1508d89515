//! Where exported lines go: standard output or a new file, plain or compressed.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use flate2::write::GzEncoder;

/// zstd's own default: about 500 MB/s, a fifth of the size.
const ZSTD_LEVEL: i32 = 3;

/// How the output is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Zstd,
    Gzip,
}

impl Compression {
    /// What the name of a file promises.
    pub(crate) fn of_name(path: Option<&Path>) -> Self {
        match path.and_then(Path::extension).and_then(|suffix| suffix.to_str()) {
            Some("zst" | "zstd") => Self::Zstd,
            Some("gz") => Self::Gzip,
            _ => Self::None,
        }
    }
}

/// An open output.
pub(crate) struct Sink {
    encoder: Encoder,
    file: Option<Unfinished>,
}

/// A file that has its name only when it is whole.
struct Unfinished {
    file: File,
    part: PathBuf,
    path: PathBuf,
}

enum Encoder {
    Plain(BufWriter<Box<dyn Write>>),
    Zstd(zstd::Encoder<'static, BufWriter<Box<dyn Write>>>),
    Gzip(GzEncoder<BufWriter<Box<dyn Write>>>),
}

impl Sink {
    /// Standard output.
    pub(crate) fn stdout(compression: Compression) -> io::Result<Self> {
        let encoder = Encoder::new(Box::new(io::stdout()), compression)?;
        Ok(Self { encoder, file: None })
    }

    /// A new file. It is written under another name and renamed at the end, so that half an
    /// export is never taken for a whole one; an existing file is not touched.
    pub(crate) fn create(path: &Path, compression: Compression) -> anyhow::Result<Self> {
        ensure!(!path.exists(), "{} exists already", path.display());
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        let named = || format!("cannot write {}", part.display());
        let file = File::create(&part).with_context(named)?;
        let encoder = Encoder::new(Box::new(file.try_clone()?), compression)?;
        Ok(Self { encoder, file: Some(Unfinished { file, part, path: path.to_owned() }) })
    }

    pub(crate) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.encoder {
            Encoder::Plain(out) => out.write_all(bytes),
            Encoder::Zstd(out) => out.write_all(bytes),
            Encoder::Gzip(out) => out.write_all(bytes),
        }
    }

    /// Writes out the rest; a file is on disk and has its name then.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self.encoder {
            Encoder::Plain(mut out) => out.flush(),
            Encoder::Zstd(out) => out.finish().and_then(|mut out| out.flush()),
            Encoder::Gzip(out) => out.finish().and_then(|mut out| out.flush()),
        }?;
        match self.file {
            Some(Unfinished { file, part, path }) => {
                file.sync_all()?;
                std::fs::rename(part, path)
            }
            None => Ok(()),
        }
    }
}

impl Encoder {
    fn new(raw: Box<dyn Write>, compression: Compression) -> io::Result<Self> {
        let out = BufWriter::new(raw);
        Ok(match compression {
            Compression::None => Self::Plain(out),
            Compression::Zstd => Self::Zstd(zstd::Encoder::new(out, ZSTD_LEVEL)?),
            Compression::Gzip => Self::Gzip(GzEncoder::new(out, flate2::Compression::default())),
        })
    }
}
