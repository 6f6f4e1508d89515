//! `stats`: what the store holds and what it costs.

use zeolite_store::Stats;

use super::store::open_to_read;
use super::{Exit, output};
use crate::config::Config;

/// Runs the command.
pub(crate) fn run(config: &Config) -> anyhow::Result<Exit> {
    let stats = open_to_read(config)?.stats()?;
    output::print(render(&stats))?;
    Ok(Exit::Done)
}

/// One figure a line, its name first, so that a script finds it.
fn render(stats: &Stats) -> String {
    let mut lines = vec![
        format!("events {}", stats.events),
        format!("events.regular {}", stats.regular),
        format!("events.replaceable {}", stats.replaceable),
        format!("events.addressable {}", stats.addressable),
        format!("last_seq {}", stats.last_seq),
        format!("indexed_through {}", stats.indexed_through),
        format!("head.events {}", stats.head_events),
        format!("head.bytes {}", stats.head_bytes),
        format!("graveyard.events {}", stats.graveyard_events),
        format!("archived.events {}", stats.archived_events),
        format!("stored.bytes {}", stats.stored_bytes),
        format!("file.bytes {}", stats.file_bytes),
        format!("file.free_bytes {}", stats.free_bytes),
        format!("file.bytes_per_event {:.1}", stats.file_bytes_per_event()),
        format!("map.bytes {}", stats.map_bytes),
    ];
    for table in &stats.tables {
        lines.push(format!("table.{}.entries {}", table.name, table.entries));
        lines.push(format!("table.{}.bytes {}", table.name, table.bytes));
    }
    lines.extend(stats.kinds.iter().map(|(kind, count)| format!("kind.{kind} {count}")));
    lines.join("\n")
}
