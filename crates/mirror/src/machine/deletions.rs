//! Which deletions and requests to vanish are pulled ahead of what they may concern.

use zeolite_proto::{Filter, Kind};

use super::settings::Settings;

/// The filter of the deletions (kind 5) and requests to vanish (kind 62) that a mirror pulls ahead of
/// content and follows beside it; `None` if it pulls none.
///
/// They are those of the authors in scope (case 28): a mirror of one author must not take over all
/// deletions of an upstream. Where the mirror's filter names no authors, only what it admits itself
/// is pulled. Kind 62 is pulled where the filter's kinds admit it, or on the operator's wish; the
/// filter's window does not bound them, since a request may be younger than what it concerns.
pub(super) fn filter(settings: &Settings) -> Option<Filter> {
    let scope = &settings.filter;
    let admits = |kind: Kind| scope.kinds.as_deref().is_none_or(|kinds| kinds.contains(&kind));
    let filter = if scope.authors.is_some() {
        let vanish = admits(Kind::VANISH) || settings.vanish;
        let kinds = if vanish { vec![Kind::DELETION, Kind::VANISH] } else { vec![Kind::DELETION] };
        let (authors, kinds) = (scope.authors.clone(), Some(kinds.into()));
        Filter { authors, kinds, ..Filter::default() }
    } else {
        let kinds: Box<[Kind]> =
            [Kind::DELETION, Kind::VANISH].into_iter().filter(|kind| admits(*kind)).collect();
        Filter { kinds: Some(kinds), limit: None, ..scope.clone() }
    };
    (!filter.matches_nothing()).then_some(filter)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Case 28: scope by authors, or else by the filter itself; kind 62 by kinds or by wish.
    #[test]
    fn deletions_stay_in_scope() {
        let key = "ab".repeat(32);
        let authors = format!(r#""authors":["{key}"]"#);
        for (filter, vanish, expected) in [
            ("{}".into(), false, Some(r#"{"kinds":[5,62]}"#.to_owned())),
            (r#"{"kinds":[1]}"#.into(), false, None),
            (r#"{"kinds":[1]}"#.into(), true, None),
            (r#"{"kinds":[1,5]}"#.into(), false, Some(r#"{"kinds":[5]}"#.into())),
            (
                r#"{"kinds":[1,5,62],"since":7}"#.into(),
                false,
                Some(r#"{"kinds":[5,62],"since":7}"#.into()),
            ),
            (
                format!(r#"{{"kinds":[1],"since":7,{authors}}}"#),
                false,
                Some(format!(r#"{{{authors},"kinds":[5]}}"#)),
            ),
            (
                format!(r#"{{"kinds":[1],{authors}}}"#),
                true,
                Some(format!(r#"{{{authors},"kinds":[5,62]}}"#)),
            ),
            (format!("{{{authors}}}"), false, Some(format!(r#"{{{authors},"kinds":[5,62]}}"#))),
            (r#"{"authors":[]}"#.into(), false, None),
        ] {
            let scope = Filter::from_json(&filter).expect("a filter");
            let settings = Settings { filter: scope, vanish, ..Settings::default() };
            let found = super::filter(&settings).map(|found| {
                let mut out = Vec::new();
                found.push_json(&mut out);
                String::from_utf8(out).expect("UTF-8")
            });
            assert_eq!(found, expected, "{filter}");
        }
    }
}
