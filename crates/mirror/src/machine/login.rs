//! The login at an upstream (NIP-42): its question is answered as soon as it comes, and what was
//! refused for want of a login is asked again.

use std::time::Duration;

use zeolite_proto::EventId;

use super::refusal::Refusal;

/// How long a login may take, from the first refusal or from the question on. What is refused until
/// then is refused for the moment.
const LOGIN_MAX: Duration = Duration::from_secs(10);

/// Questions of one connection that are answered: a relay may ask anew, and has no reason to do so
/// again and again.
const ANSWERS_MAX: u32 = 8;

/// Where the login of one connection stands.
#[derive(Debug, Default)]
pub(super) struct Login {
    /// Whether there is a key to log in with.
    has_key: bool,
    answers: u32,
    /// What was sent and has no `OK`.
    sent: Option<EventId>,
    /// When the latest step was made: a first refusal, an answer, its `OK`.
    since: Option<Duration>,
    /// The upstream does not want this key.
    is_refused: bool,
    is_accepted: bool,
    /// The upstream has asked, and has not said what it thinks of the answer.
    is_under_way: bool,
    /// It was accepted, and no catch-up began since: more may be seen than before.
    shows_more: bool,
}

impl Login {
    pub(super) fn new(has_key: bool) -> Self {
        Self { has_key, ..Self::default() }
    }

    /// Forgets the connection.
    pub(super) fn reset(&mut self) {
        *self = Self::new(self.has_key);
    }

    /// The upstream asks who is there. Whether that is to be answered.
    pub(super) fn asked(&mut self, now: Duration) -> bool {
        let is_answered = self.has_key && self.answers < ANSWERS_MAX;
        if is_answered {
            self.answers += 1;
            self.since = Some(now);
            self.is_under_way = true;
        }
        is_answered
    }

    /// The answer is signed.
    pub(super) fn sent(&mut self, id: EventId) {
        self.sent = Some(id);
    }

    /// Whether an `OK` is about the login.
    pub(super) fn owns(&self, id: &EventId) -> bool {
        self.sent.as_ref() == Some(id)
    }

    /// The upstream has decided.
    pub(super) fn decided(&mut self, accepted: bool, now: Duration) {
        self.sent = None;
        self.since = Some(now);
        self.is_refused = !accepted;
        self.is_accepted = accepted;
        self.is_under_way = false;
        self.shows_more |= accepted;
    }

    /// Until when the upstream's decision is waited for.
    pub(super) fn deadline(&self) -> Option<Duration> {
        self.since.filter(|_| self.is_under_way).map(|since| since + LOGIN_MAX)
    }

    /// More may be seen than before.
    pub(super) fn note_more(&mut self) {
        self.shows_more = true;
    }

    /// Whether it was accepted and no catch-up began since.
    pub(super) fn shows_more(&self) -> bool {
        self.shows_more
    }

    /// The same, and a catch-up begins.
    pub(super) fn take_shows_more(&mut self) -> bool {
        std::mem::take(&mut self.shows_more)
    }

    /// Whether a login is still to come: what is refused for want of it is not refused for good.
    pub(super) fn is_missing(&self) -> bool {
        self.has_key && !self.is_accepted
    }

    /// What a refusal means while a login may change it.
    pub(super) fn judge(&mut self, refusal: Refusal, text: &str, now: Duration) -> Refusal {
        let is_open = self.has_key && !self.is_refused && text.starts_with("auth-required");
        if refusal != Refusal::Auth || !is_open {
            return refusal;
        }
        let since = *self.since.get_or_insert(now);
        if now < since + LOGIN_MAX { Refusal::Busy } else { refusal }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: &str = "auth-required: who are you?";

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// A refusal is for the moment while a login may come, or was just taken; without a key, with one
    /// that is refused, for other reasons, and for ever, it is a refusal.
    #[test]
    fn a_refusal_waits_for_the_login() {
        let judge = |login: &mut Login, text, now| login.judge(Refusal::Auth, text, at(now));
        assert_eq!(judge(&mut Login::new(false), WANTED, 0), Refusal::Auth);
        let mut login = Login::new(true);
        assert_eq!(judge(&mut login, "restricted: members only", 0), Refusal::Auth);
        assert_eq!(login.judge(Refusal::TooLarge, WANTED, at(0)), Refusal::TooLarge);
        assert_eq!(judge(&mut login, WANTED, 5), Refusal::Busy);
        assert_eq!(judge(&mut login, WANTED, 14), Refusal::Busy);
        assert_eq!(judge(&mut login, WANTED, 15), Refusal::Auth);
        assert!(login.asked(at(15)));
        let id = EventId([1; 32]);
        login.sent(id);
        assert!(login.owns(&id) && !login.owns(&EventId([2; 32])));
        assert_eq!(judge(&mut login, WANTED, 24), Refusal::Busy);
        login.decided(true, at(24));
        assert!(!login.owns(&id));
        assert_eq!(judge(&mut login, WANTED, 33), Refusal::Busy);
        assert_eq!(judge(&mut login, WANTED, 34), Refusal::Auth);
        login.decided(false, at(40));
        assert_eq!(judge(&mut login, WANTED, 40), Refusal::Auth);
        login.reset();
        assert_eq!(judge(&mut login, WANTED, 50), Refusal::Busy);
    }

    /// Between the question and the decision nobody knows what can be seen; an acceptance is news once.
    #[test]
    fn a_decision_is_waited_for_and_taken_once() {
        let mut login = Login::new(true);
        assert!(login.deadline().is_none() && !login.take_shows_more());
        assert!(login.asked(at(5)));
        assert_eq!(login.deadline(), Some(at(15)));
        login.decided(true, at(6));
        assert!(login.deadline().is_none());
        assert!(login.take_shows_more() && !login.take_shows_more());
        login.decided(false, at(7));
        assert!(!login.take_shows_more());
    }

    #[test]
    fn an_upstream_that_asks_for_ever_is_not_answered_for_ever() {
        let mut login = Login::new(true);
        let answered = (0..100).filter(|second| login.asked(at(*second))).count();
        assert_eq!(answered, ANSWERS_MAX as usize);
        assert!(!Login::new(false).asked(at(0)));
    }
}
