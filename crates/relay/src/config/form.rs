//! The forms that a configured value can have: how it is read, refused, shown and described.

use std::fmt::Display;
use std::net::SocketAddr;
use std::path::PathBuf;

/// A value as it was given, before its key says what it must be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Given {
    /// A TOML integer.
    Whole(i64),
    /// A TOML string, an environment variable or a flag.
    Text(String),
    /// A TOML boolean.
    Switch(bool),
    /// A TOML array of strings or integers, as texts.
    List(Vec<String>),
    /// Anything else, by the name of its type.
    Other(&'static str),
}

/// What a key accepts.
pub(crate) trait Form {
    type Value;

    /// Reads a value or says, as the end of "`key` ...", why it cannot be one.
    fn read(&self, given: &Given) -> Result<Self::Value, String>;
    /// The value in TOML; `None` for one that is only ever left out.
    fn show(&self, value: &Self::Value) -> Option<String>;
    /// What is accepted, for people.
    fn accepts(&self) -> String;
}

fn text(given: &Given) -> Option<&str> {
    match given {
        Given::Text(text) => Some(text.trim()).filter(|text| !text.is_empty()),
        _ => None,
    }
}

/// A TOML basic string.
pub(super) fn quote(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// An integer from `min` to `max`.
pub(super) struct Whole<T> {
    pub(super) min: T,
    pub(super) max: T,
}

impl<T: Copy + Display + PartialOrd + TryFrom<i128>> Form for Whole<T> {
    type Value = T;

    fn read(&self, given: &Given) -> Result<T, String> {
        let number: Option<i128> = match given {
            Given::Whole(number) => Some((*number).into()),
            given => text(given).and_then(|text| text.replace('_', "").parse().ok()),
        };
        number
            .and_then(|number| T::try_from(number).ok())
            .filter(|number| *number >= self.min && *number <= self.max)
            .ok_or_else(|| format!("must be {}", self.accepts()))
    }

    fn show(&self, value: &T) -> Option<String> {
        Some(value.to_string())
    }

    fn accepts(&self) -> String {
        format!("an integer from {} to {}", self.min, self.max)
    }
}

/// Bytes: an integer or a text with a unit.
pub(super) struct Bytes {
    pub(super) min: usize,
    pub(super) max: usize,
}

/// The same for what is no memory of this process.
pub(super) struct Bytes64(pub(super) Bytes);

impl Form for Bytes64 {
    type Value = u64;

    fn read(&self, given: &Given) -> Result<u64, String> {
        self.0.read(given).map(|bytes| bytes as u64)
    }

    fn show(&self, value: &u64) -> Option<String> {
        usize::try_from(*value).ok().and_then(|bytes| self.0.show(&bytes))
    }

    fn accepts(&self) -> String {
        self.0.accepts()
    }
}

const UNITS: [(&str, usize); 5] =
    [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

impl Form for Bytes {
    type Value = usize;

    fn read(&self, given: &Given) -> Result<usize, String> {
        let bytes = match given {
            Given::Whole(bytes) => usize::try_from(*bytes).ok(),
            given => text(given).and_then(parse_bytes),
        };
        bytes
            .filter(|bytes| (self.min..=self.max).contains(bytes))
            .ok_or_else(|| format!("must be {}", self.accepts()))
    }

    fn show(&self, value: &usize) -> Option<String> {
        Some(match show_bytes(*value) {
            text if text.ends_with(" B") => value.to_string(),
            text => quote(&text),
        })
    }

    fn accepts(&self) -> String {
        format!(
            "a size from {} to {}, in bytes or with KiB, MiB, GiB or TiB",
            show_bytes(self.min),
            show_bytes(self.max)
        )
    }
}

fn parse_bytes(text: &str) -> Option<usize> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '_').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: usize = number.replace('_', "").parse().ok()?;
    let unit = match unit.trim_start() {
        "" => "B",
        unit => unit,
    };
    let factor = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit))?.1;
    number.checked_mul(factor)
}

/// The size in the largest unit that divides it.
fn show_bytes(bytes: usize) -> String {
    let (name, factor) = UNITS
        .into_iter()
        .find(|(_, factor)| bytes > 0 && bytes.is_multiple_of(*factor))
        .unwrap_or(("B", 1));
    format!("{} {name}", bytes / factor)
}

