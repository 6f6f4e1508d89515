//! Where an engine's program is on this machine.

use std::env;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::engine::Binary;

/// Why there is no program to run.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum Missing {
    /// The variable is set and names nothing that exists.
    #[error("{variable} names no file")]
    Variable {
        /// The environment variable.
        variable: String,
    },
    /// It is nowhere.
    #[error("{program} is not on PATH and {variable} is not set")]
    Nowhere {
        /// The file name that was looked for.
        program: String,
        /// The environment variable that may name it.
        variable: String,
    },
    /// It belongs beside this program and has not been built.
    #[error("{program} is not built: cargo build --release -p zeolite-relay")]
    NotBuilt {
        /// The file name that was looked for.
        program: String,
    },
}

/// Where to look.
#[derive(Clone, Debug)]
pub struct Places {
    /// The directory of this program.
    pub beside: PathBuf,
    /// The directories of PATH, in order.
    pub path: Vec<PathBuf>,
}

impl Places {
    /// Those of this process.
    pub fn of_this_process() -> std::io::Result<Self> {
        let program = env::current_exe()?;
        let beside = program.parent().unwrap_or(Path::new(".")).to_owned();
        let path = env::var_os("PATH").unwrap_or_default();
        Ok(Self { beside, path: env::split_paths(&path).collect() })
    }

    /// The program: the variable's, else the one beside, else the first on PATH.
    pub fn find(&self, binary: &Binary) -> Result<PathBuf, Missing> {
        self.find_with(binary, env::var_os(&binary.variable).map(PathBuf::from))
    }

    fn find_with(&self, binary: &Binary, named: Option<PathBuf>) -> Result<PathBuf, Missing> {
        if let Some(path) = named.filter(|path| !path.as_os_str().is_empty()) {
            let variable = binary.variable.clone();
            return if path.is_file() { Ok(path) } else { Err(Missing::Variable { variable }) };
        }
        let beside = binary.beside.then_some(&self.beside);
        let mut places = beside.into_iter().chain(&self.path).map(|dir| dir.join(&binary.program));
        places.find(|path| path.is_file()).ok_or_else(|| missing(binary))
    }
}

fn missing(binary: &Binary) -> Missing {
    let program = binary.program.clone();
    if binary.beside {
        return Missing::NotBuilt { program };
    }
    Missing::Nowhere { program, variable: binary.variable.clone() }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn binary(beside: bool) -> Binary {
        Binary { program: "relay".to_owned(), variable: "RELAY_BIN".to_owned(), beside }
    }

    #[test]
    fn the_variable_wins_over_beside_over_path() {
        let root = tempfile::tempdir().unwrap();
        let file = |dir: &str| {
            fs::create_dir_all(root.path().join(dir)).unwrap();
            let path = root.path().join(dir).join("relay");
            fs::write(&path, "").unwrap();
            path
        };
        let (named, beside, on_path) = (file("named"), file("beside"), file("path"));
        let places = Places {
            beside: root.path().join("beside"),
            path: vec![root.path().join("empty"), root.path().join("path")],
        };
        assert_eq!(places.find_with(&binary(true), Some(named.clone())), Ok(named));
        assert_eq!(places.find_with(&binary(true), None), Ok(beside));
        assert_eq!(places.find_with(&binary(false), None), Ok(on_path));
    }

    #[test]
    fn what_is_missing_says_how_to_get_it() {
        let places = Places { beside: "/nowhere".into(), path: Vec::new() };
        let check = |beside, named: Option<&str>, expected: &str| {
            let error = places.find_with(&binary(beside), named.map(PathBuf::from)).unwrap_err();
            assert_eq!(error.to_string(), expected);
        };
        check(false, None, "relay is not on PATH and RELAY_BIN is not set");
        check(false, Some(""), "relay is not on PATH and RELAY_BIN is not set");
        check(false, Some("/nowhere/relay"), "RELAY_BIN names no file");
        check(true, None, "relay is not built: cargo build --release -p zeolite-relay");
    }
}
