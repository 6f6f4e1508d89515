//! The command line of `zeolite-mirror`: parsed here, without any IO.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{ArgGroup, Parser, ValueEnum};
use zeolite_mirror::{Direction, Mode, RelayAddress};
use zeolite_proto::Filter;

use crate::config::{MirrorConfig, MirrorDraft, read_filter};

/// What the user asked for.
#[derive(Debug, Parser)]
#[command(
    name = "zeolite-mirror",
    version,
    about = "Brings a store or a relay to the same events as another relay, and keeps it so.",
    after_long_help = HELP,
    after_help = "See --help for examples and exit codes.",
    group = ArgGroup::new("local").args(["db", "into"]).required(true)
)]
pub struct MirrorCli {
    /// The relay to mirror, ws:// or wss://
    #[arg(long, value_name = "URL", value_parser = RelayAddress::parse)]
    pub from: RelayAddress,
    /// Directory of the store on this side; made when it is missing
    #[arg(long, value_name = "DIR")]
    pub db: Option<String>,
    /// Relay on this side, instead of a store
    #[arg(long, value_name = "URL", value_parser = RelayAddress::parse)]
    pub into: Option<RelayAddress>,
    /// Which way events travel: down from --from, up to it, or both
    #[arg(long, value_enum, default_value_t = Way::Down)]
    pub dir: Way,
    /// What to mirror, a filter as in REQ; unknown members are errors
    #[arg(long, value_name = "JSON", value_parser = read_filter)]
    pub filter: Option<Filter>,
    /// Only events from this time on: seconds since 1970, or an age such as 90m, 12h, 30d
    #[arg(long, value_name = "T", value_parser = When::parse)]
    pub since: Option<When>,
    /// Only events up to this time
    #[arg(long, value_name = "T", value_parser = When::parse)]
    pub until: Option<When>,
    /// End when both sides are equal, or what differs is explained; else stay and pass on what is new
    #[arg(long)]
    pub once: bool,
    /// Count what would move, and move nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Do not check signatures: only for a relay that you run yourself
    #[arg(long)]
    pub trust: bool,
    /// Pull requests to vanish (kind 62) of the authors in scope, though the filter leaves them out
    #[arg(long)]
    pub vanish: bool,
    /// How differences are found: NIP-77 and else paged REQ, only NIP-77, only paged REQ
    #[arg(long, value_enum, default_value_t = How::Auto)]
    pub mode: How,
    /// Certificate authorities to trust for wss:// beside the system's (PEM)
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// Log in with the secret key in this file where a relay asks for it: hex or nsec1..., mode 600
    #[arg(long, value_name = "FILE")]
    pub auth_key_file: Option<PathBuf>,
    /// Seconds in which a relay must connect, and in which an answer must go on
    #[arg(long, value_name = "SECONDS", default_value_t = 30,
          value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub timeout: u64,
    /// Configuration of the store and its limits: the relay's file (TOML)
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Any setting of the relay, by its name in the configuration file; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Report in JSON, one object a line, on standard output
    #[arg(long)]
    pub json: bool,
    /// Serve /metrics and /health here
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<SocketAddr>,
}

const HELP: &str = "\
Examples:
  zeolite-mirror --from wss://relay.example --db ./copy --once
      bring a directory up to date with a relay, then end
  zeolite-mirror --from wss://relay.example --db ./copy
      the same, then stay connected and take what is new
  zeolite-mirror --from wss://relay.example --db ./copy --filter '{\"kinds\":[0,3,10002]}' --since 30d
      only some of it
  zeolite-mirror --from wss://relay.example --db ./copy --dir both --dry-run
      count what each side lacks, and move nothing
  zeolite-mirror --from wss://relay.example --into ws://127.0.0.1:7447 --once
      from one relay into another, of any make

A relay that runs on a store holds it. Mirror into a running zeolite-relay with [[mirror]] in its
configuration, or through its address with --into:

  [[mirror]]
  url = \"wss://relay.example\"
  dir = \"both\"

A relay that lets in only whom it knows (NIP-42) is told who comes by --auth-key-file; the key stays on
this machine, and signs nothing but logins.

Both sides are compared by NIP-77 where the relay speaks it, and read page by page where not. What comes
is checked like what clients send: id, signature, limits, deletion, expiry, and the filter. Only what is
on disk counts as stored. Run it again after an interruption: what is there is not sent again.

Exit codes:
  0  done: both sides hold the same, or what differs is explained in the summary
  1  failed; standard error says why
  2  wrong usage or configuration; nothing was done
  130  interrupted; what was counted as stored is stored";

/// `--dir`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Way {
    /// From the upstream.
    Down,
    /// To the upstream.
    Up,
    /// Both ways.
    Both,
}

/// `--mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum How {
    /// NIP-77, and paged REQ where there is none.
    Auto,
    /// NIP-77 or not at all.
    Negentropy,
    /// Paged REQ.
    Req,
}

