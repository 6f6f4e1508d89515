//! The events by which a relay tells of its roles (NIP-43): what they say, and which are due.
//!
//! Additions and removals of single members (kinds 8000 and 8001) are not told: a relay may, and
//! they would say nothing that the list of members does not. A list can be compared with what was
//! published and so be told again after a crash; a report of a change cannot.

use std::collections::{BTreeMap, BTreeSet};

use zeolite_proto::{Kind, PubKey};

use crate::roles::{Role, Roles};

/// A role; its `d` tag is the role's id.
const ROLE: Kind = Kind(33_534);

/// The members and their roles.
const MEMBERS: Kind = Kind(13_534);

/// Tags as texts.
pub type Tags = Vec<Vec<String>>;

/// What a notice is about. A later one about the same takes its place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// The role of this id.
    Role(String),
    /// Who has which role.
    Members,
}

/// An event without content that the relay has to sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Its kind.
    pub kind: Kind,
    /// All of its tags.
    pub tags: Tags,
}

/// What a relay published about its roles, as far as it is still stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PublishedRoles(BTreeMap<Topic, Tags>);

impl Topic {
    /// The kinds of all topics.
    pub const KINDS: [Kind; 2] = [MEMBERS, ROLE];

    fn kind(&self) -> Kind {
        match self {
            Self::Role(_) => ROLE,
            Self::Members => MEMBERS,
        }
    }
}

impl PublishedRoles {
    /// Takes note of a stored event. Those of other kinds say nothing about roles.
    pub fn add(&mut self, Notice { kind, tags }: Notice) {
        let topic = match kind {
            MEMBERS => Topic::Members,
            ROLE => {
                let id = tags.iter().find(|tag| tag.first().is_some_and(|name| name == "d"));
                Topic::Role(id.and_then(|tag| tag.get(1).cloned()).unwrap_or_default())
            }
            _ => return,
        };
        self.0.insert(topic, tags);
    }
}

impl Roles {
    /// What has to be signed so that what `relay` published says what these roles are. Nothing, once
    /// it was published: so this heals whatever a crash left half told. A role that is no more is
    /// deleted (NIP-09).
    pub fn due_notices(&self, published: &PublishedRoles, relay: &PubKey) -> Vec<Notice> {
        if self.is_empty() && published.0.is_empty() {
            return Vec::new();
        }
        let current = self.topics();
        let is_told = |topic: &Topic, tags: &Tags| published.0.get(topic) == Some(tags);
        let gone: Vec<_> =
            published.0.keys().filter(|topic| !current.contains_key(topic)).collect();
        let deletion = deletion(&gone, relay);
        let changed = current.into_iter().filter(|(topic, tags)| !is_told(topic, tags));
        changed.map(|(topic, tags)| Notice { kind: topic.kind(), tags }).chain(deletion).collect()
    }

    /// R43-01: everything there is to say, all of it protected (NIP-70).
    fn topics(&self) -> BTreeMap<Topic, Tags> {
        let roles = self.by_id.iter();
        let mut topics: BTreeMap<_, _> =
            roles.map(|(id, role)| (Topic::Role(id.clone()), role_tags(id, role))).collect();
        topics.insert(Topic::Members, self.member_tags());
        topics
    }

    fn member_tags(&self) -> Tags {
        let member = |(key, roles): (&PubKey, &BTreeSet<String>)| {
            let mut tag = tag("member", key.to_string());
            tag.extend(roles.iter().cloned());
            tag
        };
        [protected()].into_iter().chain(self.of_member.iter().map(member)).collect()
    }
}

fn role_tags(id: &str, role: &Role) -> Tags {
    let mut tags = vec![protected(), tag("d", id)];
    for (name, text) in [("label", &role.label), ("description", &role.description)] {
        if !text.is_empty() {
            tags.push(tag(name, text.as_str()));
        }
    }
    tags.extend(role.color.map(|color| tag("color", color.to_string())));
    tags.extend(role.order.map(|order| tag("order", order.to_string())));
    tags
}

/// Nothing, if nothing is gone.
fn deletion(gone: &[&Topic], relay: &PubKey) -> Option<Notice> {
    let address = |topic: &&Topic| match topic {
        Topic::Role(id) => Some(tag("a", format!("{ROLE}:{relay}:{id}"))),
        Topic::Members => None,
    };
    let addresses: Vec<_> = gone.iter().filter_map(address).collect();
    if addresses.is_empty() {
        return None;
    }
    let tags = [protected()].into_iter().chain(addresses).chain([tag("k", ROLE.to_string())]);
    Some(Notice { kind: Kind::DELETION, tags: tags.collect() })
}

