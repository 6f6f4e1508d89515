//! What happens to questions when a child behaves, and when it does not (case 63).

use super::*;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn id(number: u8) -> EventId {
    EventId([number; 32])
}

/// What happens, at a time.
enum Step {
    Ask(u8),
    Answer(u8, &'static str),
    Line(&'static str),
    Died,
    Reload,
    Tick,
}

use Step::{Answer, Ask, Died, Line, Reload, Tick};

/// The effects of all steps, as words: `start`, `write 1 2`, `kill`, `1 accept`, `late`.
fn run(fail: FailMode, steps: &[(u64, Step)]) -> Vec<String> {
    let settings = PluginSettings { pending_max: 3, answer_max: ms(1_000), fail };
    let mut desk = PluginDesk::new(settings);
    let mut words = Vec::new();
    for (at, step) in steps {
        let now = ms(*at);
        match step {
            Ask(number) => {
                desk.ask(now, u64::from(*number), id(*number), format!("{number} ").into_bytes());
            }
            Answer(number, action) => {
                let line = format!(r#"{{"id":"{}","action":"{action}"}}"#, id(*number));
                desk.answered(now, line.as_bytes());
            }
            Line(line) => desk.answered(now, line.as_bytes()),
            Died => desk.died(now),
            Reload => desk.reload(now),
            Tick => desk.tick(now),
        }
        words.extend(std::iter::from_fn(|| desk.poll()).map(word));
    }
    words
}

fn word(effect: PluginEffect) -> String {
    match effect {
        PluginEffect::Start => "start".into(),
        PluginEffect::Kill => "kill".into(),
        PluginEffect::Write(lines) => {
            format!("write {}", String::from_utf8_lossy(&lines).trim_end())
        }
        PluginEffect::Fault(fault) => format!("{fault:?}").to_lowercase(),
        PluginEffect::Ruled { token, ruling: Ruling::Accept } => format!("{token} accept"),
        PluginEffect::Ruled { token, ruling: Ruling::ShadowReject } => format!("{token} shadow"),
        PluginEffect::Ruled { token, ruling: Ruling::Reject(reason) } => {
            format!("{token} {}", reason.prefix.as_str())
        }
    }
}

fn check(fail: FailMode, steps: &[(u64, Step)], expected: &[&str]) {
    assert_eq!(run(fail, steps), expected);
}

#[test]
fn questions_are_pipelined_up_to_a_bound() {
    check(
        FailMode::Closed,
        &[
            (0, Ask(1)),
            (0, Ask(2)),
            (0, Ask(3)),
            (0, Ask(4)),
            (0, Ask(5)),
            (1, Answer(1, "accept")),
            (2, Answer(2, "reject")),
            (3, Answer(3, "shadowReject")),
        ],
        &[
            "start",
            "write 1",
            "write 2",
            "write 3",
            "1 accept",
            "write 4",
            "2 blocked",
            "write 5",
            "3 shadow",
        ],
    );
}

/// Answers out of order go where they belong; what nobody asked is ignored.
#[test]
fn answers_are_matched_by_id() {
    check(
        FailMode::Closed,
        &[
            (0, Ask(1)),
            (0, Ask(2)),
            (1, Answer(2, "accept")),
            (1, Answer(9, "accept")),
            (1, Answer(2, "accept")),
            (1, Answer(1, "accept")),
        ],
        &["start", "write 1", "write 2", "2 accept", "unasked", "unasked", "1 accept"],
    );
}

/// A child that stops: everything it was asked, and what waits, is decided without it, and a new
/// one is started after a pause that grows as long as no answer comes.
#[test]
fn a_silent_child_is_replaced() {
    let steps = || {
        [
            (0, Ask(1)),
            (500, Ask(2)),
            (500, Ask(3)),
            (500, Ask(4)),
            (999, Tick),
            (1_000, Tick),
            (1_050, Ask(5)),
            (1_100, Ask(6)),
            (2_100, Tick),
            (2_299, Ask(7)),
            (2_300, Ask(8)),
            (2_301, Answer(8, "accept")),
            (2_302, Died),
            (2_401, Ask(9)),
            (2_402, Ask(10)),
        ]
    };
    check(
        FailMode::Closed,
        &steps(),
        &[
            "start", "write 1", "write 2", "write 3", "late", "kill", "1 error", "2 error",
            "3 error", "4 error", "5 error", "start", "write 6", "late", "kill", "6 error",
            "7 error", "start", "write 8", "8 accept", "died", "kill", "9 error", "start",
            "write 10",
        ],
    );
    let open = run(FailMode::Open, &steps());
    assert!(!open.iter().any(|word| word.ends_with("error")));
    assert_eq!(open.iter().filter(|word| word.ends_with("accept")).count(), 9);
}

/// Garbage, and a child that ends, are the same as silence without the wait.
#[test]
fn garbage_and_death_are_not_waited_for() {
    for (step, fault) in [(Line("Traceback:"), "garbage"), (Line("{}"), "garbage"), (Died, "died")]
    {
        let steps = [(0, Ask(1)), (1, step), (2, Answer(1, "accept")), (200, Ask(2))];
        let expected = ["start", "write 1", fault, "kill", "1 error", "start", "write 2"];
        check(FailMode::Closed, &steps, &expected);
    }
}

/// A program that changed is started anew between two questions, and no answer is lost.
#[test]
fn a_changed_program_takes_over() {
    check(
        FailMode::Closed,
        &[
            (0, Reload),
            (0, Ask(1)),
            (1, Reload),
            (1, Ask(2)),
            (2, Answer(1, "accept")),
            (3, Answer(2, "accept")),
            (4, Reload),
            (5, Ask(3)),
        ],
        &[
            "start", "write 1", "1 accept", "kill", "start", "write 2", "2 accept", "kill",
            "start", "write 3",
        ],
    );
}

/// A child that answers nothing while it is to be replaced is late as any other.
#[test]
fn a_child_that_leaves_can_be_late() {
    check(
        FailMode::Open,
        &[(0, Ask(1)), (1, Reload), (1, Ask(2)), (1_000, Tick)],
        &["start", "write 1", "late", "kill", "1 accept", "2 accept"],
    );
}
