//! Backup, compact copies, figures, and what a second process sees beside the writer.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::sync::atomic::{AtomicBool, Ordering};

use rand::{RngExt, SeedableRng};
use zeolite_proto::{Event, EventParser, EventRef, Filter, Kind, Reader, Seq, Timestamp, Verified};
use zeolite_store::{
    Admitter, Committer, CopyError, Options, Outcome, Scan, ScanOptions, ScanState, SliceBudget,
    Store, count, open,
};
use zeolite_testkit::{Factory, TestRng};

const NOW: Timestamp = Timestamp(1_700_100_000);

struct Source {
    rng: TestRng,
    factory: Factory,
    parser: EventParser,
    made: u64,
}

impl Source {
    fn new() -> Self {
        let (rng, factory) = (TestRng::seed_from_u64(7), Factory::unsigned(7));
        Self { rng, factory, parser: EventParser::new(), made: 0 }
    }

    /// Notes, and profiles that replace one another.
    fn batch(&mut self, count: usize) -> Vec<Verified<Event>> {
        (0..count)
            .map(|_| {
                self.made += 1;
                let author = self.rng.random_range(0..10);
                let kind = if self.rng.random_ratio(1, 4) { 0 } else { 1 };
                let draft = self.factory.draft(author).kind(kind).at(1_700_000_000 + self.made);
                let json = draft.content(&self.made.to_string()).build().to_string();
                Verified::trusted(self.parser.parse(&json).unwrap())
            })
            .collect()
    }
}

fn write(admitter: &mut Admitter, committer: &mut Committer, batch: Vec<Verified<Event>>) -> u64 {
    let admitted = admitter.admit(batch, NOW).unwrap();
    committer.commit(vec![admitted.pending]).unwrap();
    let stored = |outcome: &&Outcome| matches!(outcome, Outcome::Stored(_));
    admitted.outcomes.iter().filter(stored).count() as u64
}

fn all(store: &Store) -> Vec<(Seq, Vec<u8>)> {
    let filter = [Filter::from_json("{}").unwrap()];
    let mut scan =
        Scan::new(store, &filter, ScanOptions::default(), &Reader::of_everything().into()).unwrap();
    let mut events = Vec::new();
    let mut sink = |seq, event: EventRef<'_>| {
        events.push((seq, event.record().to_vec()));
        true
    };
    let state = scan.slice(NOW, SliceBudget::UNLIMITED, &mut sink).unwrap();
    assert_eq!(state, ScanState::Done { complete: true });
    events
}

/// A copy holds what its original held, tombstones included (case 8), is sound, and can be
/// written to.
#[test]
fn copies_are_whole_stores() {
    let dir = tempfile::tempdir().unwrap();
    let (store, mut admitter, mut committer) =
        open(&dir.path().join("db"), Options::default()).unwrap();
    let mut source = Source::new();
    let deleted = source.batch(1);
    write(&mut admitter, &mut committer, deleted.clone());
    let id = deleted[0].view().id().to_string();
    let author =
        (0..10).find(|a| source.factory.pubkey(*a) == deleted[0].view().pubkey().to_string());
    let request = source.factory.draft(author.unwrap()).kind(5).at(1_700_000_500).tag(&["e", &id]);
    let request = source.parser.parse(&request.build().to_string()).unwrap();
    write(&mut admitter, &mut committer, vec![Verified::trusted(request)]);
    for flush in [false, true] {
        let batch = source.batch(300);
        write(&mut admitter, &mut committer, batch);
        if flush {
            committer.flush_all().unwrap();
        }
        for compact in [false, true] {
            let copy_dir = dir.path().join(format!("copy-{flush}-{compact}"));
            let bytes = if compact { store.compact(&copy_dir) } else { store.backup(&copy_dir) };
            assert_eq!(bytes.unwrap(), std::fs::metadata(copy_dir.join("data.mdb")).unwrap().len());
            assert!(matches!(store.backup(&copy_dir), Err(CopyError::NotEmpty(_))));
            let (copy, mut admitter, mut committer) = open(&copy_dir, Options::default()).unwrap();
            assert_eq!(all(&copy), all(&store));
            let report = copy.check(&mut |_| ()).unwrap();
            assert!(report.is_clean(), "{report:?}");
            let again = admitter.admit(deleted.clone(), NOW).unwrap();
            assert_eq!(again.outcomes, [Outcome::Deleted]);
            committer.commit(vec![again.pending]).unwrap();
        }
    }
}