fn protected() -> Vec<String> {
    vec!["-".to_owned()]
}

fn tag(name: &str, value: impl Into<String>) -> Vec<String> {
    vec![name.to_owned(), value.into()]
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const RELAY: PubKey = PubKey([9; 32]);

    /// Publishes what is due, and gives it as pairs of kind and tags.
    fn publish(roles: &Roles, published: &mut PublishedRoles) -> Value {
        let due = roles.due_notices(published, &RELAY);
        for notice in &due {
            published.add(notice.clone());
        }
        due.iter().map(|notice| json!([notice.kind.0, notice.tags])).collect()
    }

    /// R43-01: roles and members as events, protected, each told once and again when it changes.
    #[test]
    fn what_differs_is_due() {
        let (mut roles, published) = (Roles::default(), &mut PublishedRoles::default());
        assert_eq!(publish(&roles, published), json!([]), "a relay without roles says nothing");
        let full = Role {
            label: "Moderator".to_owned(),
            description: "keeps order".to_owned(),
            color: Some(0),
            order: Some(-1),
        };
        roles.create("mod".to_owned(), full).expect("a new role");
        roles.create("vip".to_owned(), Role::default()).expect("a new role");
        let moderator = json!([
            33_534,
            [
                ["-"],
                ["d", "mod"],
                ["label", "Moderator"],
                ["description", "keeps order"],
                ["color", "0"],
                ["order", "-1"],
            ]
        ]);
        let vip = json!([33_534, [["-"], ["d", "vip"]]]);
        assert_eq!(publish(&roles, published), json!([moderator, vip, [13_534, [["-"]]]]));
        assert_eq!(publish(&roles, published), json!([]));
        let (one, two) = (PubKey([1; 32]), PubKey([2; 32]));
        for (member, id) in [(two, "mod"), (one, "vip"), (one, "mod")] {
            roles.assign(member, id.to_owned()).expect("a role that is there");
        }
        let members = json!([
            13_534,
            [["-"], ["member", one.to_string(), "mod", "vip"], ["member", two.to_string(), "mod"],]
        ]);
        assert_eq!(publish(&roles, published), json!([members]));
        let edited = Role { label: "VIP".to_owned(), ..Role::default() };
        roles.edit("vip".to_owned(), edited).expect("a role that is there");
        let vip = json!([33_534, [["-"], ["d", "vip"], ["label", "VIP"]]]);
        assert_eq!(publish(&roles, published), json!([vip]));
        // What a crash lost is told again, and nothing else.
        published.0.remove(&Topic::Members);
        assert_eq!(publish(&roles, published), json!([members]));
    }

    /// A role that is no more is deleted by its address, also the last one, whose members go too.
    #[test]
    fn roles_that_are_gone_are_deleted() {
        let (mut roles, published) = (Roles::default(), &mut PublishedRoles::default());
        for id in ["a:b", "c", "d"] {
            roles.create(id.to_owned(), Role::default()).expect("a new role");
        }
        roles.assign(PubKey([1; 32]), "d".to_owned()).expect("a role that is there");
        publish(&roles, published);
        let deleted = |ids: &[&str]| {
            let address = |id: &&str| json!(["a", format!("33534:{RELAY}:{id}")]);
            let tags = [json!(["-"])].into_iter().chain(ids.iter().map(address));
            json!([5, tags.chain([json!(["k", "33534"])]).collect::<Vec<_>>()])
        };
        roles.delete("a:b".to_owned()).expect("a role that is there");
        roles.delete("c".to_owned()).expect("a role that is there");
        assert_eq!(publish(&roles, published), json!([deleted(&["a:b", "c"])]));
        let mut left = PublishedRoles::default();
        for (topic, tags) in &published.0 {
            if !matches!(topic, Topic::Role(id) if id != "d") {
                left.add(Notice { kind: topic.kind(), tags: tags.clone() });
            }
        }
        assert_eq!(publish(&roles, &mut left), json!([]));
        roles.delete("d".to_owned()).expect("a role that is there");
        assert_eq!(publish(&roles, &mut left), json!([[13_534, [["-"]]], deleted(&["d"])]));
    }

    /// Events that say nothing about roles, or lack an id, do no harm.
    #[test]
    fn strange_events_are_no_notices() {
        let mut published = PublishedRoles::default();
        published.add(Notice { kind: Kind(1), tags: vec![] });
        assert_eq!(published, PublishedRoles::default());
        published.add(Notice { kind: ROLE, tags: vec![vec![], vec!["d".to_owned()]] });
        let due = Roles::default().due_notices(&published, &RELAY);
        assert_eq!(due[1].tags[1], ["a".to_owned(), format!("33534:{RELAY}:")]);
    }
}
