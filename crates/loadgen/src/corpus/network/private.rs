//! What is not for everyone, or not to be kept: messages, gift wraps, ephemeral events.

use zeolite_proto::Kind;

use crate::corpus::body::Body;
use crate::corpus::compose::Composed;
use crate::corpus::fixed::Spread;
use crate::corpus::network::roles::Role;
use crate::corpus::network::{Network, WALLETS};
use crate::corpus::rng::Rng;
use crate::corpus::text::push_base64;

const DM: Spread = Spread { median: 180, deviation: 120, max: 20_000 };
const WRAP: Spread = Spread { median: 1_300, deviation: 90, max: 60_000 };
const SIGNING: Spread = Spread { median: 500, deviation: 90, max: 30_000 };
/// Presence, chat at a place, wallet requests and answers, calls.
const EPHEMERAL_KINDS: &[u16] = &[20_000, 20_001, 23_194, 23_195, 25_050];

impl Network {
    pub(super) fn compose_private(
        &mut self,
        role: Role,
        rng: &mut Rng,
        body: &mut Body,
    ) -> Composed {
        let (author, recipient) = (self.busy_author(rng), self.busy_author(rng));
        let mut composed = Composed::new(author, role.kind());
        match role {
            Role::Dm => {
                body.hex_tag("p", &self.pubkey(recipient));
                self.push_secret(DM, rng, body);
                self.scratch.clear();
                self.scratch.extend_from_slice(b"?iv=");
                push_base64(22, rng, &mut self.scratch);
                self.scratch.extend_from_slice(b"==");
                body.content(&self.scratch);
            }
            Role::Wrap => {
                composed.key = self.zipf.count() + WALLETS + self.wraps_made;
                self.wraps_made += 1;
                self.wrap_recipient = recipient;
                body.hex_tag("p", &self.pubkey(recipient));
                self.push_secret(WRAP, rng, body);
            }
            Role::RemoteSigning => {
                body.hex_tag("p", &self.pubkey(recipient));
                self.push_secret(SIGNING, rng, body);
            }
            _ => {
                composed.kind = Kind(*rng.pick(EPHEMERAL_KINDS));
                body.tag("g", self.writer.name(rng));
                self.write(self.script_of(author), DM, rng);
                body.content(&self.scratch);
            }
        }
        composed
    }

    /// Ciphertext: base64, which always has a multiple of four digits.
    fn push_secret(&mut self, spread: Spread, rng: &mut Rng, body: &mut Body) {
        let digits = spread.draw(&self.exp2, rng).next_multiple_of(4);
        self.scratch.clear();
        push_base64(digits, rng, &mut self.scratch);
        body.content(&self.scratch);
    }
}
