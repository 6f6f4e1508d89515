//! The command line: parsed here, without any IO.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// What the user asked for.
#[derive(Debug, Parser)]
#[command(
    name = "zeolite-relay",
    version,
    about = "A Nostr relay that stores in one directory and needs no configuration.",
    after_long_help = EXAMPLES,
    after_help = "Without a command it serves. See --help for examples and exit codes.",
    disable_help_subcommand = true
)]
pub struct Cli {
    /// Which configuration to use.
    #[command(flatten)]
    pub settings: Settings,
    /// Where to listen, for serving without naming the command.
    #[command(flatten)]
    pub serve: ServeArgs,
    /// What to do; without one, serve.
    #[command(subcommand)]
    pub command: Option<Command>,
}

const EXAMPLES: &str = "\
Examples:
  zeolite-relay                                        serve on ws://127.0.0.1:7447, store in ./zeolite-data
  zeolite-relay --listen 0.0.0.0:7447 --db /srv/relay  serve elsewhere
  zeolite-relay import events.jsonl.zst more.jsonl     take events into the store
  zeolite-relay import --to ws://127.0.0.1:7447 -      send standard input through a running relay
  zeolite-relay export --out backup.jsonl.zst          write every event, importable again
  zeolite-relay scan '{\"kinds\":[0]}' --count           count profiles
  zeolite-relay delete '{\"authors\":[\"...\"]}' --dry-run  show what a deletion would remove
  zeolite-relay retention --dry-run                    show what the configured retention would remove
  zeolite-relay admin banpubkey 3bf0...fa4 spam        have a running relay ban an author
  zeolite-relay config > zeolite.toml                  write down the effective configuration

Settings: flags win over environment variables (ZEOLITE_DB, ZEOLITE_LIMITS_FILTERS_MAX, ...), those
over the file named by --config or ZEOLITE_CONFIG, and that over the defaults. `zeolite-relay config`
shows every setting and where its value came from.

While a relay runs on the store: export, scan, stats, check and backup work beside it; import, delete
and compact say which process holds it.

Exit codes:
  0  done
  1  failed; standard error says why
  2  wrong usage or configuration; nothing was done
  3  done, with findings: `check` found damage, or `import --strict` refused lines
  130  interrupted; what was acknowledged is stored";

/// Which configuration to use.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Settings")]
pub struct Settings {
    /// Directory of the store [default: ./zeolite-data]
    #[arg(long, value_name = "DIR", global = true)]
    pub db: Option<String>,
    /// Configuration file (TOML)
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// Any setting, by its name in the configuration file; may be repeated
    #[arg(long, value_name = "KEY=VALUE", global = true)]
    pub set: Vec<String>,
}

/// How to serve.
#[derive(Args, Debug, Default)]
pub struct ServeArgs {
    /// Address and port for clients [default: 127.0.0.1:7447]
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<String>,
}

/// One command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve clients until SIGTERM or SIGINT (a second signal stops at once)
    Serve(ServeArgs),
    /// Take events from files into the store, or send them to a running relay
    #[command(after_long_help = IMPORT_HELP)]
    Import(ImportArgs),
    /// Write events as NDJSON
    #[command(after_long_help = EXPORT_HELP)]
    Export(ExportArgs),
    /// Print the events that filters select, newest first
    Scan(ScanArgs),
    /// Remove the events that filters select; they may come back by import or from clients
    Delete(DeleteArgs),
    /// Remove what the configured retention does not keep, or tell what that is
    #[command(after_long_help = RETENTION_HELP)]
    Retention(RetentionArgs),
    /// Print what the store holds
    Stats,
    /// Verify every cross reference of the store
    Check,
    /// Write a copy of the store without its free pages
    Compact(OutArgs),
    /// Write a consistent copy of the store while a relay runs on it
    Backup(OutArgs),
    /// Give an order to a running relay (NIP-86): bans, lists, its name
    #[command(after_long_help = ADMIN_HELP)]
    Admin(AdminArgs),
    /// Print the effective configuration as TOML, with the source of every value
    Config,
}