/// A moment: absolute, or by its age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Seconds since 1970.
    At(u64),
    /// So many seconds ago.
    Ago(u64),
}

impl When {
    fn parse(text: &str) -> Result<Self, String> {
        let refuse =
            || format!("{text:?}: expected seconds since 1970, or an age such as 12h or 30d");
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let number: u64 = number.parse().map_err(|_| refuse())?;
        let seconds = match unit {
            "" => return Ok(Self::At(number)),
            "s" => 1,
            "m" => 60,
            "h" => 3600,
            "d" => 86_400,
            "w" => 604_800,
            _ => return Err(refuse()),
        };
        number.checked_mul(seconds).map(Self::Ago).ok_or_else(refuse)
    }

    fn at(self, now: u64) -> u64 {
        match self {
            Self::At(at) => at,
            Self::Ago(age) => now.saturating_sub(age),
        }
    }
}

impl MirrorCli {
    /// The mirror that the flags describe.
    ///
    /// # Errors
    ///
    /// If they contradict one another.
    pub fn mirror(&self, now: u64) -> Result<MirrorConfig, String> {
        let draft = MirrorDraft {
            address: Some(self.from.clone()),
            direction: match self.dir {
                Way::Down => Direction::Down,
                Way::Up => Direction::Up,
                Way::Both => Direction::Both,
            },
            filter: self.filter.clone().unwrap_or_default(),
            since: self.since.map(|when| when.at(now)),
            until: self.until.map(|when| when.at(now)),
            mode: match self.mode {
                How::Auto => Mode::Auto,
                How::Negentropy => Mode::Negentropy,
                How::Req => Mode::Req,
            },
            is_trusted: self.trust,
            vanish: self.vanish,
            timeout_s: self.timeout,
            auth_key_file: self.auth_key_file.clone(),
            ..MirrorDraft::default()
        };
        draft.finish()
    }

    /// The settings given by flags: key, flag, value.
    ///
    /// # Errors
    ///
    /// If a `--set` has no `=`.
    pub fn overrides(&self) -> Result<Vec<(String, String, String)>, String> {
        let mut overrides = Vec::new();
        for text in &self.set {
            let (key, value) =
                text.split_once('=').ok_or_else(|| format!("--set {text}: expected KEY=VALUE"))?;
            overrides.push((key.trim().to_owned(), "--set".to_owned(), value.to_owned()));
        }
        if let Some(db) = &self.db {
            overrides.push(("db".to_owned(), "--db".to_owned(), db.clone()));
        }
        Ok(overrides)
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// clap's own consistency checks over the whole definition.
    #[test]
    fn the_definition_is_consistent() {
        MirrorCli::command().debug_assert();
    }

    const FROM: &str = "zeolite-mirror --from ws://a";

    /// Case 25: what is misspelt or contradictory is refused before anything is opened.
    #[test]
    fn senseless_lines_are_refused() {
        for line in [
            FROM,
            "zeolite-mirror --db x",
            &format!("{FROM} --db x --into ws://b"),
            &format!("{FROM} --db x --filter {{\"kind\":[1]}}"),
            &format!("{FROM} --db x --filter {{\"limit\":1}}"),
            &format!("{FROM} --db x --filter {{\"search\":\"a\"}}"),
            &format!("{FROM} --db x --filter {{"),
            &format!("{FROM} --db x --since yesterday"),
            &format!("{FROM} --db x --since 3y"),
            &format!("{FROM} --db x --dir sideways"),
            &format!("{FROM} --db x --mode fast"),
            "zeolite-mirror --from relay.example --db x",
        ] {
            assert!(MirrorCli::try_parse_from(line.split(' ')).is_err(), "{line}");
        }
        for line in
            ["--filter {\"since\":1} --since 2", "--since 5 --until 4", "--filter {\"kinds\":[]}"]
        {
            let line = format!("{FROM} --db x {line}");
            let cli = MirrorCli::try_parse_from(line.split(' ')).expect(&line);
            assert!(cli.mirror(100).is_err(), "{line}");
        }
    }

    #[test]
    fn moments_are_absolute_or_ages() {
        for (text, expected) in [
            ("1700000000", Ok(When::At(1_700_000_000))),
            ("90m", Ok(When::Ago(5400))),
            ("12h", Ok(When::Ago(43_200))),
            ("30d", Ok(When::Ago(2_592_000))),
            ("", Err(())),
            ("h", Err(())),
            ("1.5h", Err(())),
            ("99999999999999999999w", Err(())),
        ] {
            assert_eq!(When::parse(text).map_err(|_| ()), expected, "{text}");
        }
        assert_eq!(When::Ago(30).at(100), 70);
        assert_eq!(When::Ago(130).at(100), 0);
    }
}
