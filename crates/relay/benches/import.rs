//! Import and export of one file, by the program itself: new events with and without
//! verification, the same file again, and back out.
//!
//! `cargo bench -p zeolite-relay --bench import [-- --short] [-- --events N]`

#![allow(clippy::print_stdout, reason = "a benchmark reports")]

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use zeolite_testkit::Factory;

/// Runs of each measurement; the median is quoted with minimum and maximum.
const RUNS: usize = 3;

const EVENTS: u64 = 200_000;
const EVENTS_SHORT: u64 = 5_000;

/// Bytes of an event, the mean of the shape that published figures use.
const EVENT_BYTES: usize = 740;

/// Authors; most events are by few of them.
const AUTHORS: u64 = 2_000;

fn main() {
    let arguments: Vec<_> = std::env::args().collect();
    let after = |flag: &str| arguments.iter().skip_while(|a| *a != flag).nth(1);
    let is_short = arguments.iter().any(|argument| argument == "--short");
    let default = if is_short { EVENTS_SHORT } else { EVENTS };
    let events = after("--events").map_or(default, |text| text.parse().expect("--events N"));

    let dir = tempfile::tempdir().expect("a directory can be made");
    let corpus = dir.path().join("events.ndjson");
    write_corpus(&corpus, events);
    println!("{events} events of {EVENT_BYTES} bytes, median (min..max) of {RUNS} runs, durable\n");
    println!("| what | events/s | CPU us/event |\n|---|---|---|");

    let runs = || (0..RUNS).map(|run| dir.path().join(format!("store-{run}")));
    let import = |db: &Path, flags: &[&str], expected: &str| {
        let mut command = program(db);
        let measured = run(command.arg("import").args(flags).arg(&corpus));
        let wanted = format!("{events} {expected}");
        let said = measured.stderr.lines().any(|line| line.trim() == wanted);
        assert!(said, "no {wanted:?} in {}", measured.stderr);
        measured
    };
    let fresh = |flags: &[&str]| -> Vec<_> {
        runs()
            .map(|db| {
                let _ = std::fs::remove_dir_all(&db);
                import(&db, flags, "stored")
            })
            .collect()
    };
    report("import, not verified", events, fresh(&["--no-verify"]));
    report("import, verified", events, fresh(&[]));
    report("import again", events, runs().map(|db| import(&db, &[], "duplicate")).collect());
    let exports = runs().map(|db| {
        let out = db.with_extension("ndjson");
        let measured = run(program(&db).arg("export").arg("--out").arg(&out));
        assert_eq!(measured.stderr.trim(), format!("{events} events exported"));
        measured
    });
    report("export", events, exports.collect());
}

fn write_corpus(path: &Path, events: u64) {
    let mut factory = Factory::new(7);
    let mut out = BufWriter::new(File::create(path).expect("a file can be made"));
    for number in 0..events {
        // Squares of a uniform choice: a tenth of the authors write a third of the events.
        let pick = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let author = (((pick * pick) >> 32) * AUTHORS) >> 32;
        let other = factory.pubkey((pick % AUTHORS) as usize);
        let target = format!("{:064x}", pick % 50_000);
        let kind = [1, 1, 1, 1, 6, 7, 7, 7][(pick % 8) as usize];
        let draft = factory.draft(author as usize).kind(kind).at(1_700_000_000 + number);
        let draft = draft.tag(&["e", &target]).tag(&["p", &other]).tag(&["t", "zeolite"]);
        writeln!(out, "{}", draft.padded_to(EVENT_BYTES).json()).expect("a file can be written");
    }
    out.flush().expect("a file can be written");
}

fn program(db: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_zeolite-relay"));
    command.arg("--db").arg(db).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

struct Measured {
    wall: Duration,
    cpu: Duration,
    stderr: String,
}

fn run(command: &mut Command) -> Measured {
    let before = children_cpu();
    let start = Instant::now();
    let output = command.output().expect("the program runs");
    let wall = start.elapsed();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{stderr}");
    Measured { wall, cpu: children_cpu() - before, stderr }
}

/// User and system time of all children that have ended, from /proc.
fn children_cpu() -> Duration {
    const TICK: Duration = Duration::from_millis(10);
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux has it");
    let fields = stat.rsplit(')').next().expect("a name in parentheses");
    let ticks: u32 = fields.split_whitespace().skip(13).take(2).flat_map(str::parse::<u32>).sum();
    TICK * ticks
}

fn report(what: &str, events: u64, mut runs: Vec<Measured>) {
    runs.sort_by_key(|run| run.wall);
    let rate = |run: &Measured| events as f64 / run.wall.as_secs_f64();
    let median = &runs[RUNS / 2];
    let cpu_us = median.cpu.as_secs_f64() * 1e6 / events as f64;
    let (least, most) = (rate(&runs[RUNS - 1]), rate(&runs[0]));
    println!("| {what} | {:.0} ({least:.0}..{most:.0}) | {cpu_us:.1} |", rate(median));
}
