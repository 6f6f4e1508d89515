//! `zeolite-load run ...` and `zeolite-load null-server`

use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;

use crate::cli::RunArgs;
use crate::null_server::NullServer;
use crate::report::{Report, Status};
use crate::target::Target;

/// The exit code of a run in which a row did not pass.
const FINDINGS: u8 = 3;

/// Runs a scenario: a line of JSON for each row.
pub(crate) fn run(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let target = Target::new(&args.url, args.pid)?;
    let mut all_passed = true;
    let mut broken = None;
    args.scenario.run(&target, &mut |report: Report| {
        all_passed &= report.status == Status::Passed;
        if let Err(error) = print(&report) {
            broken.get_or_insert(error);
        }
    });
    if let Some(error) = broken {
        return Err(error);
    }
    Ok(if all_passed { ExitCode::SUCCESS } else { ExitCode::from(FINDINGS) })
}

/// Serves until the process is ended.
pub(crate) fn null_server(listen: SocketAddr) -> anyhow::Result<ExitCode> {
    let server = NullServer::bind(listen)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", server.url())?;
    out.flush()?;
    server.serve()?;
    Ok(ExitCode::SUCCESS)
}

/// A row is whole on the pipe as soon as it is there, so that a reader may be stopped in between.
fn print(report: &Report) -> anyhow::Result<()> {
    let mut line = serde_json::to_vec(report)?;
    line.push(b'\n');
    let mut out = std::io::stdout().lock();
    out.write_all(&line)?;
    Ok(out.flush()?)
}
