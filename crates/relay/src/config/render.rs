//! The effective configuration as TOML, and the reference of all keys.

use std::fmt::Write;

use super::Config;
use super::keys::KEYS;
use super::mirror::{MIRROR_KEYS, MirrorDraft};
use super::resolve::Resolved;

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
            push(&mut out, format_args!("\n[[mirror]]\n"));
            let draft = mirror.to_draft();
            for key in MIRROR_KEYS {
                if let Some(value) = (key.show)(&draft) {
                    push(&mut out, format_args!("{} = {value}\n", key.name));
                }
            }
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
    let draft = MirrorDraft::default();
    for key in MIRROR_KEYS {
        let default = (key.show)(&draft).map_or("not set".to_owned(), |value| format!("`{value}`"));
        let (name, accepts, help) = (key.name, (key.accepts)(), key.help);
        push(&mut out, format_args!("| `mirror.{name}` | {default} | {accepts} | {help} |\n"));
    }
    out
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to a string cannot fail");
}
