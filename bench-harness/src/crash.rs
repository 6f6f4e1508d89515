//! Scenario `crash`: the relay is killed while events are acknowledged, started again on what it
//! left, and asked for everything that it had acknowledged.
//!
//! The driver decides when: it runs a command that asks the harness, which owns the relay, over a
//! local port, and goes on when the relay is back.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow, ensure};
use zeolite_loadgen::report::Status;

use crate::bench::Bench;
use crate::home::{Home, Installed};
use crate::load::{Loader, Printed};
use crate::processes::{Process, Processes};
use crate::scenario::{Run, Scenario};
use crate::under_load::{Outcome, arguments, completed};

const RESTART: &str = "restart";
const END: &str = "end";
const DONE: &str = "done";

/// Runs one start of the scenario against one engine.
pub fn run(
    bench: &mut Bench<'_>,
    scenario: &Scenario,
    run: &Run,
    installed: &Installed,
) -> anyhow::Result<Outcome> {
    let (home, dir) = bench.home(installed)?;
    let outcome = measure(bench.processes, &bench.loader, scenario, run, &home, &dir);
    bench.leave(&dir);
    outcome
}

fn measure(
    processes: &Processes,
    loader: &Loader<'_>,
    scenario: &Scenario,
    run: &Run,
    home: &Home,
    dir: &Path,
) -> anyhow::Result<Outcome> {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port for restarts")?;
    let addr = port.local_addr()?;
    let relay = home.boot(processes)?;
    let command = format!("{} ask-restart {addr}", processes.program().display());
    let args = arguments(run, home, &relay, None, dir);
    let args = args.iter().map(|arg| arg.replace("{restart}", &command)).collect();
    let time_max = Duration::from_secs(scenario.timeout_s);
    let (printed, relay) = thread::scope(|scope| {
        // The load's process lives as long as the thread that started it.
        let load = scope.spawn(move || {
            let printed = loader.run(dir, args, time_max, |_| {});
            // The other side listens until it hears this.
            let told = tell(addr, END);
            told.and(printed)
        });
        let relay = restart_when_asked(processes, home, relay, &port);
        (load.join().map_err(|_| anyhow!("the thread of the load panicked")), relay)
    });
    let printed: Printed = printed??;
    let relay = relay.context("after a kill")?;
    let reports = completed(scenario, run, printed.reports, printed.failure);
    let is_bad = reports.iter().any(|report| report.status != Status::Passed);
    let stderr = is_bad.then(|| relay.stderr_tail());
    Home::stop(relay);
    Ok(Outcome { reports, stderr, ..Outcome::default() })
}

/// Kills and starts the relay as often as asked, until the load has ended. A relay that does not
/// come back is an error, which the driver's command hears as a closed connection.
fn restart_when_asked(
    processes: &Processes,
    home: &Home,
    relay: Process,
    port: &TcpListener,
) -> anyhow::Result<Process> {
    let mut relay = Ok(relay);
    loop {
        let (mut asker, _) = port.accept()?;
        let mut line = String::new();
        BufReader::new(&asker).read_line(&mut line)?;
        if line.trim() != RESTART {
            return relay;
        }
        relay = relay.and_then(|mut running| {
            running.kill();
            drop(running);
            home.boot(processes)
        });
        if relay.is_ok() {
            // The command may have been killed meanwhile.
            let _ = writeln!(asker, "{DONE}");
        }
    }
}

/// The command that the driver runs: returns when the relay has been killed and is back.
pub fn ask_restart(addr: SocketAddr) -> anyhow::Result<()> {
    tell(addr, RESTART)
}

fn tell(addr: SocketAddr, what: &str) -> anyhow::Result<()> {
    let mut socket = TcpStream::connect(addr).context("the harness does not listen")?;
    writeln!(socket, "{what}")?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer)?;
    ensure!(what == END || answer.trim() == DONE, "the relay did not come back");
    Ok(())
}
