//! An engine that breaks gives an error row with the reason and its last words, and the run goes on
//! with the others (issue 4: "a broken engine gives an error row and the run goes on").

#![allow(missing_docs, reason = "a test crate has no callers")]
#![allow(clippy::unwrap_used, reason = "a panic in a test is its report")]

mod support;

use std::io::{Read, Write};
use std::net::TcpListener;

use support::{Rig, assert_clean, assert_success};
use zeolite_bench::record::Record;
use zeolite_loadgen::report::Status;

/// Answers the harness' handshake and ends when the load comes.
///
/// Not a test: the engine `dies` runs it in a process of its own.
#[test]
fn relay_that_dies() {
    let Ok(port) = std::env::var("DYING_RELAY_PORT") else { return };
    let listener = TcpListener::bind(format!("127.0.0.1:{port}")).unwrap();
    let (mut probe, _) = listener.accept().unwrap();
    probe.read_exact(&mut [0; 16]).unwrap();
    probe.write_all(b"HTTP/1.1 101 Switching Protocols\r\n\r\n").unwrap();
    let _load = listener.accept().unwrap();
    eprintln!("the disk is on fire");
    std::process::exit(9);
}

fn row<'a>(rows: &'a [Record], engine: &str) -> &'a Record {
    let mut own = rows.iter().filter(|row| row.engine.name == engine);
    let row = own.next().unwrap_or_else(|| panic!("no row of {engine}"));
    assert!(own.next().is_none(), "two rows of {engine}");
    row
}

#[test]
fn broken_engines_are_rows_and_the_run_goes_on() {
    let rig = Rig::new();
    let test = std::env::current_exe().unwrap();
    let test = test.display();
    rig.engine("exits", "echo no license >&2; exit 7");
    rig.engine("sleeps", "exec sleep 60");
    rig.engine(
        "dies",
        &format!("DYING_RELAY_PORT={{port}} exec {test} --exact relay_that_dies --nocapture"),
    );
    rig.good_engine("good");
    rig.scenario(30, 200);
    let output = rig.command(&["exits", "sleeps", "dies", "good"]).output().unwrap();
    assert_success(&output);

    let results = rig.results();
    let check = |engine: &str, expected: &[&str]| {
        let row = row(&results.rows, engine);
        let text = format!("{}\n{}", row.reason().unwrap(), row.stderr.as_deref().unwrap_or(""));
        assert_eq!((row.report.case.as_str(), row.report.status), ("n=3", Status::Error), "{text}");
        for part in expected {
            assert!(text.contains(part), "{engine}: {text}");
        }
    };
    check("exits", &["did not start", "exit status: 7", "no license"]);
    check("sleeps", &["not ready after 2 s"]);
    check("dies", &["the relay died: exit status: 9", "the disk is on fire"]);
    let good = row(&results.rows, "good");
    assert_eq!(good.reason(), None);
    assert!(good.report.latencies["delivery"].count == 30);

    let page = rig.page();
    assert!(
        page.contains("| n=3 | exits | **error**: the relay did not start: exit status: 7 |"),
        "{page}"
    );
    assert!(page.contains("| n=3 | good | "));
    assert_clean(&rig.path("out"));
}

/// An engine without an import command is filled over sockets, and one that takes nothing says so.
#[test]
fn engines_without_an_import_are_filled_over_sockets() {
    let rig = Rig::new();
    rig.engine("shuts", "echo no room >&2; exit 7");
    let boots = rig.path("boots");
    let serve = format!("exec {} load null-server --listen 127.0.0.1:{{port}}", support::BENCH);
    rig.engine("good", &format!("echo up >> {}; {serve}", boots.display()));
    let text = "name = 'tiny'\ntitle = 'Tiny'\ntimeout_s = 30\nrounds = 1\nanalysis = 'None.'\n\
                corpus = { shape = 'classic-v1', events = 300, import = true }\n\
                [[run]]\nargs = ['run', 'fanout-scaling', '--url', '{url}', '--pid', '{pid}', \
                '--subscribers', '3', '--events', '30', '--rate', '200', '--silence-s', '3']\n\
                expect = { 'n=3' = { deliveries = '30' } }\n";
    std::fs::write(rig.path("tiny.toml"), text).unwrap();
    let output = rig.command(&["shuts", "good"]).output().unwrap();
    assert_success(&output);
    let results = rig.results();
    assert_eq!(row(&results.rows, "good").reason(), None);
    // Once to be filled, once to be measured.
    assert_eq!(std::fs::read_to_string(boots).unwrap(), "up\nup\n");
    let reason = row(&results.rows, "shuts").reason().unwrap();
    assert!(reason.contains("the relay did not start: exit status: 7"), "{reason}");
    assert_clean(&rig.path("out"));
}

#[test]
fn an_absent_engine_is_skipped_by_name() {
    let rig = Rig::new();
    rig.good_engine("good");
    rig.engine("absent", "true");
    let file = rig.path("absent.engine.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("program = 'sh'", "program = 'no-such-relay'")).unwrap();
    rig.scenario(10, 200);
    assert_success(&rig.command(&["good", "absent"]).output().unwrap());
    let expected = "- absent: no-such-relay is not on PATH and NO_SUCH_VARIABLE is not set";
    assert!(rig.page().contains(expected));
    assert_eq!(rig.results().rows.len(), 1);
}

/// Guards the definition's expected counts: a driver that checked against another number has not
/// passed.
#[test]
fn a_row_must_have_expected_what_the_definition_says() {
    let rig = Rig::new();
    rig.good_engine("good");
    rig.scenario(10, 200);
    let file = rig.path("tiny.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("deliveries = '10'", "deliveries = '11'")).unwrap();
    assert_success(&rig.command(&["good"]).output().unwrap());
    let reason = rig.results().rows[0].reason().unwrap();
    assert_eq!(reason, "deliveries was checked against 10, not 11");
}
