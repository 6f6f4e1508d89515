//! Engines of a few lines, and runs of the program against them.

#![allow(dead_code, reason = "each test crate uses its part")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;
use zeolite_bench::results::Results;

/// The program under test.
pub(crate) const BENCH: &str = env!("CARGO_BIN_EXE_zeolite-bench");

/// A directory with engine files, scenario files and results.
pub(crate) struct Rig {
    dir: TempDir,
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// An engine whose command is a line of shell.
    pub(crate) fn engine(&self, name: &str, shell: &str) {
        let text = format!(
            "name = '{name}'\nabout = 'A relay for a test.'\nprofile = 'none'\nready_s_max = 2\n\
             binary = {{ program = 'sh', variable = 'NO_SUCH_VARIABLE' }}\n\
             command = ['sh', '-c', '''{shell} # {{port}} {{dir}}''']\n"
        );
        fs::write(self.path(&format!("{name}.engine.toml")), text).unwrap();
    }

    /// An engine that answers everything and keeps nothing.
    pub(crate) fn good_engine(&self, name: &str) {
        self.engine(name, &format!("exec {BENCH} load null-server --listen 127.0.0.1:{{port}}"));
    }

    /// A live feed with three subscribers.
    pub(crate) fn scenario(&self, events: u32, rate_per_s: u32) {
        let text = format!(
            "name = 'tiny'\ntitle = 'Tiny'\ntimeout_s = 30\nrounds = 1\nanalysis = 'None.'\n\
             [[run]]\nargs = ['run', 'fanout-scaling', '--url', '{{url}}', '--pid', '{{pid}}', \
             '--subscribers', '3', '--events', '{events}', '--rate', '{rate_per_s}', \
             '--silence-s', '3']\nexpect = {{ 'n=3' = {{ deliveries = '{events}' }} }}\n"
        );
        fs::write(self.path("tiny.toml"), text).unwrap();
    }

    /// `zeolite-bench run tiny` with these engines.
    pub(crate) fn command(&self, engines: &[&str]) -> Command {
        let mut command = Command::new(BENCH);
        command.args(["run", "tiny", "--scenario-file"]).arg(self.path("tiny.toml"));
        command.arg("--out").arg(self.path("out")).arg("--corpora").arg(self.path("corpora"));
        for engine in engines {
            command.args(["--engine", engine]);
            command.arg("--engine-file").arg(self.path(&format!("{engine}.engine.toml")));
        }
        command
    }

    pub(crate) fn results(&self) -> Results {
        Results::read(&self.path("out")).unwrap()
    }

    pub(crate) fn page(&self) -> String {
        fs::read_to_string(self.path("out").join("report.md")).unwrap()
    }
}

/// Fails with what the program said.
pub(crate) fn assert_success(output: &Output) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {text}", output.status);
}

/// Nothing of a run is left behind but its results.
pub(crate) fn assert_clean(out: &Path) {
    assert!(!out.join("work").exists());
}
