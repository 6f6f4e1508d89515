//! Whether engines gave the same answers to the same questions.

use zeolite_loadgen::report::ResultIds;

use crate::report::{Group, put};

/// The section on answers that differ.
pub(super) fn section(groups: &[Group<'_>]) -> String {
    let mut cases: Vec<&str> = groups.iter().map(|group| group.case).collect();
    cases.dedup();
    let (mut compared, mut differing) = (0, String::new());
    for case in cases {
        let answers: Vec<(&str, &ResultIds)> = groups
            .iter()
            .filter(|group| group.case == case)
            .filter_map(|group| {
                let answer = group.rows.iter().find_map(|row| row.report.results.as_ref())?;
                Some((group.engine, answer))
            })
            .collect();
        let Some(((reference, first), others)) = answers.split_first() else { continue };
        compared += usize::from(!others.is_empty());
        for (engine, answer) in others {
            if let Some(difference) = difference(first, answer) {
                put(
                    &mut differing,
                    format_args!("- {case}: {engine} and {reference}: {difference}\n"),
                );
            }
        }
    }
    match (compared, differing.is_empty()) {
        (0, _) => String::new(),
        (_, true) => {
            format!("\nAnswers compared for {compared} questions: all engines gave the same ids.\n")
        }
        (_, false) => {
            format!("\nAnswers compared for {compared} questions; these differ:\n\n{differing}")
        }
    }
}

/// How two answers differ, order aside.
fn difference(a: &ResultIds, b: &ResultIds) -> Option<String> {
    if a.fingerprint == b.fingerprint && a.count == b.count {
        return None;
    }
    if a.ids.is_empty() || b.ids.is_empty() {
        return Some(format!("{} ids against {}", b.count, a.count));
    }
    let more = |a: &ResultIds, b: &ResultIds| a.ids.iter().filter(|id| !b.ids.contains(id)).count();
    Some(format!(
        "{} ids against {}, {} only in the one, {} only in the other",
        b.count,
        a.count,
        more(b, a),
        more(a, b)
    ))
}
