//! The policy in force, and the file that keeps what administrators decided.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use arc_swap::{ArcSwap, Guard};
use parking_lot::Mutex;
use zeolite_policy::{Moderation, Policy, Rules};
use zeolite_proto::Timestamp;

use crate::replace_file::replace_file;
use crate::retention::floor;

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
        let floor = floor::read(dir, rules.retention.bytes_max);
        let (rules, moderation) = (Arc::new(rules.clone()), Arc::new(moderation));
        let policy = Policy { rules, moderation, floor };
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
            replace_file(&self.dir, FILE, &moderation.to_json())?;
            let moderation = Arc::new(moderation);
            self.current.store(Arc::new(Policy { moderation, ..Policy::clone(&policy) }));
        }
        Ok(result)
    }

    /// Sets the time up to which what may go for the store's size is not taken.
    pub(crate) fn set_floor(&self, floor: Option<Timestamp>) {
        let _turn = self.changing.lock();
        let policy = self.current.load();
        self.current.store(Arc::new(Policy { floor, ..Policy::clone(&policy) }));
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
        cell.change(|state| Command::ListBannedPubkeys.apply(state)).unwrap().unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        let key = PubKey([7; 32]);
        cell.change(|state| Command::BanPubkey(key, "spam".into()).apply(state)).unwrap().unwrap();
        assert!(cell.current().moderation.is_pubkey_banned(&key));
        cell.change(|state| Command::DisallowKind(Kind(7)).apply(state)).unwrap().unwrap();
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
