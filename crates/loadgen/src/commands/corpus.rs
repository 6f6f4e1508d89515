//! `zeolite-load corpus ...`

mod table;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use serde_json::json;
use zeolite_proto::Timestamp;

use crate::cli::{CorpusCommand, GenerateArgs, ImportArgs, InspectArgs, VerifyArgs};
use crate::commands::progress::Progress;
use crate::corpus::{
    Census, Checked, EffectiveBuilder, Findings, Manifest, Spec, import, verify, write_generated,
};

/// The exit code of a check that found something.
const FOUND: u8 = 3;

/// Runs one of the corpus commands.
pub(crate) fn run(command: CorpusCommand) -> anyhow::Result<ExitCode> {
    match command {
        CorpusCommand::Generate(args) => generate(&args),
        CorpusCommand::Import(args) => import_files(&args),
        CorpusCommand::Inspect(args) => inspect(&args),
        CorpusCommand::Verify(args) => check(&args),
    }
}

/// The time of the clock, if no other is given.
fn now(given: Option<u64>) -> anyhow::Result<Timestamp> {
    let seconds = match given {
        Some(seconds) => seconds,
        None => SystemTime::now().duration_since(UNIX_EPOCH).context("clock")?.as_secs(),
    };
    Ok(Timestamp(seconds))
}

fn print(text: &str) -> anyhow::Result<()> {
    io::stdout().write_all(text.as_bytes()).context("standard output")
}

fn print_manifest(manifest: &Manifest) -> anyhow::Result<()> {
    print(&format!("{}\n", serde_json::to_string_pretty(manifest)?))
}

fn generate(args: &GenerateArgs) -> anyhow::Result<ExitCode> {
    let spec = Spec { shape: args.corpus, events: args.events, seed: args.seed };
    let mut progress = Progress::new("generated", Some(spec.events.into()));
    let mut report = |done| progress.report(done);
    if args.out == Path::new("-") {
        write_generated(&spec, args.threads, io::stdout().lock(), &mut report)?;
        return Ok(ExitCode::SUCCESS);
    }
    // The name appears when the corpus is whole, and its manifest before it.
    let mut part = args.out.clone().into_os_string();
    part.push(".part");
    let file = File::create(&part).with_context(|| Path::new(&part).display().to_string())?;
    let manifest = write_generated(&spec, args.threads, &file, &mut report)
        .with_context(|| Path::new(&part).display().to_string())?;
    drop(progress);
    manifest.write_beside(&args.out)?;
    fs::rename(&part, &args.out).with_context(|| args.out.display().to_string())?;
    print_manifest(&manifest)?;
    Ok(ExitCode::SUCCESS)
}

fn import_files(args: &ImportArgs) -> anyhow::Result<ExitCode> {
    let mut progress = Progress::new("read", None);
    let now = now(args.now)?;
    let manifest = import(&args.files, &args.out, now, |done| progress.report(done))?;
    drop(progress);
    print_manifest(&manifest)?;
    if manifest.events == 0 {
        bail!("no event was found");
    }
    Ok(ExitCode::SUCCESS)
}

fn inspect(args: &InspectArgs) -> anyhow::Result<ExitCode> {
    let mut progress = Progress::new("read", None);
    let now = now(args.now)?;
    let (mut census, mut effective) = (Census::new(now), EffectiveBuilder::new(now, &[]));
    let (mut faults, mut read) = (0u64, 0u64);
    for batch in Checked::open(&args.file, 0)? {
        for event in batch? {
            read += 1;
            let Ok(event) = event else {
                faults += 1;
                continue;
            };
            census.add(event.view(), event.json().len());
            effective.add(event.view());
        }
        progress.report(read);
    }
    drop(progress);
    let (counts, set) = (census.finish(), effective.finish());
    if args.json {
        let fates: Vec<_> = set.fates().iter().map(|(f, n)| (format!("{f:?}"), *n)).collect();
        let effective = json!({
            "now": now.0, "events": set.len(), "fingerprint": set.fingerprint(), "fates": fates,
        });
        print(&format!(
            "{}\n",
            json!({"faults": faults, "counts": counts, "effective": effective})
        ))?;
    } else {
        print(&table::of(&counts, &set, faults))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn check(args: &VerifyArgs) -> anyhow::Result<ExitCode> {
    let mut progress = Progress::new("checked", None);
    let findings = verify(&args.file, args.threads, |done| progress.report(done))?;
    drop(progress);
    print(&describe(&findings))?;
    Ok(if findings.is_clean() { ExitCode::SUCCESS } else { ExitCode::from(FOUND) })
}

fn describe(findings: &Findings) -> String {
    let mut text =
        format!("{} good events, fingerprint {}\n", findings.events, findings.fingerprint);
    for (fault, count) in &findings.faults {
        text += &format!("{count} times: {fault}\n");
    }
    if findings.out_of_order > 0 {
        text += &format!("{} events out of order\n", findings.out_of_order);
    }
    match &findings.differences {
        None => text += "no manifest\n",
        Some(differences) if differences.is_empty() => text += "as its manifest says\n",
        Some(differences) => differences.iter().for_each(|line| text += &format!("{line}\n")),
    }
    text
}
