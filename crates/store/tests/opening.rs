//! Who may open a store, and what is found when one is opened.

mod world;

use heed::types::Bytes;
use world::{World, all_of};
use zeolite_proto::Seq;
use zeolite_store::{OpenError, Options, Store, open};
use zeolite_testkit::Factory;

const NOW: u64 = 2_000;

fn world_with_notes(count: u64) -> World {
    let mut factory = Factory::unsigned(1);
    let mut world = World::new(Options { map_bytes: 1 << 28, ..Options::default() });
    let notes: Vec<_> = (0..count).map(|at| factory.note(0, at, "")).collect();
    world.admit(&notes, NOW);
    world.commit_all();
    world
}

/// Changes tables behind the store's back.
#[allow(unsafe_code, reason = "opening an LMDB environment is unsafe")]
fn tamper(
    world: &World,
    change: impl Fn(&str, heed::Database<'_, Bytes, Bytes>, &mut heed::RwTxn<'_>),
) {
    let mut options = heed::EnvOpenOptions::new();
    // SAFETY: the store is closed, so nobody else has the file open.
    let env = unsafe { options.max_dbs(9).map_size(1 << 28).open(world.dir()).expect("an env") };
    let txn = env.write_txn().expect("a transaction");
    env.create_databases_and_commit(txn, |opener, txn| {
        for name in ["log", "meta"] {
            change(name, opener.create_database(txn, Some(name))?, txn);
        }
        Ok::<_, heed::Error>(heed::CommitOrAbort::<(), ()>::Commit(()))
    })
    .expect("a commit");
}

/// Only one process writes; the error names it.
#[test]
fn the_second_writer_is_told_who_holds_the_store() {
    let world = world_with_notes(1);
    let Err(error) = open(world.dir(), Options::default()) else { panic!("two writers") };
    let own = std::process::id();
    assert!(matches!(error, OpenError::InUse { pid, .. } if pid == own), "{error}");
    assert!(error.to_string().contains(&own.to_string()));
}

/// The lock goes with the last of admitter and committer, whatever readers are left.
#[test]
fn the_lock_goes_with_the_writers() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (store, admitter, committer) = open(dir.path(), Options::default()).expect("a store");
    drop(admitter);
    assert!(matches!(open(dir.path(), Options::default()), Err(OpenError::InUse { .. })));
    drop(committer);
    // The lock is free; that this process still has the file open is another matter.
    assert!(matches!(open(dir.path(), Options::default()), Err(OpenError::Lmdb(_))));
    drop(store);
    open(dir.path(), Options::default()).expect("nobody holds it");
}

#[test]
fn reading_creates_nothing() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    assert!(matches!(Store::open_read_only(dir.path()), Err(OpenError::Missing(_))));
    assert_eq!(dir.path().read_dir().expect("a directory").count(), 0);
}

/// The tail of the log is read back on opening, for writing and for reading alike.
#[test]
fn the_head_is_rebuilt_from_the_log() {
    let mut world = world_with_notes(50);
    let expected = world.all(NOW);
    world.reopen();
    assert_eq!(world.store().recovery().events, 50);
    assert_eq!(world.all(NOW), expected);
    world.close();
    let store = Store::open_read_only(world.dir()).expect("a store");
    assert_eq!(all_of(&store, NOW), expected);
}

/// A record of the tail that is damaged is reported and not shown; all others are.
#[test]
fn damage_in_the_tail_is_reported() {
    let mut world = world_with_notes(10);
    world.close();
    tamper(&world, |name, table, txn| {
        if name == "log" {
            table.put(txn, &9_u64.to_be_bytes(), b"damaged").expect("a put");
        }
    });
    world.reopen();
    assert_eq!(world.store().recovery().damaged, [Seq(9)]);
    assert_eq!(world.all(NOW).len(), 9);
    let report = world.store().check(&mut |_| {}).expect("a check");
    assert!(!report.is_clean(), "the check says so too");
}

/// A tail that is missing is no reason to panic, and its seqs are not given again.
#[test]
fn a_missing_tail_is_survived() {
    let mut world = world_with_notes(10);
    world.close();
    tamper(&world, |name, table, txn| {
        for seq in 8..=10_u64 {
            if name == "log" {
                table.delete(txn, &seq.to_be_bytes()).expect("a deletion");
            }
        }
    });
    world.reopen();
    assert_eq!(world.all(NOW).len(), 7);
    let note = Factory::unsigned(2).note(0, 1, "next");
    assert_eq!(world.admit(&[note], NOW), [zeolite_store::Outcome::Stored(Seq(11))]);
}

#[test]
fn an_unknown_format_is_refused() {
    let mut world = world_with_notes(1);
    world.close();
    tamper(&world, |name, table, txn| {
        if name == "meta" {
            table.put(txn, b"format", &7_u32.to_be_bytes()).expect("a put");
        }
    });
    let Err(error) = open(world.dir(), Options::default()) else { panic!("format 7") };
    assert!(matches!(error, OpenError::Format { found: 7, .. }), "{error}");
}

/// An operator need not know of pages.
#[test]
fn any_map_size_will_do() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let options = Options { map_bytes: 10_000_000, ..Options::default() };
    open(dir.path(), options).expect("a store");
}

/// A data file whose end was cut off is refused; reading it would kill the process.
#[test]
fn a_truncated_file_is_refused() {
    let mut factory = Factory::unsigned(3);
    let mut world = World::new(Options { map_bytes: 1 << 28, ..Options::default() });
    let notes: Vec<_> =
        (0..2_000).map(|at| factory.draft(0).at(at).padded_to(2_000).build()).collect();
    world.admit(&notes, NOW);
    world.commit_all();
    world.close();
    let file = std::fs::File::options().write(true).open(world.dir().join("data.mdb"));
    file.and_then(|file| file.set_len(1 << 20)).expect("the file can be cut");
    for result in [
        open(world.dir(), Options::default()).map(drop),
        Store::open_read_only(world.dir()).map(drop),
    ] {
        let error = result.expect_err("half of it is missing");
        assert!(matches!(error, OpenError::Truncated { found: 0x10_0000, .. }), "{error}");
    }
}
