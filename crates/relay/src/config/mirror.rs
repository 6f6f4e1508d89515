//! `[[mirror]]`: the relays that this one mirrors.

use std::path::PathBuf;

use zeolite_mirror::{Direction, Mode, RelayAddress};
use zeolite_proto::{Filter, Timestamp};

use super::form::{Folder, Form, Given, Maybe, OneOf, Text, Truth, Whole, quote};
use super::tables::table_keys;

/// One mirror, as it is configured. Made by [`MirrorDraft::finish`], which refuses what is
/// senseless.
#[derive(Clone, Debug, PartialEq)]
pub struct MirrorConfig {
    /// What metrics and logs call it.
    pub name: String,
    /// The upstream.
    pub address: RelayAddress,
    /// Which way events travel.
    pub direction: Direction,
    /// What is mirrored, with `since` and `until`.
    pub filter: Filter,
    /// How differences are found.
    pub mode: Mode,
    /// Signatures of this upstream's events are not checked.
    pub is_trusted: bool,
    /// Requests to vanish are pulled although the filter's kinds leave them out.
    pub vanish: bool,
    /// Seconds between two comparisons of the sets.
    pub audit_s: u64,
    /// Seconds in which the upstream must connect, and in which an answer must go on.
    pub timeout_s: u64,
    /// The secret key to log in with (NIP-42).
    pub auth_key_file: Option<PathBuf>,
}

/// A mirror that is being read.
#[derive(Clone, Debug, PartialEq)]
pub struct MirrorDraft {
    /// See [`MirrorConfig::name`]; the host by default.
    pub name: Option<String>,
    /// See [`MirrorConfig::address`].
    pub address: Option<RelayAddress>,
    /// See [`MirrorConfig::direction`].
    pub direction: Direction,
    /// What is mirrored.
    pub filter: Filter,
    /// The earliest `created_at`.
    pub since: Option<u64>,
    /// The latest `created_at`.
    pub until: Option<u64>,
    /// See [`MirrorConfig::mode`].
    pub mode: Mode,
    /// See [`MirrorConfig::is_trusted`].
    pub is_trusted: bool,
    /// See [`MirrorConfig::vanish`].
    pub vanish: bool,
    /// See [`MirrorConfig::audit_s`].
    pub audit_s: u64,
    /// See [`MirrorConfig::timeout_s`].
    pub timeout_s: u64,
    /// See [`MirrorConfig::auth_key_file`].
    pub auth_key_file: Option<PathBuf>,
}

impl Default for MirrorDraft {
    fn default() -> Self {
        Self {
            name: None,
            address: None,
            direction: Direction::Down,
            filter: Filter::default(),
            since: None,
            until: None,
            mode: Mode::Auto,
            is_trusted: false,
            vanish: false,
            audit_s: 3600,
            timeout_s: 30,
            auth_key_file: None,
        }
    }
}

table_keys! {
    /// The keys of a `[[mirror]]`, in the order in which they are shown.
    MIRROR_KEYS: MirrorDraft;
    "url" address = Maybe(AddressForm);
        "The upstream; required."
    "name" name = Maybe(NAME);
        "What metrics and logs call it; the URL's host unless it is given."
    "dir" direction = OneOf(DIRECTIONS);
        "Which way events travel: from the upstream, to it, or both."
    "filter" filter = FilterForm;
        "What is mirrored; every event is checked against it."
    "since" since = Maybe(TIME);
        "The earliest created_at that is mirrored."
    "until" until = Maybe(TIME);
        "The latest created_at that is mirrored."
    "mode" mode = OneOf(MODES);
        "How differences are found: NIP-77 and else paged REQ, only NIP-77, or only paged REQ."
    "trust" is_trusted = Truth;
        "Take this upstream's events without checking their signatures."
    "vanish" vanish = Truth;
        "Pull requests to vanish also when the filter's kinds leave them out."
    "audit_s" audit_s = Whole { min: 60, max: 31_536_000 };
        "Seconds between two comparisons of the whole sets."
    "timeout_s" timeout_s = Whole { min: 1, max: 3_600 };
        "Seconds in which the upstream must connect, and in which an answer must go on."
    "auth_key_file" auth_key_file = Maybe(Folder);
        "A file with the secret key to log in with (NIP-42), in hex or as nsec; only its owner may read it."
}