const IMPORT_HELP: &str = "\
Each line holds one event. Plain text, zstd and gzip are told apart by their first bytes; a JSON array
of events and lines such as [\"EVENT\",{...}] are read too. The rules are those of the socket: limits,
signatures, replacement, deletion, expiry; with --policy also who may write what. A line that is refused is counted with its reason and never
stops the run.

An event is counted as stored when it is on disk. Importing a file again is harmless: its events are
duplicates. After an interruption, run the same command again.";

const EXPORT_HELP: &str = "\
The order of the log (oldest arrival first) is the default; importing the file into an empty store
gives the same end state, since deletions and requests to vanish are events too. Expired events are
left out.

--archived gives what a relay with store.archive = true kept of replaced and deleted events, author by
author, the oldest first.";

const RETENTION_HELP: &str = "\
How long events are kept is configured in the file, one table a rule; the first rule that concerns an
event decides:

  [[retention]]                 # these authors' events stay, whatever comes below
  authors = [\"3bf0...fa4\"]

  [[retention]]                 # reactions and zaps for a week
  kinds = [7, \"9734-9735\"]
  age_s_max = 604800

  [[retention]]                 # everything else for a year
  age_s_max = 31536000

With store.events_bytes_max the oldest events go while stored events take more than that. Deletions
and requests to vanish always stay; profiles, contact and relay lists go only where a rule names
their kind.

A running relay does this by itself, every store.retention_s seconds. This command is for a store that
no relay is running on; --dry-run works beside one.

Example:
  zeolite-relay retention --dry-run --config zeolite.toml";

const ADMIN_HELP: &str = "\
Methods:
  supportedmethods
  banpubkey KEY [REASON]    unbanpubkey KEY    listbannedpubkeys
  allowpubkey KEY [REASON]  unallowpubkey KEY  listallowedpubkeys
  banevent ID [REASON]      allowevent ID      listbannedevents    listeventsneedingmoderation
  allowkind N               disallowkind N     listallowedkinds
  blockip RANGE [REASON]    unblockip RANGE    listblockedips
  changerelayname TEXT      changerelaydescription TEXT            changerelayicon URL
  createrole ID [LABEL [DESCRIPTION [COLOR [ORDER]]]]              deleterole ID
  editrole ID [LABEL [DESCRIPTION [COLOR [ORDER]]]]
  assignrole KEY ID         unassignrole KEY ID

A role is a word about a member, with a COLOR (a hue, 0 to 360) and an ORDER (a whole number) for
clients to show it by; '' leaves one out. The relay publishes all roles, and who has them, under a key of
its own (NIP-43).

The relay must name your public key in its setting admin.pubkeys. The secret key, 64 hex digits or
nsec1..., is read from the file named by --key, which only you may read (chmod 600), or from the environment variable ZEOLITE_ADMIN_KEY; it signs the
order and is sent nowhere. --url must be a URL that the relay calls its own (relay.urls).

Example:
  zeolite-relay admin --url wss://relay.example --key ./admin.key banpubkey 3bf0...fa4 'spam'
  zeolite-relay admin --url wss://relay.example --key ./admin.key createrole mod 'Moderator' '' 200";

/// Which order, and to whom.
#[derive(Args, Debug)]
pub struct AdminArgs {
    /// The method of NIP-86
    #[arg(value_name = "METHOD")]
    pub method: String,
    /// What it is about
    #[arg(value_name = "PARAM", allow_negative_numbers = true)]
    pub params: Vec<String>,
    /// The relay's ws:// or wss:// URL
    #[arg(long, value_name = "URL", default_value = "ws://127.0.0.1:7447")]
    pub url: String,
    /// File that holds your secret key, in hex or as nsec1...; only you may read it
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// Certificate authorities to trust for wss:// beside the system's (PEM)
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
}

/// What to import, and where to.
#[derive(Args, Debug)]
pub struct ImportArgs {
    /// Files to read in order; - is standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub files: Vec<PathBuf>,
    /// Send through the relay at this ws:// or wss:// URL instead of opening the store
    #[arg(long, value_name = "URL")]
    pub to: Option<String>,
    /// Certificate authorities to trust for wss:// beside the system's (PEM)
    #[arg(long, value_name = "FILE", requires = "to")]
    pub ca: Option<PathBuf>,
    /// Exit with 3 if any line was refused
    #[arg(long)]
    pub strict: bool,
    /// Refuse what the relay would: by the rules of the configuration, retention included, and by its
    /// administrators' decisions. The policy program is not asked
    #[arg(long, conflicts_with = "to")]
    pub policy: bool,
    /// Trust the signatures: only for files that this program exported and nobody touched
    #[arg(long, conflicts_with = "to")]
    pub no_verify: bool,
    /// Take protected events too, which only their authors may publish (NIP-70): for exports of
    /// this relay
    #[arg(long, conflicts_with = "to")]
    pub protected: bool,
}

/// What to export, and how.
#[derive(Args, Debug)]
pub struct ExportArgs {
    /// Only events that one of these filters selects
    #[arg(value_name = "FILTER")]
    pub filters: Vec<String>,
    /// File to write instead of standard output; .zst and .gz are compressed
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Which event comes first
    #[arg(long, value_enum, default_value_t = Order::Stored)]
    pub order: Order,
    /// Export the archive instead: events that were replaced or deleted
    #[arg(long, conflicts_with = "order")]
    pub archived: bool,
    /// Compress with zstd
    #[arg(long, conflicts_with = "gzip")]
    pub zstd: bool,
    /// Compress with gzip
    #[arg(long)]
    pub gzip: bool,
}

/// The order of exported events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// As they arrived, the first one first
    Stored,
    /// By created_at, the newest first, as a relay answers
    Newest,
}

/// What to look for, and what to print of it.
#[derive(Args, Debug)]
pub struct ScanArgs {
    /// Filters as in REQ; their union is printed, each event once
    #[arg(value_name = "FILTER", required = true)]
    pub filters: Vec<String>,
    /// Print only how many events there are, whatever the limit
    #[arg(long, conflicts_with = "explain")]
    pub count: bool,
    /// Print which index each filter was served by, and at what cost, instead of the events
    #[arg(long)]
    pub explain: bool,
}

/// What to remove.
#[derive(Args, Debug)]
pub struct DeleteArgs {
    /// Filters as in REQ; the union of what they select is removed
    #[arg(value_name = "FILTER", required = true)]
    pub filters: Vec<String>,
    /// Print how many events of which kinds would be removed, and remove nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Allow a filter that selects every event
    #[arg(long)]
    pub all: bool,
    /// Remove from the archive instead: events that were replaced or deleted
    #[arg(long)]
    pub archived: bool,
}

/// How to apply retention.
#[derive(Args, Debug)]
pub struct RetentionArgs {
    /// Tell what would be removed by each rule, and remove nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Where to write a copy of the store.
#[derive(Args, Debug)]
pub struct OutArgs {
    /// Directory to make; it must not exist yet
    #[arg(value_name = "OUT")]
    pub out: PathBuf,
}

impl Cli {
    /// The settings given by flags: key, flag, value.
    pub fn overrides(&self) -> Result<Vec<(String, String, String)>, String> {
        let listen = match &self.command {
            Some(Command::Serve(args)) => args.listen.as_ref().or(self.serve.listen.as_ref()),
            _ => self.serve.listen.as_ref(),
        };
        let is_serving = matches!(self.command, None | Some(Command::Serve(_)));
        if !is_serving && listen.is_some() {
            return Err("--listen has a meaning for serve only".to_owned());
        }
        let mut overrides = Vec::new();
        for text in &self.settings.set {
            let (key, value) =
                text.split_once('=').ok_or_else(|| format!("--set {text}: expected KEY=VALUE"))?;
            overrides.push((key.trim().to_owned(), "--set".to_owned(), value.to_owned()));
        }
        for (key, value) in [("db", self.settings.db.as_ref()), ("listen", listen)] {
            if let Some(value) = value {
                overrides.push((key.to_owned(), format!("--{key}"), value.clone()));
            }
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
        Cli::command().debug_assert();
    }

    /// A command line gives these settings.
    fn check(line: &str, expected: &[(&str, &str)]) {
        let cli = Cli::try_parse_from(line.split(' ')).expect(line);
        let overrides = cli.overrides().expect(line);
        let found: Vec<_> = overrides.iter().map(|(k, _, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(found, expected, "{line}");
    }

    /// Settings may stand before or behind the command, and serving needs no command.
    #[test]
    fn settings_stand_anywhere() {
        check("zeolite-relay", &[]);
        check("zeolite-relay --db a --listen 1.2.3.4:5", &[("db", "a"), ("listen", "1.2.3.4:5")]);
        check("zeolite-relay serve --listen [::]:1 --db a", &[("db", "a"), ("listen", "[::]:1")]);
        check("zeolite-relay --db a import x", &[("db", "a")]);
        check("zeolite-relay import x --db a", &[("db", "a")]);
        check("zeolite-relay stats --set log=warn", &[("log", "warn")]);
    }

    /// What cannot be meant is refused before anything is opened (case 3: no filter, no delete).
    #[test]
    fn senseless_lines_are_refused() {
        for line in [
            "zeolite-relay delete",
            "zeolite-relay scan",
            "zeolite-relay scan {} --count --explain",
            "zeolite-relay import x --listen 1.2.3.4:5",
            "zeolite-relay import --to ws://a --no-verify",
            "zeolite-relay import --to ws://a --policy",
            "zeolite-relay export --zstd --gzip",
            "zeolite-relay backup",
            "zeolite-relay exprot",
        ] {
            assert!(Cli::try_parse_from(line.split(' ')).is_err(), "{line}");
        }
    }
}
