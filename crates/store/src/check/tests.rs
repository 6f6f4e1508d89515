//! A sound store is clean; each kind of damage is found and named.

use heed::RwTxn;
use zeolite_proto::{Event, EventParser, Seq, Timestamp, Verified};
use zeolite_testkit::Factory;

use crate::env::{Tables, meta, put_seq, seq_key};
use crate::keys::{Family, IndexKey};
use crate::stored_bytes;
use crate::{CheckReport, Committer, OpenError, Options, Store, open};

const NOW: Timestamp = Timestamp(1_700_000_100);

/// Four notes of one second, two contact lists by different authors, and an article.
fn events() -> Vec<Event> {
    let mut factory = Factory::unsigned(1);
    let mut events: Vec<_> =
        (0..4).map(|n| factory.note(0, 1_700_000_000, &format!("note {n}"))).collect();
    for author in 0..2 {
        events.push(factory.draft(author).kind(3).tag(&["p", &"ab".repeat(32)]).build());
    }
    events.push(factory.draft(0).kind(30_023).tag(&["d", "stones"]).tag(&["t", "rock"]).build());
    let mut parser = EventParser::new();
    events.iter().map(|json| parser.parse(&json.to_string()).unwrap()).collect()
}

struct Fixture {
    store: Store,
    _committer: Committer,
    _dir: tempfile::TempDir,
}

fn fixture(flush: bool) -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let (store, mut admitter, mut committer) = open(dir.path(), Options::default()).unwrap();
    let verified = events().into_iter().map(Verified::trusted).collect();
    let admitted = admitter.admit(verified, NOW).unwrap();
    committer.commit(vec![admitted.pending]).unwrap();
    if flush {
        committer.flush_all().unwrap();
    }
    Fixture { store, _committer: committer, _dir: dir }
}

impl Fixture {
    fn check(&self) -> CheckReport {
        let mut reports = 0;
        let report = self.store.check(&mut |progress| {
            assert!(progress.done <= progress.total);
            reports += 1;
        });
        assert!(reports > 0);
        report.unwrap()
    }