/// Case 59: a compact copy is smaller than a store that lost most of its events.
#[test]
fn compact_gives_free_pages_back() {
    let dir = tempfile::tempdir().unwrap();
    let (store, mut admitter, mut committer) =
        open(&dir.path().join("db"), Options::default()).unwrap();
    let mut source = Source::new();
    let batch = source.batch(5_000);
    write(&mut admitter, &mut committer, batch);
    committer.flush_all().unwrap();
    let seqs: Vec<_> = all(&store).into_iter().map(|(seq, _)| seq).skip(100).collect();
    let removed = admitter.remove(&seqs).unwrap();
    committer.commit(vec![removed.pending]).unwrap();
    committer.flush_all().unwrap();
    let before = store.stats().unwrap();
    assert_eq!(before.events, 100);
    assert!(before.free_bytes > before.file_bytes / 4, "{before:?}");
    let bytes = store.compact(&dir.path().join("small")).unwrap();
    assert!(bytes < before.file_bytes / 4, "{bytes} of {before:?}");
}

/// A backup that is taken while a writer commits is sound and holds what was acknowledged before
/// it began; so does a reader that opens the store beside the writer.
#[test]
fn backups_and_readers_are_consistent_beside_a_writer() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { head_events_max: 100, ..Options::default() };
    let (store, mut admitter, mut committer) = open(&dir.path().join("db"), options).unwrap();
    let mut source = Source::new();
    let batch = source.batch(500);
    write(&mut admitter, &mut committer, batch);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                let batch = source.batch(50);
                write(&mut admitter, &mut committer, batch);
            }
        });
        for round in 0..5 {
            let acknowledged = store.stats().unwrap().last_seq;
            let copy_dir = dir.path().join(round.to_string());
            store.backup(&copy_dir).unwrap();
            let reader = Store::open_read_only(&copy_dir).unwrap();
            let report = reader.check(&mut |_| ()).unwrap();
            assert!(report.is_clean(), "{report:?}");
            assert!(reader.stats().unwrap().last_seq >= acknowledged);
            assert_eq!(reader.stats().unwrap().events, all(&reader).len() as u64);
            let report = store.check(&mut |_| ()).unwrap();
            assert!(report.is_clean(), "{report:?}");
        }
        is_done.store(true, Ordering::Relaxed);
        writer.join().unwrap();
    });
}

/// The figures are those of a plain count, whether events are in the head or on disk.
#[test]
fn stats_count_what_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let (store, mut admitter, mut committer) = open(dir.path(), Options::default()).unwrap();
    let mut source = Source::new();
    for flush in [false, true] {
        let batch = source.batch(400);
        write(&mut admitter, &mut committer, batch);
        if flush {
            committer.flush_all().unwrap();
        }
        let (stats, events) = (store.stats().unwrap(), all(&store));
        let kind = |record: &[u8]| EventRef::new(record).unwrap().kind();
        let profiles = events.iter().filter(|(_, record)| kind(record) == Kind(0)).count() as u64;
        assert_eq!(stats.events, events.len() as u64);
        assert_eq!((stats.regular, stats.replaceable), (stats.events - profiles, profiles));
        assert_eq!(stats.addressable, 0);
        assert_eq!(stats.kinds, [(Kind(1), stats.regular), (Kind(0), profiles)]);
        let log = stats.tables.iter().find(|table| table.name == "log").unwrap();
        assert_eq!(log.entries, stats.events);
        assert_eq!(stats.head_events == 0, flush);
    }
}

/// A reader beside the writer keeps its head while the writer removes events, writes the head to
/// the indexes and purges what was removed: it never counts what is gone.
#[test]
fn a_reader_with_an_old_head_does_not_count_the_dead() {
    let dir = tempfile::tempdir().unwrap();
    let (store, mut admitter, mut committer) = open(dir.path(), Options::default()).unwrap();
    let mut source = Source::new();
    let batch = source.batch(200);
    write(&mut admitter, &mut committer, batch);
    let events = all(&store);
    let copy = tempfile::tempdir().unwrap();
    let from = dir.path().join("data.mdb");
    let reader_dir = copy.path().join("db");
    std::fs::create_dir(&reader_dir).unwrap();
    // One process cannot open an environment twice: the reader is given a link to the same files.
    for file in ["data.mdb", "lock.mdb"] {
        std::fs::hard_link(from.with_file_name(file), reader_dir.join(file)).unwrap();
    }
    let reader = Store::open_read_only(&reader_dir).unwrap();
    let seqs: Vec<_> = events.iter().map(|(seq, _)| *seq).take(50).collect();
    let removed = admitter.remove(&seqs).unwrap();
    committer.commit(vec![removed.pending]).unwrap();
    committer.flush_all().unwrap();
    assert_eq!(store.stats().unwrap().graveyard_events, 0);
    let everything = [Filter::from_json("{}").unwrap()];
    let left = events.len() as u64 - 50;
    for store in [&store, &reader] {
        assert_eq!(store.stats().unwrap().events, left);
        assert_eq!(
            count(store, &everything, &Reader::of_everything().into(), NOW, &mut |_| true).unwrap(),
            Some(left)
        );
        assert_eq!(all(store).len() as u64, left);
    }
}
