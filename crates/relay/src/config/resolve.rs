//! From flags, environment and file to one configuration, or to every reason why not.

use std::fmt;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Config;
use super::form::Given;
use super::keys::{KEYS, Key, PREFIX, contradictions};
use super::mirror::{MIRROR_KEYS, MirrorDraft};
use super::policy::{KIND_KEYS, KindDraft};
use super::retention::{RETENTION_KEYS, RetentionDraft};
use super::tables::TableKey;

/// Where a value came from. Later variants win over earlier ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Nobody set it.
    Default,
    /// The configuration file.
    File {
        /// The file as it was named.
        path: String,
        /// The line, from 1.
        line: usize,
    },
    /// An environment variable.
    Environment(String),
    /// A flag of the command line.
    Flag(String),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{path}:{line}"),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::Flag(name) => write!(f, "flag {name}"),
        }
    }
}

/// What the layers above the defaults say, as text.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    /// The configuration file: its name and its content.
    pub file: Option<(String, String)>,
    /// The environment. Names that do not begin with `ZEOLITE_` are not looked at.
    pub environment: Vec<(String, String)>,
    /// Flags: the key, the flag's name, the value.
    pub flags: Vec<(String, String, String)>,
}

/// Variables with our prefix that are not keys. The rest is refused, since a misspelt variable
/// would silently leave a default in place.
///
/// `CONFIG` names the file; the others set the seeds of tests and benchmarks.
pub const OTHER_VARIABLES: &[&str] =
    &["ZEOLITE_ADMIN_KEY", "ZEOLITE_CONFIG", "ZEOLITE_SEED", "ZEOLITE_SEEDS"];

/// A configuration, and where each of its values came from.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The values.
    pub config: Config,
    /// One source per key, in the order of the table.
    pub(super) sources: Vec<Source>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{source_text}: {what}")]
pub struct Fault {
    source_text: String,
    what: String,
}

/// Everything that is wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError(pub Vec<Fault>);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the configuration is not usable")?;
        self.0.iter().try_for_each(|fault| write!(f, "\n  {fault}"))
    }
}

/// Applies the layers over the defaults: flags win over the environment, the environment over
/// the file. All faults are reported at once, and a fault in a layer counts even where a higher
/// layer overrides it.
pub fn resolve(layers: Layers) -> Result<Resolved, ConfigError> {
    let mut resolver = Resolver {
        config: Config::default(),
        sources: vec![Source::Default; KEYS.len()],
        faults: Vec::new(),
    };
    if let Some((path, text)) = &layers.file {
        resolver.file(path, text);
    }
    resolver.environment(layers.environment);
    for (key, flag, value) in layers.flags {
        resolver.flag(&key, flag, value);
    }
    resolver.finish()
}

struct Resolver {
    config: Config,
    sources: Vec<Source>,
    faults: Vec<Fault>,
}

impl Resolver {
    fn fault(&mut self, source: impl fmt::Display, what: String) {
        self.faults.push(Fault { source_text: source.to_string(), what });
    }

    fn set(&mut self, position: usize, given: &Given, source: Source) {
        let key = &KEYS[position];
        match (key.set)(&mut self.config, given) {
            Ok(()) => self.sources[position] = source,
            Err(why) => self.fault(source, format!("{} {why}", key.name)),
        }
    }

    fn environment(&mut self, mut variables: Vec<(String, String)>) {
        variables.sort();
        for (name, value) in variables {
            if !name.starts_with(PREFIX) || OTHER_VARIABLES.contains(&name.as_str()) {
                continue;
            }
            let source = Source::Environment(name.clone());
            match KEYS.iter().position(|key| key.variable() == name) {
                Some(position) => self.set(position, &Given::Text(value), source),
                None => self.fault(source, "no such setting".to_owned()),
            }
        }
    }

    fn flag(&mut self, key: &str, flag: String, value: String) {
        match find(key) {
            Some(position) => self.set(position, &Given::Text(value), Source::Flag(flag)),
            None => self.fault(Source::Flag(flag), unknown(key)),
        }
    }

    fn file(&mut self, path: &str, text: &str) {
        let line = |span: Range<usize>| Source::File {
            path: path.to_owned(),
            line: text[..span.start.min(text.len())].matches('\n').count() + 1,
        };
        let table = match DeTable::parse(text) {
            Ok(table) => table,
            Err(error) => {
                let source = line(error.span().unwrap_or(0..0));
                return self.fault(source, error.message().to_owned());
            }
        };
        let mut entries = Vec::new();
        let mut table = table.into_inner();
        let mirrors = self.tables("mirror", MIRROR_KEYS, table.remove("mirror"), &line);
        self.mirrors(mirrors);
        let kinds = self.tables("kind", KIND_KEYS, table.remove("kind"), &line);
        self.kinds(kinds);
        let retention = table.remove("retention");
        let rules = self.tables("retention", RETENTION_KEYS, retention, &line);
        self.retention(rules);
        flatten("", &table, &mut entries);
        entries.sort_by_key(|entry| entry.at.start);
        for Entry { name, at, given } in entries {
            match (find(&name), given) {
                (Some(position), given) => self.set(position, &given, line(at)),
                (None, _) => self.fault(line(at), unknown(&name)),
            }
        }
    }

