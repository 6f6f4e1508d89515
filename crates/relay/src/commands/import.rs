//! `import`: events from files into the store, or through a running relay.
//!
//! ```text
//! file -> decompress -> cut -> [parse, check, verify] -> admit -> commit     (local)
//!                              [parse, check]         -> socket -> OK        (remote)
//! ```

mod check;
mod input;
mod lines;
mod local;
mod pipeline;
mod progress;
mod remote;
mod tally;

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use zeolite_policy::Policy;
use zeolite_proto::EventParser;
use zeolite_schnorr::Verifier;
use zeolite_session::Publisher;

use self::check::{Gate, Trust};
use self::local::Ended;
use self::progress::{Counters, Progress};
use super::store::open_to_write;
use super::{Exit, output, signals};
use crate::cli::ImportArgs;
use crate::clock::now;
use crate::config::Config;
use crate::policy_cell::PolicyCell;

/// Public keys of which the lifted form is kept: an import meets most authors again and again.
const VERIFIER_KEYS_MAX: usize = 65_536;

/// Runs the command.
pub(crate) fn run(args: &ImportArgs, config: &Config) -> anyhow::Result<Exit> {
    let start = Instant::now();
    let stop = signals::stop_signal()?;
    let counters = Counters::default();
    if args.files.iter().any(|path| path.as_os_str() == input::STDIN)
        && std::io::stdin().is_terminal()
    {
        output::say("reading events from standard input; end with Ctrl-D");
    }
    let progress = Progress::start(counters.clone(), &args.files);
    let inputs = pipeline::Inputs {
        paths: args.files.clone(),
        event_bytes_max: config.limits.message_bytes_max,
        read_bytes: Arc::clone(&counters.read_bytes),
    };
    let ended = match &args.to {
        Some(url) => remote(inputs, url, args, config, &stop, &counters)?,
        None => local(inputs, args, config, &stop, &counters)?,
    };
    drop(progress);
    report(ended, args, start)
}

fn local(
    inputs: pipeline::Inputs,
    args: &ImportArgs,
    config: &Config,
    stop: &crossbeam_channel::Receiver<()>,
    counters: &Counters,
) -> anyhow::Result<Ended> {
    let instead = "stop it, or send through it with import --to ws://ADDRESS";
    let (store, admitter, committer) = open_to_write(config, instead)?;
    let trust = match args.no_verify {
        true => Trust::Trusted,
        false => Trust::Verify(Arc::new(Verifier::new(VERIFIER_KEYS_MAX))),
    };
    let policy = match args.policy {
        true => Some(PolicyCell::open(&config.policy.rules, &config.db)?),
        false => None,
    };
    let policy = policy.map(|cell| Policy::clone(&cell.current()));
    let gate = Arc::new(Gate::new(&config.limits, publisher(args), policy));
    let ordered = pipeline::start(inputs, || {
        let (store, trust, gate) = (store.clone(), trust.clone(), Arc::clone(&gate));
        let mut parser = EventParser::new();
        move |chunk| {
            let parsed = check::parse(&chunk, &mut parser, &gate, now());
            // A store that cannot be read will say so when it admits.
            check::verify(parsed, &trust, |id| store.contains(id).unwrap_or(false))
        }
    })?;
    local::run(ordered, admitter, committer, stop, Arc::clone(&counters.events))
}

fn remote(
    inputs: pipeline::Inputs,
    url: &str,
    args: &ImportArgs,
    config: &Config,
    stop: &crossbeam_channel::Receiver<()>,
    counters: &Counters,
) -> anyhow::Result<Ended> {
    let target = remote::Target::parse(url, args.ca.as_deref())?;
    let gate = Arc::new(Gate::new(&config.limits, publisher(args), None));
    let ordered = pipeline::start(inputs, || {
        let gate = Arc::clone(&gate);
        let mut parser = EventParser::new();
        move |chunk| check::parse(&chunk, &mut parser, &gate, now())
    })?;
    remote::run(ordered, &target, stop, Arc::clone(&counters.events))
}

/// Whose word is given for events that only their authors may publish (NIP-70).
fn publisher(args: &ImportArgs) -> Publisher<'static> {
    if args.protected || args.no_verify { Publisher::Trusted } else { Publisher::Carrier }
}

/// Prints the summary and finds the exit code.
fn report(ended: Ended, args: &ImportArgs, start: Instant) -> anyhow::Result<Exit> {
    let Ended { tally, interrupted, failure, unread } = ended;
    let names: Vec<_> = args.files.iter().map(|path| name(path)).collect();
    let seconds = start.elapsed().as_secs_f64();
    let rate = tally.total() as f64 / seconds.max(f64::EPSILON);
    output::say(tally.summary(&names));
    output::say(format_args!("{rate:>12.0} events/s in {seconds:.2} s"));
    if interrupted {
        output::say(
            "interrupted: what is counted above is done; run the command again for the rest",
        );
    }
    for (file, error) in &unread {
        output::say(format_args!("{}: {error}", names[*file]));
    }
    match failure {
        Some(error) => Err(error),
        None if interrupted => Ok(Exit::Interrupted),
        None if !unread.is_empty() => {
            anyhow::bail!("{} of {} inputs could not be read to the end", unread.len(), names.len())
        }
        None if args.strict && tally.refused().next().is_some() => Ok(Exit::Findings),
        None => Ok(Exit::Done),
    }
}

fn name(path: &Path) -> String {
    if path.as_os_str() == input::STDIN {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    }
}
