//! Roles that administrators give to members (NIP-86): which there are, and who has which.
//!
//! A role is a word about a member: it gives no right to write, which is for the lists of allowed
//! and banned keys.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use zeolite_proto::PubKey;

use crate::limits::{ASSIGNMENTS_MAX, ROLES_MAX};

/// What is said of a role.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Role {
    /// Its name for people; empty if it has none.
    pub label: String,
    /// What it is for; empty if nobody said.
    pub description: String,
    /// A hue, 0 to 360.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub color: Option<u16>,
    /// Where clients show it among the roles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<i64>,
}

/// All roles, and who has which. Every role that somebody has is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roles {
    pub(crate) by_id: BTreeMap<String, Role>,
    /// Nobody is listed without a role.
    pub(crate) of_member: BTreeMap<PubKey, BTreeSet<String>>,
}

/// Why the roles stay as they are. The text goes to the administrator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RoleFault {
    /// It cannot be created again.
    #[error("there is a role {0:?} already; editrole changes it")]
    Exists(String),
    /// It cannot be changed, deleted, given or taken.
    #[error("there is no role {0:?}; createrole makes one")]
    Unknown(String),
    /// There are as many as there may be.
    #[error("there can be {ROLES_MAX} roles; deleterole makes room")]
    TooManyRoles,
    /// The list of members would not fit into an event.
    #[error("roles can be assigned {ASSIGNMENTS_MAX} times; unassignrole makes room")]
    TooManyAssignments,
}

impl Roles {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    pub(crate) fn create(&mut self, id: String, role: Role) -> Result<(), RoleFault> {
        if self.by_id.contains_key(&id) {
            return Err(RoleFault::Exists(id));
        }
        if self.by_id.len() >= ROLES_MAX {
            return Err(RoleFault::TooManyRoles);
        }
        self.by_id.insert(id, role);
        Ok(())
    }

    /// Says all of it anew: what is not said now is not kept.
    pub(crate) fn edit(&mut self, id: String, role: Role) -> Result<(), RoleFault> {
        match self.by_id.get_mut(&id) {
            Some(known) => {
                *known = role;
                Ok(())
            }
            None => Err(RoleFault::Unknown(id)),
        }
    }

    /// Nobody has it afterwards.
    pub(crate) fn delete(&mut self, id: String) -> Result<(), RoleFault> {
        if self.by_id.remove(&id).is_none() {
            return Err(RoleFault::Unknown(id));
        }
        self.of_member.retain(|_, roles| {
            roles.remove(&id);
            !roles.is_empty()
        });
        Ok(())
    }

    /// Giving what somebody has already changes nothing.
    pub(crate) fn assign(&mut self, member: PubKey, id: String) -> Result<(), RoleFault> {
        if !self.by_id.contains_key(&id) {
            return Err(RoleFault::Unknown(id));
        }
        let has_it = self.of_member.get(&member).is_some_and(|roles| roles.contains(&id));
        let assignments: usize = self.of_member.values().map(BTreeSet::len).sum();
        if !has_it && assignments >= ASSIGNMENTS_MAX {
            return Err(RoleFault::TooManyAssignments);
        }
        self.of_member.entry(member).or_default().insert(id);
        Ok(())
    }

    /// Taking what somebody does not have changes nothing.
    pub(crate) fn unassign(&mut self, member: PubKey, id: String) -> Result<(), RoleFault> {
        if !self.by_id.contains_key(&id) {
            return Err(RoleFault::Unknown(id));
        }
        if let Some(roles) = self.of_member.get_mut(&member) {
            roles.remove(&id);
            if roles.is_empty() {
                self.of_member.remove(&member);
            }
        }
        Ok(())
    }

    /// Takes every role from somebody.
    pub(crate) fn strip(&mut self, member: &PubKey) {
        self.of_member.remove(member);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(label: &str) -> Role {
        Role { label: label.to_owned(), ..Role::default() }
    }

    /// R86-03: roles are made once, changed, given, taken and deleted; what is not there is told so.
    #[test]
    fn roles_live_and_die() {
        let mut roles = Roles::default();
        let (one, two) = (PubKey([1; 32]), PubKey([2; 32]));
        let id = || "mod".to_owned();
        let unknown = || Err(RoleFault::Unknown(id()));
        assert_eq!(roles.edit(id(), role("x")), unknown());
        assert_eq!(roles.assign(one, id()), unknown());
        assert_eq!(roles.unassign(one, id()), unknown());
        assert_eq!(roles.delete(id()), unknown());
        assert_eq!(roles, Roles::default());
        assert_eq!(roles.create(id(), role("Moderator")), Ok(()));
        assert_eq!(roles.create(id(), role("x")), Err(RoleFault::Exists(id())));
        assert_eq!(roles.by_id[&id()], role("Moderator"), "nobody loses a role by a mistake");
        assert_eq!(roles.edit(id(), role("Mod")), Ok(()));
        assert_eq!(roles.by_id[&id()], role("Mod"));
        for _ in 0..2 {
            assert_eq!(roles.assign(one, id()), Ok(()));
        }
        assert_eq!(roles.unassign(two, id()), Ok(()), "it did not have it");
        assert_eq!(roles.of_member, [(one, [id()].into())].into());
        assert_eq!(roles.unassign(one, id()), Ok(()));
        assert!(roles.of_member.is_empty(), "who has no role is not listed");
        assert_eq!(roles.assign(one, id()), Ok(()));
        assert_eq!(roles.delete(id()), Ok(()));
        assert_eq!(roles, Roles::default(), "with a role goes who had it");
    }

    /// There are no more roles and assignments than fit.
    #[test]
    fn roles_are_bounded() {
        let mut roles = Roles::default();
        for at in 0..ROLES_MAX {
            assert_eq!(roles.create(at.to_string(), role("x")), Ok(()));
        }
        assert_eq!(roles.create("more".to_owned(), role("x")), Err(RoleFault::TooManyRoles));
        assert_eq!(roles.edit("0".to_owned(), role("y")), Ok(()), "an edit needs no room");
        let member = |at: usize| {
            let mut key = [0; 32];
            key[..8].copy_from_slice(&at.to_be_bytes());
            PubKey(key)
        };
        for at in 0..ASSIGNMENTS_MAX {
            assert_eq!(roles.assign(member(at), "0".to_owned()), Ok(()));
        }
        assert_eq!(roles.assign(member(0), "0".to_owned()), Ok(()), "nothing new");
        let more = roles.assign(member(0), "1".to_owned());
        assert_eq!(more, Err(RoleFault::TooManyAssignments));
        roles.strip(&member(1));
        assert_eq!(roles.assign(member(0), "1".to_owned()), Ok(()));
    }
}