    /// Takes the `[[mirror]]` tables.
    fn mirrors(&mut self, drafts: Vec<(Source, MirrorDraft)>) {
        for (source, draft) in drafts {
            match draft.finish() {
                Ok(mirror) if self.config.mirrors.iter().any(|m| m.name == mirror.name) => {
                    self.fault(source, format!("mirror.name {:?} is there twice", mirror.name));
                }
                Ok(mirror) => self.config.mirrors.push(mirror),
                Err(why) => self.fault(source, format!("mirror: {why}")),
            }
        }
    }

    /// Takes the `[[kind]]` tables.
    fn kinds(&mut self, drafts: Vec<(Source, KindDraft)>) {
        for (source, draft) in drafts {
            match draft.finish() {
                Ok((kind, rule)) => {
                    if self.config.policy.rules.kinds.insert(kind, rule).is_some() {
                        self.fault(source, format!("kind.kind {kind} is there twice"));
                    }
                }
                Err(why) => self.fault(source, format!("kind: {why}")),
            }
        }
    }

    /// Takes the `[[retention]]` tables, whose order matters.
    fn retention(&mut self, drafts: Vec<(Source, RetentionDraft)>) {
        for (source, draft) in drafts {
            match draft.finish() {
                Ok(rule) => self.config.policy.rules.retention.rules.push(rule),
                Err(why) => self.fault(source, format!("retention: {why}")),
            }
        }
    }

    /// Reads an array of tables; those with faults are left out.
    fn tables<Draft: Default>(
        &mut self,
        name: &str,
        keys: &[TableKey<Draft>],
        array: Option<Spanned<DeValue<'_>>>,
        line: &impl Fn(Range<usize>) -> Source,
    ) -> Vec<(Source, Draft)> {
        let mut drafts = Vec::new();
        let Some(array) = array else { return drafts };
        let no_array = || format!("{name} must be written as [[{name}]]");
        let at = array.span();
        let DeValue::Array(tables) = array.into_inner() else {
            self.fault(line(at), no_array());
            return drafts;
        };
        for table in tables {
            let at = table.span();
            let DeValue::Table(table) = table.into_inner() else {
                self.fault(line(at), no_array());
                continue;
            };
            let before = self.faults.len();
            let draft = self.table(name, keys, &table, line);
            if self.faults.len() == before {
                drafts.push((line(at), draft));
            }
        }
        drafts
    }

    fn table<Draft: Default>(
        &mut self,
        table_name: &str,
        keys: &[TableKey<Draft>],
        table: &DeTable<'_>,
        line: &impl Fn(Range<usize>) -> Source,
    ) -> Draft {
        let mut draft = Draft::default();
        for (key, value) in table {
            let name = key.get_ref();
            let result = match keys.iter().find(|known| known.name == name) {
                Some(known) => (known.set)(&mut draft, &given(value.get_ref()))
                    .map_err(|why| format!("{table_name}.{name} {why}")),
                None => Err(format!("unknown key {table_name}.{name}")),
            };
            if let Err(why) = result {
                self.fault(line(key.span()), why);
            }
        }
        draft
    }

    fn finish(mut self) -> Result<Resolved, ConfigError> {
        if self.faults.is_empty() {
            for (key, why) in contradictions(&self.config) {
                let source = find(key).map_or(Source::Default, |at| self.sources[at].clone());
                self.fault(source, format!("{key} {why}"));
            }
        }
        if self.faults.is_empty() {
            Ok(Resolved { config: self.config, sources: self.sources })
        } else {
            Err(ConfigError(self.faults))
        }
    }
}

fn find(name: &str) -> Option<usize> {
    KEYS.iter().position(|key| key.name == name)
}

/// Refuses a key that is not in the table, with the one that was probably meant.
fn unknown(name: &str) -> String {
    let leaf = |name: &str| name.rsplit('.').next().map(str::to_owned);
    let near = KEYS.iter().find(|key| leaf(key.name) == leaf(name));
    let hint = |key: &Key| format!("; did you mean {}?", key.name);
    format!("unknown key {name}{}", near.map(hint).unwrap_or_default())
}

struct Entry {
    name: String,
    at: Range<usize>,
    given: Given,
}

/// Lists the values of nested tables under their dotted names.
fn flatten(prefix: &str, table: &DeTable<'_>, entries: &mut Vec<Entry>) {
    for (key, value) in table {
        let name = format!("{prefix}{}", key.get_ref());
        match value.get_ref() {
            DeValue::Table(table) if find(&name).is_none() && !table.is_empty() => {
                flatten(&format!("{name}."), table, entries);
            }
            // An empty table of a known name sets nothing.
            DeValue::Table(_) if KEYS.iter().any(|key| is_inside(key.name, &name)) => {}
            value => entries.push(Entry { name, at: key.span(), given: given(value) }),
        }
    }
}

fn is_inside(key: &str, table: &str) -> bool {
    key.strip_prefix(table).is_some_and(|rest| rest.starts_with('.'))
}

fn given(value: &DeValue<'_>) -> Given {
    let texts = |array: &toml::de::DeArray<'_>| {
        array.iter().map(|entry| entry_text(entry.get_ref())).collect()
    };
    match value {
        DeValue::String(text) => Given::Text(text.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or(Given::Other("number"), Given::Whole),
        DeValue::Boolean(on) => Given::Switch(*on),
        DeValue::Array(array) => match texts(array) {
            Some(texts) => Given::List(texts),
            None => Given::Other("array"),
        },
        value => Given::Other(value.type_str()),
    }
}

/// An entry of a list as text: what it must be is for the key to say.
fn entry_text(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
        _ => None,
    }
}
