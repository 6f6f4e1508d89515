//! What all parts of a machine share.

use std::collections::VecDeque;
use std::time::Duration;

use zeolite_proto::{Event, EventId, Filter, Timestamp};

use super::deletions;
use super::effect::Effect;
use super::input::{JobId, Verdict};
use super::limits::PeerLimits;
use super::login::Login;
use super::progress::{End, Progress};
use super::recall::Recall;
use super::refusal::Refusal;
use super::settings::Settings;
use super::sink::{Origin, Sink};
use super::wire;

/// Which filter something belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// The mirror's filter.
    Content,
    /// The filter of deletions.
    Deletions,
}

/// What ends a connection or a mirror; the machine acts on it when the part that found it is done.
#[derive(Debug)]
pub(super) enum Fault {
    /// Give the connection up and try a new one.
    Connection(String),
    /// Nothing that a retry would mend.
    Fatal(End),
}

/// What became of what someone else wants to know of (the far side of a [`Pair`](super::Pair)).
#[derive(Debug, Default)]
pub(super) struct Reports {
    /// What the upstream made of events that were sent to it.
    pub(super) verdicts: Vec<(EventId, Verdict)>,
    /// Ids that were asked for and do not come.
    pub(super) missing: Vec<EventId>,
}

/// What all parts of a machine share.
pub(super) struct Context {
    pub(super) settings: Settings,
    /// The mirror's filter without what has no meaning in it.
    pub(super) content: Filter,
    pub(super) deletions: Option<Filter>,
    pub(super) effects: VecDeque<Effect>,
    pub(super) progress: Progress,
    pub(super) now: Duration,
    /// The time of day at the latest connect.
    pub(super) wall: Timestamp,
    pub(super) peer: PeerLimits,
    pub(super) sink: Sink,
    /// Events that were asked for and have not come.
    pub(super) asked: usize,
    /// When the latest sign of progress came, or a request went out while nothing was under way.
    pub(super) moved_at: Duration,
    /// Whether this connection has moved the mirror on.
    pub(super) is_fruitful: bool,
    /// Ids that the local side refuses for good (M-04).
    pub(super) refused_here: Recall,
    /// Ids that the upstream refuses for good (M-05).
    pub(super) refused_there: Recall,
    /// Ids that the upstream lists and does not give, in this catch-up (M-03).
    pub(super) gone: Recall,
    /// Ids that came down lately (0), or that the upstream took so many times.
    pub(super) recent: Recall,
    /// Ids that came down or were taken up live since the latest comparison began, whose answers
    /// may be older than they are.
    pub(super) crossed: Recall,
    /// Something live was lost on the way: the next audit finds it, and should not be far.
    pub(super) is_audit_wanted: bool,
    pub(super) fault: Option<Fault>,
    pub(super) login: Login,
    /// The upstream refused for want of a login, in these words.
    pub(super) auth_wanted: Option<String>,
    /// Kept where someone takes them.
    pub(super) reports: Option<Reports>,
    names: u64,
    jobs: u64,
}

impl Context {
    pub(super) fn new(settings: Settings) -> Self {
        let limits = &settings.limits;
        let recall = || Recall::new(limits.recent_ids_max);
        Self {
            content: Filter { limit: None, ..settings.filter.clone() },
            deletions: deletions::filter(&settings),
            effects: VecDeque::new(),
            progress: Progress::default(),
            now: Duration::ZERO,
            wall: Timestamp(0),
            peer: PeerLimits::default(),
            sink: Sink::default(),
            asked: 0,
            moved_at: Duration::ZERO,
            is_fruitful: false,
            refused_here: Recall::new(limits.refused_ids_max),
            refused_there: Recall::new(limits.refused_ids_max),
            gone: recall(),
            recent: recall(),
            crossed: recall(),
            is_audit_wanted: false,
            fault: None,
            login: Login::new(settings.has_key),
            auth_wanted: None,
            reports: None,
            names: 0,
            jobs: 0,
            settings,
        }
    }

    pub(super) fn send(&mut self, text: String) {
        self.effects.push_back(Effect::Send(text));
    }

    /// A subscription id that was never used: answers of an earlier one cannot be taken for its own.
    pub(super) fn name(&mut self, letter: char) -> Box<str> {
        self.names += 1;
        format!("{letter}{}", self.names).into()
    }

    pub(super) fn job(&mut self) -> JobId {
        self.jobs += 1;
        JobId(self.jobs)
    }

    /// Notes a sign of progress (case 16): what else the upstream sends moves no deadline.
    pub(super) fn moved(&mut self) {
        self.moved_at = self.now;
    }

    /// Reads a refusal. While a login may come of it, it is one for the moment.
    pub(super) fn refusal(&mut self, text: &str, cap: Option<u64>) -> Refusal {
        self.login.judge(Refusal::read(text, cap), text, self.now)
    }

    /// The same of a `NOTICE`.
    pub(super) fn refusal_by_notice(&mut self, text: &str) -> Option<Refusal> {
        let refusal = Refusal::read_notice(text)?;
        Some(self.login.judge(refusal, text, self.now))
    }

