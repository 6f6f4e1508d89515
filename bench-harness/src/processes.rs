//! Processes that cannot outlive the harness: each has a process group of its own, a registry knows
//! all groups, and the kernel kills them when the harness itself is killed ([`crate::guard`]).

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use thiserror::Error;

use crate::deadline::Deadline;
use crate::sampler::Sample;

/// The registry of running processes. Clones share it.
#[derive(Clone, Debug)]
pub struct Processes {
    /// This program, which knows the hidden command `guarded`.
    program: PathBuf,
    running: Arc<Mutex<Running>>,
}

#[derive(Debug, Default)]
struct Running {
    groups: BTreeSet<u32>,
    interrupted: bool,
}

/// What to start.
#[derive(Debug)]
pub struct Launch<'a> {
    /// The command, the program first.
    pub command: Vec<String>,
    /// Its working directory, where whatever it litters goes away with the run.
    pub dir: &'a Path,
    /// Where its standard input comes from.
    pub stdin: Stdio,
    /// Where its standard output goes.
    pub stdout: Stdio,
    /// The file that takes its standard error.
    pub stderr: PathBuf,
}

/// Why nothing was started.
#[derive(Debug, Error)]
pub enum SpawnError {
    /// The user has asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// The system refused.
    #[error("cannot start {program}: {source}")]
    System {
        /// The program.
        program: String,
        /// The reason.
        source: io::Error,
    },
}

/// The environment of every process: what programs need to run, and nothing that a relay might take
/// for its settings.
const KEPT: [&str; 6] = ["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH"];

impl Processes {
    /// An empty registry; `program` is the `zeolite-bench` that guards the processes.
    pub fn new(program: PathBuf) -> Self {
        Self { program, running: Arc::default() }
    }

    /// This program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Starts a process in a group of its own.
    pub fn spawn(&self, launch: Launch<'_>) -> Result<Process, SpawnError> {
        let program = launch.command.first().cloned().unwrap_or_default();
        let stderr = launch.stderr.clone();
        // Under the lock, so that an interrupt either sees the group or prevents it.
        let mut running = self.lock();
        if running.interrupted {
            return Err(SpawnError::Interrupted);
        }
        let child = self.start(launch).map_err(|source| SpawnError::System { program, source })?;
        running.groups.insert(child.id());
        Ok(Process { child, stderr, running: self.clone(), kept: None, last_look: None })
    }

    fn start(&self, launch: Launch<'_>) -> io::Result<Child> {
        let kept = std::env::vars_os().filter(|(name, _)| KEPT.iter().any(|kept| name == kept));
        Command::new(&self.program)
            .env_clear()
            .envs(kept)
            .arg("guarded")
            .arg(std::process::id().to_string())
            .arg("--")
            .args(&launch.command)
            .current_dir(launch.dir)
            .stdin(launch.stdin)
            .stdout(launch.stdout)
            .stderr(File::create(&launch.stderr)?)
            .process_group(0)
            .spawn()
    }

    /// Kills everything and lets nothing more start.
    pub fn interrupt(&self) {
        let mut running = self.lock();
        running.interrupted = true;
        running.groups.iter().copied().for_each(kill_group);
    }

    /// Whether [`Self::interrupt`] was called.
    pub fn is_interrupted(&self) -> bool {
        self.lock().interrupted
    }

    fn lock(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running process with all it has started. Dropping it kills them.
#[derive(Debug)]
pub struct Process {
    child: Child,
    stderr: PathBuf,
    running: Processes,
    kept: Option<TcpStream>,
    last_look: Option<Sample>,
}

impl Process {
    /// The process id, which is also the id of its group.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it had spent when [`Self::wait`] saw its end.
    pub fn last_look(&self) -> Option<Sample> {
        self.last_look
    }

    /// Keeps a connection to it open for as long as it runs.
    pub fn keep(&mut self, socket: TcpStream) {
        self.kept = Some(socket);
    }

    /// Its piped standard output.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Waits for its end, at most this long; then it is killed and the answer is `None`.
    ///
    /// What it has spent by then is in [`Self::last_look`]: short commands end between two samples.
    pub fn wait(&mut self, time_max: Duration) -> Option<ExitStatus> {
        let deadline = self.kill_after(time_max);
        if let Some(pid) = pid(self.id()) {
            // Until it is reaped, the kernel still knows what it spent. An error leaves no look.
            let ended = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
            self.last_look = ended.ok().and_then(|_| Sample::take(self.id()));
        }
        let status = self.child.wait().ok();
        if deadline.has_passed() { None } else { status }
    }

    /// Kills the group when the time is over, unless the deadline is dropped before.
    pub fn kill_after(&self, time_max: Duration) -> Deadline {
        let group = self.id();
        Deadline::start(time_max, move || kill_group(group))
    }

    /// SIGKILL, as a crash: nothing can be cleaned up.
    pub fn kill(&mut self) {
        kill_group(self.id());
        // Its end is certain; how it ended says nothing.
        let _ = self.child.wait();
    }

    /// SIGTERM, and SIGKILL when that does not help in time.
    pub fn stop(&mut self, time_max: Duration) {
        if let Some(pid) = pid(self.id()) {
            // It may have ended already.
            let _ = kill_process_group(pid, Signal::TERM);
        }
        self.wait(time_max);
    }

    /// The last lines of its standard error.
    pub fn stderr_tail(&self) -> String {
        let text = std::fs::read(&self.stderr).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        let from = lines.len().saturating_sub(STDERR_LINES_MAX);
        lines[from..].iter().map(|line| shortened(line)).collect::<Vec<_>>().join("\n")
    }
}

/// Lines of standard error that an error row carries.
const STDERR_LINES_MAX: usize = 10;

/// Characters of one such line: a relay may log a whole event.
const STDERR_CHARS_MAX: usize = 300;

fn shortened(line: &str) -> String {
    line.chars().take(STDERR_CHARS_MAX).collect()
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        self.running.lock().groups.remove(&self.child.id());
    }
}

fn pid(id: u32) -> Option<Pid> {
    i32::try_from(id).ok().and_then(Pid::from_raw)
}

/// Kills everything in a process group.
pub fn kill_group(id: u32) {
    if let Some(pid) = pid(id) {
        // An error means that nothing is left to kill.
        let _ = kill_process_group(pid, Signal::KILL);
    }
}