    fn damage(&self, damage: impl FnOnce(&Tables, &mut RwTxn<'_>)) {
        let mut txn = self.store.0.env.write_txn().unwrap();
        damage(&self.store.0.tables, &mut txn);
        txn.commit().unwrap();
    }

    fn index_keys(&self, family: Family, seq: u64) -> Vec<IndexKey> {
        let txn = self.store.0.env.read_txn().unwrap();
        let keys = self.store.0.tables.index.iter(&txn).unwrap();
        let keys = keys.map(|entry| IndexKey::from_bytes(entry.unwrap().0).unwrap());
        keys.filter(|key| Family::of(key) == Some(family) && key.seq() == Seq(seq)).collect()
    }

    fn timeline(&self, seq: u64) -> (Vec<u8>, Vec<u8>) {
        let txn = self.store.0.env.read_txn().unwrap();
        let mut entries = self.store.0.tables.timeline.iter(&txn).unwrap().map(Result::unwrap);
        let value = &seq.to_be_bytes()[3..];
        let (key, value) = entries.find(|(_, found)| *found == value).unwrap();
        (key.to_vec(), value.to_vec())
    }

    fn record(&self, seq: u64) -> Vec<u8> {
        let snapshot = self.store.snapshot().unwrap();
        let event = snapshot.get(Seq(seq)).unwrap().unwrap();
        event.record().to_vec()
    }
}

#[test]
fn a_sound_store_is_clean() {
    for flush in [false, true] {
        let report = fixture(flush).check();
        assert!(report.is_clean(), "{report:?}");
        assert_eq!(report.events, 7);
        assert_eq!(report.timeline_entries, if flush { 7 } else { 0 });
    }
}

/// Applies one kind of damage; the report must name exactly what is expected.
fn check(expected: &[&str], damage: impl FnOnce(&Fixture, &Tables, &mut RwTxn<'_>)) {
    let fixture = fixture(true);
    fixture.damage(|tables, txn| damage(&fixture, tables, txn));
    let report = fixture.check();
    let found: Vec<_> = report.problems.iter().map(ToString::to_string).collect();
    assert_eq!(found, expected);
    assert_eq!(report.problems_total, expected.len() as u64);
}

#[test]
fn each_damage_is_named() {
    check(&["event 2 lacks an entry in the author family of the index"], |fixture, tables, txn| {
        let key = fixture.index_keys(Family::Author, 2)[0];
        tables.index.delete(txn, &key.0).unwrap();
    });
    check(&["event 7 lacks an entry in the tag family of the index"], |fixture, tables, txn| {
        // Its place is taken by an entry of another value, so that the number is right.
        let mut key = fixture.index_keys(Family::Tag, 7)[0];
        tables.index.delete(txn, &key.0).unwrap();
        key.0[5] ^= 1;
        tables.index.put(txn, &key.0, b"").unwrap();
    });
    check(
        &["the index has an entry for event 3, which does not have that value"],
        |fixture, tables, txn| {
            let mut key = fixture.index_keys(Family::AuthorKind, 3)[0];
            key.0[2] ^= 1;
            tables.index.put(txn, &key.0, b"").unwrap();
        },
    );
    check(&["event 1 is not in the timeline"], |fixture, tables, txn| {
        tables.timeline.delete(txn, &fixture.timeline(1).0).unwrap();
    });
    check(
        &["the timeline has an entry for event 1, which is not there"],
        |fixture, tables, txn| {
            let (mut key, value) = fixture.timeline(1);
            key[36] ^= 1;
            tables.timeline.put(txn, &key, &value).unwrap();
        },
    );
    check(&["event 4: record is damaged: id is not the hash of the event"], |f, tables, txn| {
        let mut record = f.record(4);
        *record.last_mut().unwrap() ^= 1;
        tables.log.put(txn, &seq_key(Seq(4)), &record).unwrap();
    });
    check(&["event 4: record is damaged: shorter than its fixed part"], |_, tables, txn| {
        tables.log.put(txn, &seq_key(Seq(4)), b"short").unwrap();
    });
    check(&["event 5 is in the log and in the graveyard"], |_, tables, txn| {
        tables.graveyard.put(txn, &seq_key(Seq(5)), &[0; 42]).unwrap();
    });
    check(&["table graveyard has an entry that is malformed"], |_, tables, txn| {
        tables.graveyard.put(txn, &seq_key(Seq(100)), &[0; 43]).unwrap();
    });
    check(&["1 of the sums differ from the timeline"], |_, tables, txn| {
        let (key, row) = tables.sums.first(txn).unwrap().unwrap();
        let (key, mut row) = (key.to_vec(), row.to_vec());
        row[39] ^= 1;
        tables.sums.put(txn, &key, &row).unwrap();
    });
    let wrong = "the events take 3227 bytes, and 1 are written down";
    check(&[wrong], |_, tables, txn| stored_bytes::write(tables, txn, 1).unwrap());
    check(&["table sums has an entry that is malformed"], |_, tables, txn| {
        tables.sums.put(txn, &[0xff; 37], b"").unwrap();
    });
    check(&["table index has an entry that is malformed"], |_, tables, txn| {
        tables.index.put(txn, &[1; 19], b"").unwrap();
    });
    check(&["event 6 is stored although it is barred: DeletedById"], |f, tables, txn| {
        let record = f.record(6);
        tables.deleted.put(txn, &record[..64], b"").unwrap();
    });
    check(&["the indexes claim to cover events that were never stored"], |_, tables, txn| {
        put_seq(tables, txn, meta::INDEXED_THROUGH, Seq(8)).unwrap();
    });
}

/// A store whose sum of bytes is missing, or of another state of the log, has it made anew.
#[test]
fn a_missing_sum_of_bytes_is_made_anew() {
    let Fixture { store, _committer, _dir: dir } = fixture(true);
    let bytes = store.stored_bytes().unwrap();
    let meta = store.0.tables.meta;
    let mut txn = store.0.env.write_txn().unwrap();
    let row = meta.get(&txn, b"stored_bytes").unwrap().unwrap().to_vec();
    // What a version that knows nothing of the sum would leave behind: an older last seq in it.
    meta.put(&mut txn, b"stored_bytes", &[&[9; 8], &row[8..23], &[0][..]].concat()).unwrap();
    txn.commit().unwrap();
    assert_eq!(store.stored_bytes().unwrap(), bytes);
    drop((store, _committer));
    let (store, _, committer) = open(dir.path(), Options::default()).unwrap();
    assert_eq!((store.stored_bytes().unwrap(), committer.stored_bytes()), (bytes, bytes));
    assert!(store.check(&mut |_| {}).unwrap().is_clean());
}

/// An event that lost its record altogether leaves all of its entries dangling.
#[test]
fn a_lost_record_is_found_from_the_other_side() {
    let fixture = fixture(true);
    fixture.damage(|tables, txn| {
        tables.log.delete(txn, &seq_key(Seq(2))).unwrap();
    });
    let report = fixture.check();
    assert_eq!(report.events, 6);
    let text = report.problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    assert!(text.contains("the index has an entry for event 2"), "{text}");
    assert!(text.contains("the timeline has an entry for event 2"), "{text}");
    // Id, author, kind, author and kind, and the timeline.
    assert_eq!(report.problems_total, 5);
}

/// A store of format 2 has no archive, and gets an empty one.
#[test]
fn a_store_without_an_archive_gets_one() {
    let Fixture { store, _committer, _dir: dir } = fixture(true);
    let (tables, mut txn) = (store.0.tables, store.0.env.write_txn().unwrap());
    tables.meta.put(&mut txn, meta::FORMAT.as_bytes(), &2_u32.to_be_bytes()).unwrap();
    txn.commit().unwrap();
    drop((store, _committer));
    let refused = Store::open_read_only(dir.path()).err();
    assert!(matches!(refused, Some(OpenError::Format { found: 2, expected: 3 })), "{refused:?}");
    let (store, ..) = open(dir.path(), Options::default()).unwrap();
    assert!(store.check(&mut |_| {}).unwrap().is_clean());
    drop(store);
    Store::open_read_only(dir.path()).unwrap();
}

/// A store of format 1 has no sums: whoever opens it for writing makes them, whoever only reads
/// says what is the matter.
#[test]
fn an_older_format_is_brought_up_to_date() {
    let Fixture { store, _committer, _dir: dir } = fixture(true);
    let (tables, mut txn) = (store.0.tables, store.0.env.write_txn().unwrap());
    tables.sums.clear(&mut txn).unwrap();
    tables.meta.delete(&mut txn, meta::GATED_KINDS.as_bytes()).unwrap();
    tables.meta.put(&mut txn, meta::FORMAT.as_bytes(), &1_u32.to_be_bytes()).unwrap();
    txn.commit().unwrap();
    drop((store, _committer));
    let refused = Store::open_read_only(dir.path()).err();
    let is_format = matches!(refused, Some(OpenError::Format { found: 1, expected: 3 }));
    assert!(is_format, "{refused:?}");
    let (store, ..) = open(dir.path(), Options::default()).unwrap();
    let report = store.check(&mut |_| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(store.snapshot().unwrap().head.sums.chunks()[0].tallies.all.count, 7);
    drop(store);
    Store::open_read_only(dir.path()).unwrap();
}