    /// The upstream asks for a login.
    pub(super) fn asked_for_login(&mut self, challenge: Box<str>) {
        if self.login.asked(self.now) {
            self.effects.push_back(Effect::LogIn { challenge });
        }
    }

    /// The login is signed.
    pub(super) fn log_in(&mut self, login: &crate::login::Login) {
        self.login.sent(login.id);
        self.moved();
        self.send(wire::auth(&login.json));
    }

    /// The upstream has decided about a login.
    pub(super) fn decided_login(&mut self, accepted: bool, text: &str) {
        self.login.decided(accepted, self.now);
        self.moved();
        if accepted {
            return;
        }
        // The far side of a pair ends nothing.
        let is_bounded = self.settings.once || self.settings.dry_run;
        self.fault = Some(if is_bounded && self.reports.is_none() {
            Fault::Fatal(End::LoginRefused(text.to_owned()))
        } else {
            Fault::Connection(format!("the login is refused: {text}"))
        });
    }

    pub(super) fn trouble(&mut self, text: impl Into<String>) {
        self.progress.trouble = Some(text.into());
    }

    /// The filter of a scope. Without a filter of deletions there are no jobs of that scope.
    pub(super) fn filter(&self, scope: Scope) -> &Filter {
        match scope {
            Scope::Content => &self.content,
            Scope::Deletions => self.deletions.as_ref().unwrap_or(&self.content),
        }
    }

    /// How many more events may be asked for, all that is under way taken into account (case 70).
    pub(super) fn room(&self) -> usize {
        let limits = &self.settings.limits;
        if self.sink.bytes() >= limits.ingest_bytes_max {
            return 0;
        }
        limits.ingest_events_max.saturating_sub(self.sink.events() + self.asked)
    }

    /// Bytes of one message to the upstream.
    pub(super) fn message_bytes_max(&self) -> usize {
        let stated = self.peer.max_message_length.unwrap_or(64 * 1024);
        usize::try_from(stated).unwrap_or(usize::MAX).clamp(4096, 16 << 20)
    }

    /// An event that came down and was asked for.
    pub(super) fn ingest(&mut self, event: Event, origin: Origin) {
        let id = event.view().id();
        let counts = &mut self.progress.counts;
        counts.received += 1;
        counts.received_bytes += event.record_bytes() as u64;
        if self.recent.get(&id).is_none() {
            self.recent.insert(&id, 0);
        }
        self.note_crossed(&id, origin);
        self.sink.offer(event, origin);
    }

    /// An event that is now on both sides, maybe after a comparison looked at one of them.
    pub(super) fn note_crossed(&mut self, id: &EventId, origin: Origin) {
        if origin == Origin::Live {
            self.crossed.insert(id, 0);
        }
    }

    /// An id that was asked for does not come.
    pub(super) fn lose(&mut self, id: &EventId) {
        self.gone.insert(id, 0);
        if let Some(reports) = &mut self.reports {
            reports.missing.push(*id);
        }
    }

    /// The upstream has decided about an event.
    pub(super) fn report(&mut self, id: &EventId, verdict: Verdict) {
        if let Some(reports) = &mut self.reports {
            reports.verdicts.push((*id, verdict));
        }
    }

    /// An event that was not asked for, or is not what was asked for (M-06).
    pub(super) fn unasked(&mut self) {
        let count = &mut self.progress.counts.unasked;
        *count += 1;
        if count.is_multiple_of(UNASKED_MAX) {
            self.fault = Some(Fault::Connection("events that were not asked for".into()));
        }
    }

    /// What became of an event that was given to the local side.
    pub(super) fn note_verdict(&mut self, id: &EventId, origin: Origin, verdict: Verdict) {
        let counts = &mut self.progress.counts;
        match verdict {
            Verdict::Stored => counts.stored += 1,
            Verdict::Duplicate => counts.duplicate += 1,
            Verdict::Ephemeral => counts.ephemeral += 1,
            Verdict::Superseded | Verdict::Deleted | Verdict::Vanished | Verdict::Expired => {
                counts.outdated += 1;
            }
            Verdict::Invalid => counts.invalid += 1,
            Verdict::Blocked => counts.blocked += 1,
            Verdict::Failed => counts.failed += 1,
        }
        match verdict {
            Verdict::Stored => {}
            Verdict::Failed => self.is_audit_wanted |= origin == Origin::Live,
            // What was listed as missing and is here is here without being in the set.
            Verdict::Duplicate if origin != Origin::Wanted => {}
            // The same id may come again with a better signature, which is no part of it.
            Verdict::Invalid => self.gone.insert(id, 0),
            _ => self.refused_here.insert(id, 0),
        }
        if verdict != Verdict::Failed && verdict != Verdict::Invalid {
            self.is_fruitful = true;
        }
    }
}

/// Events that were not asked for until the connection is given up: a few are a relay's way of
/// reading a filter, so many are no relay at all.
const UNASKED_MAX: u64 = 10_000;
