//! The policy in force, and the file that keeps what administrators decided.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use arc_swap::{ArcSwap, Guard};
use parking_lot::Mutex;
use zeolite_policy::{Moderation, Policy, Rules};

/// The file's name in the store's directory.
const FILE: &str = "moderation.json";

/// The policy of this moment: read by everyone who takes events, changed by administrators.
pub(crate) struct PolicyCell {
    current: ArcSwap<Policy>,
    dir: PathBuf,
    changing: Mutex<()>,
}

impl PolicyCell {
    /// Reads what administrators decided before, if anything.
    pub(crate) fn open(rules: &Rules, dir: &Path) -> anyhow::Result<Self> {
        let path = dir.join(FILE);
        let moderation = match fs::read_to_string(&path) {
            Ok(json) => Moderation::from_json(&json).with_context(|| {
                format!("{} cannot be read; mend it or move it away", path.display())
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Moderation::default(),
            Err(error) => return Err(error).with_context(|| format!("read {}", path.display())),
        };
        let policy = Policy { rules: Arc::new(rules.clone()), moderation: Arc::new(moderation) };
        let current = ArcSwap::from_pointee(policy);
        Ok(Self { current, dir: dir.into(), changing: Mutex::new(()) })
    }

    /// The policy as it is.
    pub(crate) fn current(&self) -> Guard<Arc<Policy>> {
        self.current.load()
    }

    /// Changes what administrators decide. It is in force, and in the file, when this returns; if the
    /// file cannot be written, nothing has changed.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Moderation) -> T) -> io::Result<T> {
        let _turn = self.changing.lock();
        let policy = self.current.load();
        let mut moderation = Moderation::clone(&policy.moderation);
        let result = change(&mut moderation);
        if moderation != *policy.moderation {
            self.write(&moderation.to_json())?;
            let moderation = Arc::new(moderation);
            self.current.store(Arc::new(Policy { moderation, ..Policy::clone(&policy) }));
        }
        Ok(result)
    }

    /// Replaces the file in one step: after a crash it is the old one or the new one.
    fn write(&self, json: &str) -> io::Result<()> {
        let fresh = self.dir.join("moderation.json.new");
        let mut file = File::create(&fresh)?;
        file.write_all(json.as_bytes())?;
        file.sync_all()?;
        fs::rename(&fresh, self.dir.join(FILE))?;
        File::open(&self.dir)?.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use zeolite_policy::Command;
    use zeolite_proto::{Kind, PubKey};

    use super::*;

    /// R86-05: decisions survive a restart; asking writes nothing.
    #[test]
    fn decisions_are_there_after_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let open = || PolicyCell::open(&Rules::default(), dir.path()).unwrap();
        let cell = open();
        cell.change(|state| Command::ListBannedPubkeys.apply(state)).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        let key = PubKey([7; 32]);
        cell.change(|state| Command::BanPubkey(key, "spam".into()).apply(state)).unwrap();
        assert!(cell.current().moderation.is_pubkey_banned(&key));
        cell.change(|state| Command::DisallowKind(Kind(7)).apply(state)).unwrap();
        let moderation = &open().current().moderation.clone();
        assert!(moderation.is_pubkey_banned(&key) && moderation.is_kind_disallowed(Kind(7)));
    }

    /// What could not be written is not in force either; a damaged file stops the start and is
    /// kept.
    #[test]
    fn failures_change_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let gone = dir.path().join("gone");
        let cell = PolicyCell::open(&Rules::default(), &gone).unwrap();
        let key = PubKey([7; 32]);
        assert!(cell.change(|state| Command::BanPubkey(key, String::new()).apply(state)).is_err());
        assert!(!cell.current().moderation.is_pubkey_banned(&key));
        fs::write(dir.path().join(FILE), "{").unwrap();
        assert!(PolicyCell::open(&Rules::default(), dir.path()).is_err());
        assert_eq!(fs::read_to_string(dir.path().join(FILE)).unwrap(), "{");
    }
}