/// A word that means "no number", or a number.
pub(super) struct Or<F>(pub(super) &'static str, pub(super) F);

impl<F: Form> Form for Or<F> {
    type Value = Option<F::Value>;

    fn read(&self, given: &Given) -> Result<Self::Value, String> {
        if text(given) == Some(self.0) {
            return Ok(None);
        }
        self.1.read(given).map(Some).map_err(|_| format!("must be {}", self.accepts()))
    }

    fn show(&self, value: &Self::Value) -> Option<String> {
        match value {
            Some(value) => self.1.show(value),
            None => Some(quote(self.0)),
        }
    }

    fn accepts(&self) -> String {
        format!("{}, or \"{}\"", self.1.accepts(), self.0)
    }
}

/// A value that may be left out.
pub(super) struct Maybe<F>(pub(super) F);

impl<F: Form> Form for Maybe<F> {
    type Value = Option<F::Value>;

    fn read(&self, given: &Given) -> Result<Self::Value, String> {
        self.0.read(given).map(Some)
    }

    fn show(&self, value: &Self::Value) -> Option<String> {
        value.as_ref().and_then(|value| self.0.show(value))
    }

    fn accepts(&self) -> String {
        self.0.accepts()
    }
}

/// A text that satisfies a predicate.
pub(super) struct Text {
    pub(super) accepts: &'static str,
    pub(super) good: fn(&str) -> bool,
}

impl Form for Text {
    type Value = String;

    fn read(&self, given: &Given) -> Result<String, String> {
        text(given)
            .filter(|text| (self.good)(text))
            .map(str::to_owned)
            .ok_or_else(|| format!("must be {}", self.accepts))
    }

    fn show(&self, value: &String) -> Option<String> {
        Some(quote(value))
    }

    fn accepts(&self) -> String {
        self.accepts.to_owned()
    }
}

/// Several texts: an array, or one text with commas.
pub(super) struct ListOf(pub(super) Text);

impl Form for ListOf {
    type Value = Vec<String>;

    fn read(&self, given: &Given) -> Result<Vec<String>, String> {
        let entries: Vec<String> = match given {
            Given::List(entries) => entries.clone(),
            given => text(given)
                .ok_or_else(|| format!("must be {}", self.accepts()))?
                .split(',')
                .map(str::to_owned)
                .collect(),
        };
        let read = |entry: String| self.0.read(&Given::Text(entry));
        entries
            .into_iter()
            .map(read)
            .collect::<Result<_, _>>()
            .map_err(|why| format!("entry {why}"))
    }

    fn show(&self, value: &Vec<String>) -> Option<String> {
        let entries: Vec<_> = value.iter().map(|entry| quote(entry)).collect();
        Some(format!("[{}]", entries.join(", ")))
    }

    fn accepts(&self) -> String {
        format!("a list, each {}", self.0.accepts)
    }
}

/// One of a few words.
pub(super) struct OneOf<T: 'static>(pub(super) &'static [(&'static str, T)]);

impl<T: Copy + PartialEq> Form for OneOf<T> {
    type Value = T;

    fn read(&self, given: &Given) -> Result<T, String> {
        let found = text(given).and_then(|text| self.0.iter().find(|(word, _)| *word == text));
        found.map(|(_, value)| *value).ok_or_else(|| format!("must be {}", self.accepts()))
    }

    fn show(&self, value: &T) -> Option<String> {
        self.0.iter().find(|(_, known)| known == value).map(|(word, _)| quote(word))
    }

    fn accepts(&self) -> String {
        let words: Vec<_> = self.0.iter().map(|(word, _)| format!("\"{word}\"")).collect();
        words.join(" or ")
    }
}

/// Yes or no.
pub(super) struct Truth;

impl Form for Truth {
    type Value = bool;

    fn read(&self, given: &Given) -> Result<bool, String> {
        match given {
            Given::Switch(truth) => Ok(*truth),
            given => text(given)
                .and_then(|text| text.parse().ok())
                .ok_or_else(|| format!("must be {}", self.accepts())),
        }
    }

    fn show(&self, value: &bool) -> Option<String> {
        Some(value.to_string())
    }

    fn accepts(&self) -> String {
        "true or false".to_owned()
    }
}

/// A local address to listen on.
pub(super) struct Address;

impl Form for Address {
    type Value = SocketAddr;

    fn read(&self, given: &Given) -> Result<SocketAddr, String> {
        text(given)
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| format!("must be {}", self.accepts()))
    }

    fn show(&self, value: &SocketAddr) -> Option<String> {
        Some(quote(&value.to_string()))
    }

    fn accepts(&self) -> String {
        "an IP address and a port, \"127.0.0.1:7447\" or \"[::]:7447\"".to_owned()
    }
}

/// A directory.
pub(super) struct Folder;

impl Form for Folder {
    type Value = PathBuf;

    fn read(&self, given: &Given) -> Result<PathBuf, String> {
        text(given).map(PathBuf::from).ok_or_else(|| format!("must be {}", self.accepts()))
    }

    fn show(&self, value: &PathBuf) -> Option<String> {
        Some(quote(&value.to_string_lossy()))
    }

    fn accepts(&self) -> String {
        "a path, relative to the working directory".to_owned()
    }
}
