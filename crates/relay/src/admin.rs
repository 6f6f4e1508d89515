//! Administration over HTTP (NIP-86), authorised by signed events (NIP-98).
//!
//! ```text
//! POST / -> authorisation (kind, time, URL, method, body, signature, unused, an administrator's)
//!        -> command -> PolicyCell (in force and on disk) -> what else follows: events go,
//!                                                           connections are closed,
//!                                                           roles are published
//! ```

mod authority;
mod removal;
mod reports;

use std::sync::Arc;

use hyper::StatusCode;
use serde_json::{Value, json};
use zeolite_policy::{Change, Command, Moderation};
use zeolite_store::Store;

pub(crate) use authority::Authority;
use removal::Remover;

use crate::clock;
use crate::config::Config;
use crate::core::Core;
use crate::herald::Herald;
use crate::hub::Hub;
use crate::inbox::AdmitterIn;

/// The media type of requests (R86-01).
pub(crate) const MEDIA_TYPE: &str = "application/nostr+json+rpc";

/// What administrators can do.
pub(crate) struct Admin {
    hub: Arc<Hub>,
    store: Store,
    authority: Authority,
    remover: Remover,
    herald: Arc<Herald>,
}

/// Carries on with the removal of what is banned, where a crash ended it.
pub(crate) fn remove_banned(core: &Core) {
    let moderation = Arc::clone(&core.hub().policy.current().moderation);
    Remover::new(core.store().clone(), core.admitter().clone()).rest(moderation);
}

/// What is answered to a request.
pub(crate) struct AdminAnswer {
    pub(crate) status: StatusCode,
    pub(crate) body: String,
    /// The information document is another.
    pub(crate) changes_document: bool,
}

impl Admin {
    /// Nothing, if the configuration names no administrator.
    pub(crate) fn new(
        config: &Config,
        own_urls: Vec<String>,
        hub: Arc<Hub>,
        store: Store,
        admitter: crossbeam_channel::Sender<AdmitterIn>,
        herald: Arc<Herald>,
    ) -> Option<Self> {
        let keys = config.admin.pubkeys.clone();
        if keys.is_empty() {
            return None;
        }
        let authority = Authority::new(keys, own_urls);
        let remover = Remover::new(store.clone(), admitter);
        Some(Self { hub, store, authority, remover, herald })
    }

    /// What was decided so far.
    pub(crate) fn moderation(&self) -> Arc<Moderation> {
        Arc::clone(&self.hub.policy.current().moderation)
    }

    /// Answers one request. Takes as long as a write to disk, or a short scan.
    pub(crate) fn answer(&self, method: &str, header: Option<&str>, body: &[u8]) -> AdminAnswer {
        match self.authority.check(method, header, body, clock::now()) {
            Ok(admin) => match self.carry_out(body) {
                Ok((result, changes_document)) => {
                    tracing::info!(%admin, request = shortened(body), "administration");
                    answer(StatusCode::OK, &json!({ "result": result }), changes_document)
                }
                // What failed may have failed halfway.
                Err(error) => answer(StatusCode::OK, &json!({ "error": error }), true),
            },
            Err((status, why)) => answer(status, &json!({ "error": why }), false),
        }
    }

    /// The result, and whether the information document is another.
    fn carry_out(&self, body: &[u8]) -> Result<(Value, bool), String> {
        let command = Command::parse(body).map_err(|error| error.to_string())?;
        if command == Command::ListEventsNeedingModeration {
            let policy = self.hub.policy.current();
            let reports = reports::unsettled(&self.store, &policy.moderation);
            return reports.map(|list| (list, false)).map_err(|error| error.to_string());
        }
        let applied = self.hub.policy.change(|state| command.apply(state));
        let applied = applied.map_err(|error| format!("the decision was not written: {error}"))?;
        let (result, change) = applied.map_err(|refusal| refusal.to_string())?;
        match &change {
            Some(Change::RemoveEvent(id)) => self.remover.event(*id),
            Some(Change::BannedAuthor(author)) => {
                self.remover.author(*author);
                self.publish_roles()?;
            }
            Some(Change::Roles) => self.publish_roles()?,
            Some(Change::Disconnect(network)) => {
                self.hub.registry.close_where(|peer| network.contains(peer), "blocked");
            }
            Some(Change::Document) | None => {}
        }
        // With the first role the relay gets a key, which the document shows.
        Ok((result, matches!(change, Some(Change::Document | Change::Roles))))
    }

    fn publish_roles(&self) -> Result<(), String> {
        self.herald.publish().map_err(|error| {
            tracing::error!("the roles are not published: {error:#}");
            format!(
                "decided, but not published yet, which is tried again within the hour: {error:#}"
            )
        })
    }
}

fn answer(status: StatusCode, body: &Value, changes_document: bool) -> AdminAnswer {
    AdminAnswer { status, body: body.to_string(), changes_document }
}

/// A request as the log shows it.
fn shortened(body: &[u8]) -> String {
    String::from_utf8_lossy(&body[..body.len().min(200)]).into_owned()
}
