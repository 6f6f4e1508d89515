//! The effective configuration as TOML, and the reference of all keys.

use std::fmt::Write;

use super::Config;
use super::keys::KEYS;
use super::mirror::MIRROR_KEYS;
use super::policy::{KIND_KEYS, KindDraft};
use super::resolve::Resolved;
use super::retention::{RETENTION_KEYS, RetentionDraft};
use super::tables::TableKey;

impl Resolved {
    /// The configuration as a file that gives the same one, with the source of each value.
    pub fn to_toml(&self) -> String {
        let mut out = String::new();
        let mut table = "";
        for (key, source) in KEYS.iter().zip(&self.sources) {
            let (new_table, leaf) = key.name.split_once('.').unwrap_or(("", key.name));
            if new_table != table {
                table = new_table;
                push(&mut out, format_args!("\n[{table}]\n"));
            }
            match (key.show)(&self.config) {
                Some(value) => push(&mut out, format_args!("{leaf} = {value} # {source}\n")),
                None => push(&mut out, format_args!("# {leaf} is not set\n")),
            }
        }
        for mirror in &self.config.mirrors {
            push_table(&mut out, "mirror", MIRROR_KEYS, &mirror.to_draft());
        }
        for (kind, rule) in &self.config.policy.rules.kinds {
            push_table(&mut out, "kind", KIND_KEYS, &KindDraft::of(*kind, *rule));
        }
        for rule in &self.config.policy.rules.retention.rules {
            push_table(&mut out, "retention", RETENTION_KEYS, &RetentionDraft::of(rule.clone()));
        }
        out
    }
}

/// The reference of all keys as a Markdown table, as it stands in `docs/operations.md`.
pub fn reference() -> String {
    let mut out = String::from("| key | default | accepts | meaning |\n|---|---|---|---|\n");
    let config = Config::default();
    for key in KEYS {
        let default =
            (key.show)(&config).map_or("not set".to_owned(), |value| format!("`{value}`"));
        let accepts = (key.accepts)();
        push(&mut out, format_args!("| `{}` | {default} | {accepts} | {} |\n", key.name, key.help));
    }
    push_reference(&mut out, "mirror", MIRROR_KEYS);
    push_reference(&mut out, "kind", KIND_KEYS);
    push_reference(&mut out, "retention", RETENTION_KEYS);
    out
}

fn push_table<Draft>(out: &mut String, name: &str, keys: &[TableKey<Draft>], draft: &Draft) {
    push(out, format_args!("\n[[{name}]]\n"));
    for key in keys {
        if let Some(value) = (key.show)(draft) {
            push(out, format_args!("{} = {value}\n", key.name));
        }
    }
}

fn push_reference<Draft: Default>(out: &mut String, table: &str, keys: &[TableKey<Draft>]) {
    let draft = Draft::default();
    for key in keys {
        let default = (key.show)(&draft).map_or("not set".to_owned(), |value| format!("`{value}`"));
        let (name, accepts, help) = (key.name, (key.accepts)(), key.help);
        push(out, format_args!("| `{table}.{name}` | {default} | {accepts} | {help} |\n"));
    }
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to a string cannot fail");
}