const TIME: Whole<u64> = Whole { min: 0, max: (1 << 40) - 1 };
const DIRECTIONS: &[(&str, Direction)] =
    &[("down", Direction::Down), ("up", Direction::Up), ("both", Direction::Both)];
const MODES: &[(&str, Mode)] =
    &[("auto", Mode::Auto), ("negentropy", Mode::Negentropy), ("req", Mode::Req)];
/// Names are labels of metrics.
const NAME: Text = Text {
    accepts: "1 to 64 letters, digits, dots, dashes, colons and underscores",
    good: |text| text.len() <= 64 && text.chars().all(is_of_name),
};

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':')
}

impl MirrorDraft {
    /// The mirror, or what is wrong with it.
    pub fn finish(self) -> Result<MirrorConfig, String> {
        let address = self.address.ok_or("url is missing")?;
        let mut filter = self.filter;
        for (name, given, within) in
            [("since", self.since, &mut filter.since), ("until", self.until, &mut filter.until)]
        {
            if given.is_some() && within.is_some() {
                return Err(format!("{name} stands in the filter as well"));
            }
            *within = given.map(Timestamp).or(*within);
        }
        if filter.matches_nothing() {
            return Err("the filter matches nothing".to_owned());
        }
        Ok(MirrorConfig {
            name: self.name.unwrap_or_else(|| name_of(&address)),
            address,
            direction: self.direction,
            filter,
            mode: self.mode,
            is_trusted: self.is_trusted,
            vanish: self.vanish,
            audit_s: self.audit_s,
            timeout_s: self.timeout_s,
            auth_key_file: self.auth_key_file,
        })
    }
}

/// The host, and its port if it is an unusual one.
fn name_of(address: &RelayAddress) -> String {
    address.authority().chars().filter(|c| is_of_name(*c)).take(64).collect()
}

impl MirrorConfig {
    /// What [`MirrorDraft::finish`] makes this of.
    pub(crate) fn to_draft(&self) -> MirrorDraft {
        MirrorDraft {
            name: Some(self.name.clone()),
            address: Some(self.address.clone()),
            direction: self.direction,
            filter: Filter { since: None, until: None, ..self.filter.clone() },
            since: self.filter.since.map(|time| time.0),
            until: self.filter.until.map(|time| time.0),
            mode: self.mode,
            is_trusted: self.is_trusted,
            vanish: self.vanish,
            audit_s: self.audit_s,
            timeout_s: self.timeout_s,
            auth_key_file: self.auth_key_file.clone(),
        }
    }
}

/// Reads what may be mirrored. A filter with a member that nobody knows would match more than was
/// meant (case 25), so it is refused as a client's is.
pub(crate) fn read_filter(text: &str) -> Result<Filter, String> {
    let filter = Filter::from_json(text).map_err(|error| error.to_string())?;
    if filter.limit.is_some() {
        return Err("limit has no meaning for a mirror; use since".to_owned());
    }
    if filter.search.is_some() {
        return Err("a search cannot be mirrored".to_owned());
    }
    Ok(filter)
}

struct FilterForm;

impl Form for FilterForm {
    type Value = Filter;

    fn read(&self, given: &Given) -> Result<Filter, String> {
        let Given::Text(text) = given else { return Err(format!("must be {}", self.accepts())) };
        read_filter(text).map_err(|why| format!("is not usable: {why}"))
    }

    fn show(&self, filter: &Filter) -> Option<String> {
        let mut json = Vec::new();
        filter.push_json(&mut json);
        Some(quote(&String::from_utf8_lossy(&json)))
    }

    fn accepts(&self) -> String {
        "a filter as in REQ, as JSON in a text, '{\"kinds\":[0,1]}'".to_owned()
    }
}

struct AddressForm;

impl Form for AddressForm {
    type Value = RelayAddress;

    fn read(&self, given: &Given) -> Result<RelayAddress, String> {
        let Given::Text(text) = given else { return Err(format!("must be {}", self.accepts())) };
        RelayAddress::parse(text).map_err(|_| format!("must be {}", self.accepts()))
    }

    fn show(&self, address: &RelayAddress) -> Option<String> {
        Some(quote(&address.to_string()))
    }

    fn accepts(&self) -> String {
        "a ws or wss URL".to_owned()
    }
}
