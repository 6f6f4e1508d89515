//! Writes corpora: generated ones, and ones made of any events.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use zeolite_proto::{Event, EventId, EventParser, Timestamp};

use crate::corpus::batch::Batch;
use crate::corpus::check::Checked;
use crate::corpus::generate::generate;
use crate::corpus::manifest::Manifest;
use crate::corpus::pipeline::Ordered;
use crate::corpus::plan::{BASE_TIME, span_s};
use crate::corpus::spec::Spec;
use crate::corpus::stored::CorpusError;
use crate::corpus::tally::Tally;

/// Buffer before a file that is written: some hundred events for each system call.
const WRITE_BYTES: usize = 1 << 20;

/// Generates a corpus into `out` as NDJSON and returns its manifest. `progress` is told how many
/// events are written.
pub fn write_generated(
    spec: &Spec,
    threads: usize,
    out: impl Write,
    mut progress: impl FnMut(u64),
) -> io::Result<Manifest> {
    let end = BASE_TIME + u64::from(span_s(spec.events));
    let mut tally = Tally::new(Timestamp(end));
    let mut out = BufWriter::with_capacity(WRITE_BYTES, out);
    // Every event is parsed again as a relay would, which checks its id.
    let parsed = Ordered::start(threads, generate(spec, threads), |batch| (parse(&batch), batch));
    for (events, batch) in parsed {
        for (event, written) in events.iter().zip(batch.iter()) {
            let json = written.json();
            out.write_all(json)?;
            out.write_all(b"\n")?;
            tally.add(event.view(), json.len() + 1);
        }
        progress(tally.events());
    }
    out.flush()?;
    Ok(tally.generated(spec))
}

fn parse(batch: &Batch) -> Vec<Event> {
    let mut parser = EventParser::new();
    let events = batch.iter().map(|event| {
        let text = std::str::from_utf8(event.json()).expect("generated JSON is UTF-8");
        parser.parse(text).expect("generated events are valid")
    });
    events.collect()
}

/// Where an event lies in the spool: 56 bytes of memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Slot {
    created_at: Timestamp,
    id: EventId,
    start: u64,
    len: u32,
}

/// Makes a corpus at `out` of the events of some files: checked, each once, in order, without
/// ephemeral ones. The manifest, which is also written beside it, says how many were left out and
/// why. `progress` is told how many events were read.
///
/// Events lie in a file beside `out` until their order is known; memory is 120 bytes for each.
pub fn import(
    files: &[PathBuf],
    out: &Path,
    now: Timestamp,
    mut progress: impl FnMut(u64),
) -> Result<Manifest, CorpusError> {
    let spool_path = with_suffix(out, ".spool");
    let _guard = RemoveOnDrop(&spool_path);
    let mut dropped = BTreeMap::new();
    let (mut spool, mut slots) = fill_spool(files, &spool_path, &mut dropped, &mut progress)?;
    slots.sort_unstable();
    let read = slots.len();
    slots.dedup_by_key(|slot| slot.id);
    count(&mut dropped, "repeated", (read - slots.len()) as u64);

    let part_path = with_suffix(out, ".part");
    let mut tally = Tally::new(now);
    write_in_order(&mut spool, &slots, &part_path, &mut tally)
        .map_err(|error| CorpusError::io(&part_path, error))?;
    fs::rename(&part_path, out).map_err(|error| CorpusError::io(out, error))?;
    let names: Vec<_> = files.iter().filter_map(|file| file.file_name()).collect();
    let names: Vec<_> = names.iter().map(|name| name.to_string_lossy()).collect();
    let manifest = tally.imported(&names.join(", "), dropped);
    manifest.write_beside(out)?;
    Ok(manifest)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

struct RemoveOnDrop<'p>(&'p Path);

impl Drop for RemoveOnDrop<'_> {
    fn drop(&mut self) {
        // The spool may not have been made; a file that stays is named after what it belongs to.
        let _ = fs::remove_file(self.0);
    }
}

fn count(dropped: &mut BTreeMap<String, u64>, reason: &str, more: u64) {
    if more > 0 {
        *dropped.entry(reason.to_owned()).or_default() += more;
    }
}

fn fill_spool(
    files: &[PathBuf],
    path: &Path,
    dropped: &mut BTreeMap<String, u64>,
    progress: &mut impl FnMut(u64),
) -> Result<(File, Vec<Slot>), CorpusError> {
    let failed = |error| CorpusError::io(path, error);
    let file = File::options().read(true).write(true).create(true).truncate(true).open(path);
    let mut spool = BufWriter::with_capacity(WRITE_BYTES, file.map_err(failed)?);
    let (mut slots, mut start, mut read) = (Vec::new(), 0, 0);
    for file in files {
        for batch in Checked::open(file, 0)? {
            for event in batch? {
                read += 1;
                match event {
                    Err(fault) => count(dropped, &fault.to_string(), 1),
                    Ok(event) if event.view().kind().is_ephemeral() => {
                        count(dropped, "ephemeral", 1);
                    }
                    Ok(event) => {
                        let json = event.json();
                        spool.write_all(json).map_err(failed)?;
                        let (view, len) = (event.view(), json.len() as u32);
                        slots.push(Slot {
                            created_at: view.created_at(),
                            id: view.id(),
                            start,
                            len,
                        });
                        start += u64::from(len);
                    }
                }
            }
            progress(read);
        }
    }
    let spool = spool.into_inner().map_err(|error| failed(error.into_error()))?;
    Ok((spool, slots))
}

fn write_in_order(
    spool: &mut File,
    slots: &[Slot],
    path: &Path,
    tally: &mut Tally,
) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(WRITE_BYTES, File::create(path)?);
    let mut parser = EventParser::new();
    let mut json = Vec::new();
    for slot in slots {
        json.resize(slot.len as usize, 0);
        spool.seek(SeekFrom::Start(slot.start))?;
        spool.read_exact(&mut json)?;
        let text = std::str::from_utf8(&json).map_err(io::Error::other)?;
        let event = parser.parse(text).map_err(io::Error::other)?;
        out.write_all(&json)?;
        out.write_all(b"\n")?;
        tally.add(event.view(), json.len() + 1);
    }
    out.into_inner().map_err(|error| error.into_error())?.sync_all()
}
