//! Runs the program in a directory of its own.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A directory that goes away, and commands that run in it.
pub(crate) struct Place(TempDir);

/// How a command ended.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory can be made"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file of one JSON value a line.
    pub(crate) fn write_lines(&self, name: &str, lines: &[Value]) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        self.write(name, text.as_bytes());
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).expect("a file can be written");
    }

    /// The program, without the environment's settings.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_zeolite-relay"));
        let ours = std::env::vars().filter(|(name, _)| name.starts_with("ZEOLITE_"));
        ours.for_each(|(name, _)| {
            command.env_remove(name);
        });
        command.current_dir(self.0.path()).args(words(line)).stdin(Stdio::null());
        command
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, line: &str) -> Ran {
        self.command(line).output().expect("the program runs").into()
    }

    /// Runs it to its end with this on standard input.
    pub(crate) fn run_with(&self, line: &str, input: &[u8]) -> Ran {
        let mut command = self.command(line);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program runs");
        let mut stdin = child.stdin.take().expect("it is piped");
        std::thread::scope(|scope| {
            scope.spawn(move || stdin.write_all(input).expect("the program reads its input"));
            child.wait_with_output().expect("the program ends").into()
        })
    }

    /// Runs it, and expects success.
    pub(crate) fn ok(&self, line: &str) -> Ran {
        let ran = self.run(line);
        assert_eq!(ran.code, 0, "{line}: {}", ran.stderr);
        ran
    }

    /// The events of a store, as the export gives them.
    pub(crate) fn export(&self, db: &str) -> Vec<String> {
        self.ok(&format!("export --db {db}")).stdout.lines().map(str::to_owned).collect()
    }

    /// Starts a relay and waits until it listens.
    pub(crate) fn serve(&self, db: &str) -> Relay {
        let mut command = self.command(&format!("serve --listen 127.0.0.1:0 --db {db}"));
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the program runs");
        let mut log = BufReader::new(child.stderr.take().expect("it is piped"));
        let url = loop {
            let mut line = String::new();
            assert_ne!(log.read_line(&mut line).expect("the log is text"), 0, "it never listened");
            if let Some((_, address)) = line.split_once("listening on ws://") {
                let address = address.split_whitespace().next().expect("an address");
                break format!("ws://{address}");
            }
        };
        // Whoever logs into a full pipe would wait for us.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        Relay { child, url }
    }
}

/// Splits at blanks; a filter holds none.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(' ').filter(|word| !word.is_empty())
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("the output is UTF-8");
        Self {
            code: output.status.code().expect("it was not killed"),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

impl Ran {
    /// The number before this word in an import's summary.
    pub(crate) fn count(&self, word: &str) -> u64 {
        let lines = self.stderr.lines().chain(self.stdout.lines());
        let mut counts = lines.filter_map(|line| {
            let (number, rest) = line.trim().split_once(' ')?;
            (rest == word).then(|| number.parse().expect("a number"))
        });
        counts.next().unwrap_or_else(|| panic!("no {word} in {}{}", self.stdout, self.stderr))
    }

    /// The summary says so, and zero of everything else.
    pub(crate) fn assert_counts(&self, expected: &[(&str, u64)]) {
        for word in [
            "read",
            "stored",
            "duplicate",
            "superseded",
            "deleted",
            "vanished",
            "expired",
            "ephemeral",
            "refused",
        ] {
            let wanted = expected.iter().find(|(known, _)| *known == word).map_or(0, |(_, n)| *n);
            assert_eq!(self.count(word), wanted, "{word} in {}", self.stderr);
        }
    }
}

/// A running relay; it is stopped when this is dropped.
pub(crate) struct Relay {
    child: Child,
    pub(crate) url: String,
}

impl Relay {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let _ = signal(self.pid(), "TERM");
        let _ = self.child.wait();
    }
}

/// Sends a signal to a process that this test started.
pub(crate) fn signal(pid: u32, name: &str) -> bool {
    let sent = Command::new("kill").arg(format!("-{name}")).arg(pid.to_string()).status();
    sent.is_ok_and(|status| status.success())
}

/// The text of a file.
pub(crate) fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a text file")
}

/// Sorted, for comparison as a set.
pub(crate) fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort();
    lines
}
