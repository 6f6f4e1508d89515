//! What the events of `network-v1` are, and how many of each.

use zeolite_proto::Kind;

use crate::corpus::plan;

/// What an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Profile,
    Note,
    Reply,
    Contacts,
    Dm,
    Deletion,
    Repost,
    Reaction,
    Vanish,
    Wrap,
    Report,
    Zap,
    RelayList,
    DmRelays,
    RemoteSigning,
    Ephemeral,
    Article,
    AppData,
    Handler,
}

/// Of 10,000 events so many have this role. An estimate of the mix of a large public relay, rounded;
/// `docs/benchmarks/CORPORA.md` gives it by kind.
pub(super) const MIX: [(Role, u32); 19] = [
    (Role::Profile, 450),
    (Role::Note, 1_500),
    (Role::Reply, 1_300),
    (Role::Contacts, 400),
    (Role::Dm, 300),
    (Role::Deletion, 200),
    (Role::Repost, 600),
    (Role::Reaction, 2_200),
    (Role::Vanish, 3),
    (Role::Wrap, 900),
    (Role::Report, 60),
    (Role::Zap, 700),
    (Role::RelayList, 250),
    (Role::DmRelays, 57),
    (Role::RemoteSigning, 400),
    (Role::Ephemeral, 200),
    (Role::Article, 100),
    (Role::AppData, 350),
    (Role::Handler, 30),
];

impl Role {
    /// Whether each event is a version of an address that has a `d` tag.
    pub(super) fn is_addressable(self) -> bool {
        matches!(self, Self::Article | Self::AppData | Self::Handler)
    }

    /// Whether each event is a version of an address.
    pub(super) fn has_versions(self) -> bool {
        let is_list =
            matches!(self, Self::Profile | Self::Contacts | Self::RelayList | Self::DmRelays);
        is_list || self.is_addressable()
    }

    pub(super) fn kind(self) -> Kind {
        Kind(match self {
            Self::Profile => 0,
            Self::Note | Self::Reply => 1,
            Self::Contacts => 3,
            Self::Dm => 4,
            Self::Deletion => 5,
            Self::Repost => 6,
            Self::Reaction => 7,
            Self::Vanish => 62,
            Self::Wrap => 1059,
            Self::Report => 1984,
            Self::Zap => 9735,
            Self::RelayList => 10_002,
            Self::DmRelays => 10_050,
            Self::RemoteSigning => 24_133,
            // The one of several that is drawn for each event.
            Self::Ephemeral => 20_001,
            Self::Article => 30_023,
            Self::AppData => 30_078,
            Self::Handler => 31_990,
        })
    }
}

/// How many events of each role a corpus has.
pub(super) fn shares(events: u32) -> Vec<u32> {
    plan::shares(events, &MIX.map(|(_, weight)| weight))
}

/// How many gift wraps, each of which has a key of its own.
pub(super) fn wraps(events: u32) -> u32 {
    let at = MIX.iter().position(|(role, _)| *role == Role::Wrap);
    at.map_or(0, |at| shares(events)[at])
}
