//! Corpora on this disk: generated once, kept, and cut into the parts that a scenario asks for.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use zeolite_loadgen::corpus::{EffectiveBuilder, Manifest, SEED, Stored};
use zeolite_proto::{EventParser, Timestamp};

use crate::idset::IdSet;
use crate::load::Loader;
use crate::record::CorpusId;
use crate::scenario::Share;

/// Signing takes about 30 us an event and core.
const GENERATE_MAX: Duration = Duration::from_secs(1800);

/// A corpus file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CorpusFile {
    /// Where it is.
    pub path: PathBuf,
    /// How rows name it.
    pub id: CorpusId,
    /// Events that a relay must hold in the end.
    pub effective: u64,
    /// The fingerprint over their ids, by time.
    pub effective_fingerprint: String,
}

/// A directory of corpora.
#[derive(Clone, Debug)]
pub struct Corpora {
    dir: PathBuf,
}

impl Corpora {
    /// In this directory.
    pub fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// The corpus, generated when it is not there.
    pub fn get(&self, loader: &Loader<'_>, shape: &str, events: u64) -> anyhow::Result<CorpusFile> {
        fs::create_dir_all(&self.dir).context("cannot make the directory of corpora")?;
        let dir = self.dir.canonicalize()?;
        let path = dir.join(format!("{shape}-{events}-{SEED}.ndjson"));
        if !Manifest::path_of(&path).exists() {
            // Under another name until it is whole.
            let part = dir.join(format!("{shape}-{events}-{SEED}.part"));
            let args = ["corpus", "generate", "--corpus", shape, "--out"];
            let mut args: Vec<String> = args.map(str::to_owned).to_vec();
            args.push(part.to_string_lossy().into_owned());
            args.extend(["--events".to_owned(), events.to_string()]);
            loader.run_plain(&dir, args, GENERATE_MAX).context("cannot generate a corpus")?;
            fs::rename(&part, &path)?;
            fs::rename(Manifest::path_of(&part), Manifest::path_of(&path))?;
        }
        let manifest = Manifest::beside(&path)?;
        let fingerprint = manifest.fingerprint.to_string();
        Ok(CorpusFile {
            path,
            id: CorpusId { shape: shape.to_owned(), events: manifest.events, fingerprint },
            effective: manifest.effective.events,
            effective_fingerprint: manifest.effective.fingerprint.to_string(),
        })
    }
}

/// The ids of all events that a relay must hold in the end.
pub fn effective_ids(corpus: &CorpusFile) -> anyhow::Result<IdSet> {
    let stored = Stored::open(&corpus.path)?;
    let mut builder = EffectiveBuilder::new(Timestamp(stored.manifest().effective.now), &[]);
    let mut parser = EventParser::new();
    for batch in stored {
        for event in batch?.iter() {
            let event = parser.parse(std::str::from_utf8(event.json())?);
            builder.add(event.context("the corpus holds an invalid event")?.view());
        }
    }
    Ok(IdSet::of(builder.finish().iter().map(|(_, id)| id.0).collect()))
}

/// Writes a corpus without a share of it.
pub fn cut(corpus: &CorpusFile, lacks: Share, to: &Path) -> anyhow::Result<u64> {
    let mut lines = BufReader::with_capacity(1 << 20, File::open(&corpus.path)?);
    let mut output = BufWriter::with_capacity(1 << 20, File::create(to)?);
    let (mut line, mut at, mut kept) = (Vec::new(), 0, 0);
    while lines.read_until(b'\n', &mut line)? > 0 {
        if !lacks.holds(at, corpus.id.events) {
            output.write_all(&line)?;
            kept += 1;
        }
        at += 1;
        line.clear();
    }
    output.flush()?;
    ensure!(at == corpus.id.events, "the corpus has {at} events, its manifest says otherwise");
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_corpus_lacks_exactly_the_share() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("c");
        let text: String = (0..1000).map(|at| format!("{at}\n")).collect();
        fs::write(&path, text).unwrap();
        let id = CorpusId { events: 1000, ..CorpusId::default() };
        let corpus = CorpusFile { path, id, effective: 0, effective_fingerprint: String::new() };
        let check = |lacks, expected_lines: u64, expected_first: &str| {
            let to = root.path().join("cut");
            assert_eq!(cut(&corpus, lacks, &to).unwrap(), expected_lines);
            let text = fs::read_to_string(to).unwrap();
            assert_eq!(text.lines().next().unwrap_or(""), expected_first);
        };
        check(Share::None, 1000, "0");
        check(Share::All, 0, "");
        check(Share::FifthOldest, 800, "200");
        check(Share::HundredthSpread, 990, "0");
    }
}
