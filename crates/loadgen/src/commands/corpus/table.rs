//! What is in a corpus, for people to read.

use std::fmt::Write;

use crate::corpus::{Counts, EffectiveSet};

/// A few lines of totals, a table of kinds, and what becomes of the events.
pub(super) fn of(counts: &Counts, set: &EffectiveSet, faults: u64) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write_all(&mut text, counts, set, faults);
    text
}

fn mean(sum: u64, count: u64) -> f64 {
    sum as f64 / count.max(1) as f64
}

fn write_all(
    out: &mut String,
    counts: &Counts,
    set: &EffectiveSet,
    faults: u64,
) -> std::fmt::Result {
    let events = counts.events;
    let mut row = |name: &str, value: String| writeln!(out, "{name:<16} {value}");
    row("events", format!("{events}, and {faults} texts that are none"))?;
    row("bytes", format!("{}, mean {:.1}", counts.bytes, mean(counts.bytes, events)))?;
    row("sizes", format!("{} (p50, p90, p99, p99.9, max)", list(&counts.size_percentiles)))?;
    row("tags", format!("{}, mean {:.2}", counts.tags, mean(counts.tags, events)))?;
    row("letter tags", letters(counts))?;
    row(
        "tags, one event",
        format!("{} (p50, p90, p99, p99.9, max)", list(&counts.tag_percentiles)),
    )?;
    row("authors", counts.authors.to_string())?;
    row("time", format!("{} to {}, {} s", counts.first, counts.last, counts.last - counts.first))?;
    row("ties", format!("{}, most in one second {}", counts.ties, counts.second_max))?;
    row("out of order", counts.out_of_order.to_string())?;
    row("addresses", addresses(counts))?;
    row("deletions", deletions(counts))?;
    row("expiration", format!("{} passed, {} to come", counts.expired, counts.expiring))?;
    row("vanish requests", counts.vanishes.to_string())?;
    row("ephemeral", counts.ephemeral.to_string())?;
    row("beyond ASCII", counts.beyond_ascii.to_string())?;
    row("effective set", format!("{}, fingerprint {}", set.len(), set.fingerprint()))?;
    write_kinds(out, counts)?;
    writeln!(out, "\n{:<18} {:>9}", "fate", "events")?;
    for (fate, count) in set.fates() {
        writeln!(out, "{:<18} {count:>9}", format!("{fate:?}"))?;
    }
    Ok(())
}

fn write_kinds(out: &mut String, counts: &Counts) -> std::fmt::Result {
    writeln!(out, "\n{:>6} {:>9} {:>7} {:>9}", "kind", "events", "share", "mean B")?;
    for (kind, &(events, bytes)) in &counts.kinds {
        let share = 100.0 * mean(events, counts.events);
        writeln!(out, "{kind:>6} {events:>9} {share:>6.2}% {:>9.0}", mean(bytes, events))?;
    }
    Ok(())
}

fn list(percentiles: &[u64]) -> String {
    let texts: Vec<_> = percentiles.iter().map(u64::to_string).collect();
    texts.join(", ")
}

fn letters(counts: &Counts) -> String {
    let mean = mean(counts.letter_tags, counts.events);
    format!("{}, mean {mean:.2}, longest value {} B", counts.letter_tags, counts.letter_value_max)
}

fn addresses(counts: &Counts) -> String {
    let Counts { addresses, versions, versions_max, .. } = counts;
    format!("{addresses}, versions {versions}, most of one {versions_max}")
}

fn deletions(counts: &Counts) -> String {
    format!(
        "{}; targets by id: {} before, {} behind, {} foreign, {} absent; by address: {}",
        counts.deletions,
        counts.targets_before,
        counts.targets_after,
        counts.targets_foreign,
        counts.targets_absent,
        counts.targets_by_address,
    )
}
