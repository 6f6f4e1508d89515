//! The disk refuses a write in the middle of a commit. The file size limit of this process stands
//! in for a full disk, so there is only one test here.

#![allow(unsafe_code, reason = "limits of a process are set by a system call")]

mod world;

use rand::SeedableRng;
use world::{World, sets::assert_sets, verified};
use zeolite_proto::Timestamp;
use zeolite_store::{CommitError, Options, WriteError};
use zeolite_testkit::{Factory, TestRng};

const NOW: Timestamp = Timestamp(2_000);

fn limit_file_bytes(bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: SIG_IGN is no function of ours, and the limit outlives the call.
    let done = unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit)
    };
    assert_eq!(done, 0, "the limit can be set");
}

/// E-36: after a failed commit nothing of its batches, or of what was admitted after them, is
/// there; reads go on, writes are refused, and a reopened store is consistent and takes writes.
#[test]
fn a_failed_commit_leaves_the_last_good_state() {
    let mut factory = Factory::unsigned(1);
    let mut world = World::new(Options {
        head_events_max: 100,
        bucket_items: 8,
        gated_kinds: vec![zeolite_proto::Kind(62)],
        ..Options::default()
    });
    let notes: Vec<_> = (0..200).map(|at| factory.draft(0).at(at).padded_to(700).build()).collect();
    for batch in notes.chunks(10) {
        world.admit(batch, NOW.0);
        world.commit_all();
    }
    let expected = world.all(NOW.0);
    assert_eq!(expected.len(), 200);

    let file_bytes = world.dir().join("data.mdb").metadata().expect("the file is there").len();
    limit_file_bytes(file_bytes + 20_000);
    let large: Vec<_> =
        (0..50).map(|at| verified(&factory.draft(1).at(at).padded_to(9_000).build())).collect();
    let request = factory.draft(0).kind(62).at(150).tag(&["relay", "ALL_RELAYS"]).build();
    let first = world.admitter().admit(large, NOW).expect("admission");
    let second = world.admitter().admit(vec![verified(&request)], NOW).expect("admission");
    assert_eq!(world.all(NOW.0).len(), 50 + 50, "admitted: 151 wiped, 1 request, 50 large");
    let mut rng = TestRng::seed_from_u64(1);
    assert_sets(world.store(), NOW.0, &mut rng);
    let error = world.committer().commit(vec![first.pending]).expect_err("the disk is full");
    assert!(matches!(error, CommitError::Lmdb(_)), "{error}");
    let error = world.committer().commit(vec![second.pending]).expect_err("stopped");
    assert!(matches!(error, CommitError::Stopped(_)), "{error}");
    assert!(world.store().stopped().is_some());

    assert_eq!(world.all(NOW.0), expected, "reads show what is durable");
    assert_eq!(world.replay().len(), expected.len());
    assert_sets(world.store(), NOW.0, &mut rng);
    let more = vec![verified(&factory.note(2, 1, "more"))];
    let refused = world.admitter().admit(more.clone(), NOW);
    assert!(matches!(refused, Err(WriteError::Stopped(_))));

    limit_file_bytes(libc::RLIM_INFINITY);
    world.reopen();
    assert_eq!(world.all(NOW.0), expected);
    assert_sets(world.store(), NOW.0, &mut rng);
    world.assert_clean();
    let admitted = world.admitter().admit(more, NOW).expect("writes are taken again");
    world.committer().commit(vec![admitted.pending]).expect("a commit");
    world.assert_clean();
}
