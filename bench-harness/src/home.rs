//! An engine's directory: its configuration and its store, and the commands that work on them.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::engine::{Engine, Transfer};
use crate::probe;
use crate::processes::{Launch, Process, Processes};
use crate::record::Identity;
use crate::template::Values;

/// An engine whose program was found.
#[derive(Clone, Debug)]
pub struct Installed {
    /// The description.
    pub engine: Engine,
    /// The program.
    pub program: PathBuf,
    /// What its version command said.
    pub version: String,
}

impl Installed {
    /// How rows name it.
    pub fn identity(&self) -> Identity {
        Identity {
            name: self.engine.name.clone(),
            version: self.version.clone(),
            profile: self.engine.profile.clone(),
        }
    }
}

/// A directory with everything that one relay keeps.
#[derive(Debug)]
pub struct Home {
    dir: PathBuf,
    port: u16,
    values: Values,
    command: Vec<String>,
    ready_max: Duration,
}

/// Between two attempts at a handshake: a small part of the time any relay takes to start.
const PROBE_INTERVAL: Duration = Duration::from_millis(20);

/// For a relay that was asked to stop; those with a full cache take their time.
const STOP_MAX: Duration = Duration::from_secs(30);

impl Home {
    /// Makes the directory and writes the configuration, for a port that is free at this moment.
    pub fn make(installed: &Installed, dir: &Path) -> anyhow::Result<Self> {
        let engine = &installed.engine;
        fs::create_dir_all(dir.join("store")).context("cannot make a directory for the store")?;
        let port = probe::free_port().context("no free port")?;
        let values = Values::new()
            .with("bin", installed.program.to_string_lossy())
            .with("port", port.to_string())
            .with("dir", dir.join("store").to_string_lossy());
        let values = match &engine.config {
            None => values,
            Some(config) => {
                let path = dir.join(&config.name);
                fs::write(&path, values.fill(&config.template)).context("cannot configure")?;
                values.with("config", path.to_string_lossy())
            }
        };
        Ok(Self {
            dir: dir.to_owned(),
            port,
            command: values.fill_all(&engine.command),
            values,
            ready_max: Duration::from_secs(engine.ready_s_max),
        })
    }

    /// Where the relay's files are.
    pub fn store(&self) -> PathBuf {
        self.dir.join("store")
    }

    /// Where clients connect when the relay runs.
    pub fn url(&self) -> String {
        format!("ws://127.0.0.1:{}", self.port)
    }

    /// Placeholders of this home.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// Starts the relay and waits until it answers.
    pub fn boot(&self, processes: &Processes) -> anyhow::Result<Process> {
        let mut relay =
            self.start(processes, "relay", self.command.clone(), Stdio::null(), Stdio::null())?;
        let start = Instant::now();
        loop {
            if let Some(socket) = probe::answers(self.port) {
                relay.keep(socket);
                return Ok(relay);
            }
            if let Some(status) = relay.ended() {
                bail!("the relay did not start: {status}\n{}", relay.stderr_tail());
            }
            if start.elapsed() > self.ready_max {
                let seconds = self.ready_max.as_secs();
                bail!("the relay was not ready after {seconds} s\n{}", relay.stderr_tail());
            }
            std::thread::sleep(PROBE_INTERVAL);
        }
    }

    /// Stops a relay of this home in the way its operator would.
    pub fn stop(mut relay: Process) {
        relay.stop(STOP_MAX);
    }

    /// Starts an import from, or an export to, a file.
    pub fn transfer(
        &self,
        processes: &Processes,
        transfer: &Transfer,
        file: &Path,
        way: Way,
    ) -> anyhow::Result<Process> {
        let values = self.values.clone().with("file", file.to_string_lossy());
        let (stdin, stdout) = match (transfer.is_piped(), way) {
            (true, Way::In) => (File::open(file).context("no corpus")?.into(), Stdio::null()),
            (true, Way::Out) => (Stdio::null(), File::create(file)?.into()),
            (false, _) => (Stdio::null(), Stdio::null()),
        };
        self.start(processes, "transfer", values.fill_all(&transfer.command), stdin, stdout)
    }

    /// Starts any command in this home; its standard error goes to a file of this name.
    pub fn start(
        &self,
        processes: &Processes,
        name: &str,
        command: Vec<String>,
        stdin: Stdio,
        stdout: Stdio,
    ) -> anyhow::Result<Process> {
        let stderr = self.dir.join(format!("{name}.stderr"));
        Ok(processes.spawn(Launch { command, dir: &self.dir, stdin, stdout, stderr })?)
    }
}

/// Which way events go between a store and a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Into the store.
    In,
    /// Out of it.
    Out,
}

/// Waits for a bulk command and turns its failure into an error with its last words.
pub fn finish(process: &mut Process, what: &str, time_max: Duration) -> anyhow::Result<()> {
    match process.wait(time_max) {
        Some(status) if status.success() => Ok(()),
        Some(status) => bail!("{what} failed: {status}\n{}", process.stderr_tail()),
        None => bail!("{what} took more than {} s\n{}", time_max.as_secs(), process.stderr_tail()),
    }
}

/// Bytes that the files of a directory take on the disk.
pub fn disk_bytes(dir: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    const BLOCK_BYTES: u64 = 512;
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    let of_one = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => disk_bytes(&entry.path()),
        Ok(metadata) => metadata.blocks() * BLOCK_BYTES,
        Err(_) => 0,
    };
    entries.flatten().map(of_one).sum()
}

/// Copies a directory and waits for the disk, so that the copy's write-back is not measured later.
pub fn copy_dir(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy_dir(&entry.path(), &target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), &target)?;
            File::open(&target)?.sync_all()?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_copied_whole() {
        let root = tempfile::tempdir().unwrap();
        let (from, to) = (root.path().join("a"), root.path().join("b"));
        fs::create_dir_all(from.join("deep")).unwrap();
        fs::write(from.join("deep/file"), vec![1; 10_000]).unwrap();
        copy_dir(&from, &to).unwrap();
        assert_eq!(fs::read(to.join("deep/file")).unwrap().len(), 10_000);
        assert!(disk_bytes(&to) >= 10_000);
        assert_eq!(disk_bytes(Path::new("/nowhere")), 0);
    }
}
