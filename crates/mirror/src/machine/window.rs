//! Windows of `created_at`, and how they are split.

use zeolite_proto::limits::CREATED_AT_MAX;
use zeolite_proto::{Filter, Timestamp};

/// Before it there were no events worth a window of their own: November 2020, when the protocol
/// began. Splits aim at what lies after it, and reach what claims to lie before all the same.
const FIRST_EVENTS: u64 = 1_604_000_000;

/// Seconds from `since` to `until`, both inclusive. Without `until` it is open: future-dated events
/// lie in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) since: u64,
    pub(super) until: Option<u64>,
}

impl Window {
    /// All of time that a filter leaves, or `None` if it leaves nothing.
    pub(super) fn of(filter: &Filter) -> Option<Self> {
        let since = filter.since.map_or(0, |since| since.0);
        let until = filter.until.map(|until| until.0).filter(|until| *until < CREATED_AT_MAX);
        (since <= until.unwrap_or(CREATED_AT_MAX)).then_some(Self { since, until })
    }

    /// The last second.
    pub(super) fn last(self) -> u64 {
        self.until.unwrap_or(CREATED_AT_MAX)
    }

    /// Whether the second lies in it.
    pub(super) fn contains(self, time: Timestamp) -> bool {
        self.since <= time.0 && time.0 <= self.last()
    }

    /// The filter of what lies in this window. Edges that do not bound anything are left out, since
    /// relays answer the widest question best.
    pub(super) fn within(self, filter: &Filter) -> Filter {
        let since = (self.since > 0).then_some(Timestamp(self.since));
        let until = self.until.map(Timestamp);
        Filter { since, until, limit: None, ..filter.clone() }
    }

    /// The part below the second `at` and the part from it on, which together are the whole.
    /// `at` lies above `since`.
    pub(super) fn cut(self, at: u64) -> (Self, Self) {
        debug_assert!(self.since < at && at <= self.last(), "{at} cuts {self:?}");
        let older = Self { since: self.since, until: Some(at - 1) };
        (older, Self { since: at, until: self.until })
    }

    /// Halves that should hold about as many events each, older first, or `None` for one second.
    /// `wall` is the time of day: most events lie between the protocol's beginning and it.
    pub(super) fn split(self, wall: Timestamp) -> Option<(Self, Self)> {
        let last = self.last();
        if self.since >= last {
            return None;
        }
        let busy_since = self.since.max(FIRST_EVENTS);
        let busy_last = last.min(wall.0);
        let at = if busy_since < busy_last {
            middle(busy_since, busy_last)
        } else if self.since <= wall.0 && wall.0 < last {
            wall.0 + 1
        } else if self.since < FIRST_EVENTS && FIRST_EVENTS <= last {
            FIRST_EVENTS
        } else {
            middle(self.since, last)
        };
        Some(self.cut(at))
    }
}

/// The first second of the upper half.
fn middle(since: u64, last: u64) -> u64 {
    since + (last - since).div_ceil(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WALL: Timestamp = Timestamp(1_800_000_000);

    /// M-02: splits cover the same seconds, and end at single seconds after few steps wherever the
    /// crowded second lies.
    #[test]
    fn splits_cover_all_of_time() {
        let whole = Window::of(&Filter::default()).expect("all of time");
        for crowded in [
            0,
            1,
            FIRST_EVENTS - 1,
            FIRST_EVENTS,
            1_777_777_777,
            WALL.0,
            WALL.0 + 1,
            CREATED_AT_MAX,
        ] {
            let (mut window, mut splits) = (whole, 0);
            while let Some((older, newer)) = window.split(WALL) {
                assert_eq!(older.since, window.since);
                assert_eq!(older.last() + 1, newer.since);
                assert_eq!(newer.until, window.until);
                window = if newer.contains(Timestamp(crowded)) { newer } else { older };
                assert!(window.contains(Timestamp(crowded)), "{crowded} lost in {window:?}");
                splits += 1;
            }
            assert!(splits < 80, "{splits} splits to {crowded}");
            assert_eq!((window.since, window.last()), (crowded, crowded));
        }
    }

    /// M-02: the widest window has no edges on the wire; an operator's edges stay.
    #[test]
    fn windows_become_filters() {
        for (filter, expected) in [
            (r#"{"kinds":[1]}"#, Some(r#"{"kinds":[1]}"#)),
            (r#"{"since":5,"until":9,"limit":3}"#, Some(r#"{"since":5,"until":9}"#)),
            (r#"{"until":18446744073709551615}"#, Some("{}")),
            (r#"{"since":9,"until":5}"#, None),
        ] {
            let filter = Filter::from_json(filter).expect("a filter");
            let json = Window::of(&filter).map(|window| {
                let mut out = Vec::new();
                window.within(&filter).push_json(&mut out);
                String::from_utf8(out).expect("UTF-8")
            });
            assert_eq!(json.as_deref(), expected);
        }
    }
}
