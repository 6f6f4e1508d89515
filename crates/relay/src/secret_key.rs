//! A secret key: read from where only its owner reads, or made there, and used to sign events of our
//! own. It is never printed, and no message names any of it.

mod nsec;

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, ensure};
use k256::schnorr::SigningKey;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use zeolite_mirror::{Login, SignsLogins};
use zeolite_proto::{EventId, Kind, PubKey, Timestamp};

use crate::clock;
use crate::replace_file::replace_private_file;

/// The longest file that may hold a key: 64 hex digits or `nsec1` and 58 letters, and blanks.
const FILE_BYTES_MAX: u64 = 1 << 10;

/// A secret key of secp256k1.
pub(crate) struct SecretKey(SigningKey);

impl SecretKey {
    /// Reads 64 hex digits, or an `nsec` (NIP-19).
    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        let text = text.trim();
        let mut bytes = [0; 32];
        let is_hex =
            text.len() == 64 && faster_hex::hex_decode(text.as_bytes(), &mut bytes).is_ok();
        let bytes = if is_hex { Some(bytes) } else { nsec::decode(text) };
        let bytes = bytes.context("the key must be a secret key: 64 hex digits, or nsec1...")?;
        Ok(Self(SigningKey::from_slice(&bytes).ok().context("the key is no secret key")?))
    }

    /// Reads a file that nobody but its owner may read.
    pub(crate) fn read_private(path: &Path) -> anyhow::Result<Self> {
        let shown = path.display();
        let read = || format!("read the key from {shown}");
        let file = File::open(path).with_context(read)?;
        ensure_private(&file).with_context(read)?;
        let mut text = String::new();
        file.take(FILE_BYTES_MAX).read_to_string(&mut text).with_context(read)?;
        Self::parse(&text).with_context(read)
    }

    /// A new key, in a file of `dir` that nobody but its owner may read.
    pub(crate) fn make_private(dir: &Path, name: &str) -> io::Result<Self> {
        let mut bytes = [0; 32];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        // One number in 2^127 is none.
        let key = SigningKey::from_slice(&bytes).map_err(io::Error::other)?;
        replace_private_file(dir, name, &format!("{}\n", faster_hex::hex_string(&bytes)))?;
        Ok(Self(key))
    }

    /// Whose events it signs.
    pub(crate) fn pubkey(&self) -> PubKey {
        PubKey(self.0.verifying_key().to_bytes().into())
    }

    /// Signs an event of this moment; its id, and all of it.
    pub(crate) fn sign(&self, kind: Kind, tags: &Value, at: Timestamp) -> (EventId, Value) {
        let pubkey = self.pubkey().to_string();
        let preimage = json!([0, pubkey, at.0, kind.0, tags, ""]).to_string();
        let id = EventId(Sha256::digest(preimage).into());
        // What is random here only makes it harder to learn the key from the signer's power use: the
        // nonce is made of the key and the message as well (BIP-340). Zeros are as good.
        let sig = self.0.sign_raw(&id.0, &[0; 32]).expect("a nonce of a hash is never zero");
        let event = json!({
            "id": id.to_string(), "pubkey": pubkey, "created_at": at.0, "kind": kind.0,
            "tags": tags, "content": "", "sig": faster_hex::hex_string(&sig.to_bytes()),
        });
        (id, event)
    }
}

fn ensure_private(file: &File) -> anyhow::Result<()> {
    let mode = file.metadata()?.permissions().mode();
    ensure!(
        mode & 0o077 == 0,
        "others than its owner may read or change it (mode {:03o}); run chmod 600 on it",
        mode & 0o777
    );
    Ok(())
}

impl SignsLogins for SecretKey {
    fn sign(&self, relay_url: &str, challenge: &str) -> Login {
        let tags = json!([["relay", relay_url], ["challenge", challenge]]);
        let (id, event) = Self::sign(self, Kind::AUTH, &tags, clock::now());
        Login { id, json: event.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use zeolite_proto::{ClientMsg, EventParser, TagStr};
    use zeolite_schnorr::Verifier;

    use super::*;

    const HEX: &str = "67dea2ed018072d675f5415ecfaed7d2597555e202d85b3d65ea4e58d2d92ffa";
    const NSEC: &str = "nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5";

    /// NIP-19's own example, in either form; what is no key is not repeated.
    #[test]
    fn keys_are_read_in_both_forms() {
        let hex = SecretKey::parse(&format!("{HEX}\n")).expect("a key");
        let nsec = SecretKey::parse(NSEC).expect("a key");
        assert_eq!(hex.0.verifying_key().to_bytes(), nsec.0.verifying_key().to_bytes());
        let zeros = "0".repeat(64);
        for text in ["", &HEX[1..], &zeros, &NSEC[..60], "nsec1x", &NSEC.replace('v', "w")] {
            let error = SecretKey::parse(text).err().expect(text).to_string();
            assert!(text.is_empty() || !error.contains(text), "{error}");
        }
    }

    /// A login is an event that verifies, and names relay and challenge (NIP-42).
    #[test]
    fn logins_verify() {
        let key = SecretKey::parse(HEX).expect("a key");
        let login = SignsLogins::sign(&key, "ws://relay.example", "a \"challenge\"\u{1}");
        let text = format!("[\"AUTH\",{}]", login.json);
        let parsed = ClientMsg::parse(&text, &mut EventParser::new());
        let Ok(ClientMsg::Auth(event)) = parsed else { panic!("{parsed:?}") };
        let event = event.view();
        assert_eq!((event.id(), event.kind()), (login.id, Kind::AUTH));
        assert!(Verifier::new(1).verify(&event.pubkey(), &event.id(), &event.sig()));
        let tags: Vec<_> = event.tags().map(|tag| (tag.name(), tag.value())).collect();
        let text = |text: &'static [u8]| Some(TagStr::Text(text));
        let relay = (text(b"relay"), text(b"ws://relay.example"));
        assert_eq!(tags, [relay, (text(b"challenge"), text(b"a \"challenge\"\x01"))]);
    }

    /// A key that was made is the one that is read afterwards.
    #[test]
    fn a_new_key_is_kept() {
        let dir = tempfile::tempdir().expect("a directory can be made");
        let made = SecretKey::make_private(dir.path(), "key").expect("a key can be made");
        let read = SecretKey::read_private(&dir.path().join("key")).expect("it is private");
        assert_eq!(made.pubkey(), read.pubkey());
        let other = SecretKey::make_private(dir.path(), "other").expect("a key can be made");
        assert_ne!(made.pubkey(), other.pubkey());
    }

    #[test]
    fn a_key_that_others_may_read_is_not_used() {
        let dir = tempfile::tempdir().expect("a directory can be made");
        let path = dir.path().join("key");
        std::fs::write(&path, NSEC).expect("a file can be written");
        for (mode, is_used) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false)] {
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&path, permissions).expect("the file is ours");
            assert_eq!(SecretKey::read_private(&path).is_ok(), is_used, "{mode:o}");
        }
        let error = SecretKey::read_private(&path).err().expect("it is not private");
        let error = format!("{error:#}");
        assert!(error.contains("chmod 600") && !error.contains("nsec1v"), "{error}");
    }
}
