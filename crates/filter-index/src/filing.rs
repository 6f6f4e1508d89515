//! Under which keys a filter is filed.

use zeolite_proto::{Filter, Kind, PubKey, TagFilter};

use crate::key::{Key, Keyer};
use crate::limits::PAIRS_MAX;
use crate::postings::Postings;

/// Appends the keys of one dimension of `filter` to `keys`: every event that satisfies the
/// filter has at least one of them. A filter that nothing can satisfy gets none.
pub(crate) fn push_keys(filter: &Filter, keyer: &Keyer, postings: &Postings, keys: &mut Vec<Key>) {
    if filter.matches_nothing() {
        return;
    }
    match (&filter.ids, &filter.authors, &filter.kinds) {
        (Some(ids), _, _) => keys.extend(ids.iter().map(|id| keyer.id(id))),
        (None, Some(authors), Some(kinds)) if authors.len() * kinds.len() <= PAIRS_MAX => {
            keys.extend(
                pairs(authors, kinds).map(|(author, kind)| keyer.author_kind(author, kind)),
            );
        }
        (None, Some(authors), _) => keys.extend(authors.iter().map(|author| keyer.author(author))),
        (None, None, kinds) => {
            if push_rarest_tag(filter, keyer, postings, keys) {
                return;
            }
            match kinds {
                Some(kinds) => keys.extend(kinds.iter().map(|kind| keyer.kind(*kind))),
                None => keys.push(keyer.unindexed()),
            }
        }
    }
}

fn pairs<'a>(authors: &'a [PubKey], kinds: &'a [Kind]) -> impl Iterator<Item = (&'a PubKey, Kind)> {
    authors.iter().flat_map(|author| kinds.iter().map(move |kind| (author, *kind)))
}

/// What filing under a tag condition would cost: how many subscribers already share its values,
/// the best guess at how often events carry them; then ids and keys before words; then the
/// fewest values.
type Cost = (usize, bool, usize);

/// Appends the keys of the cheapest tag condition. False if the filter has none.
fn push_rarest_tag(
    filter: &Filter,
    keyer: &Keyer,
    postings: &Postings,
    keys: &mut Vec<Key>,
) -> bool {
    let start = keys.len();
    let mut best: Option<Cost> = None;
    for tag in &filter.tags {
        let tried = keys.len();
        let cost = push_tag(tag, keyer, postings, keys);
        if best.is_none_or(|best| cost < best) {
            best = Some(cost);
            keys.drain(start..tried);
        } else {
            keys.truncate(tried);
        }
    }
    best.is_some()
}

fn push_tag(tag: &TagFilter, keyer: &Keyer, postings: &Postings, keys: &mut Vec<Key>) -> Cost {
    let start = keys.len();
    keys.extend(tag.values.iter().map(|value| keyer.tag(tag.letter, value.view())));
    let sharers = |key: &Key| postings.get(key.hash).len();
    if tag.all {
        // An event must carry all of these values, so any one of them finds it.
        let rarest = keys[start..].iter().copied().min_by_key(sharers);
        keys.truncate(start);
        keys.extend(rarest);
    }
    let new = &keys[start..];
    let words = tag.values.iter().any(|value| matches!(value, zeolite_proto::TagValue::Text(_)));
    (new.iter().map(sharers).sum(), words, new.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Family;
    use crate::postings::Entry;

    /// Letter and number of the keys that a filter is filed under, when `crowd` subscribers
    /// already share the key of `#t` "busy".
    fn filed(filter: &str, crowd: u32) -> Vec<(u8, usize)> {
        let keyer = Keyer::new();
        let mut postings = Postings::new();
        let busy = keyer.tag(b't', zeolite_proto::TagStr::Text(b"busy"));
        (0..crowd).for_each(|slot| {
            postings.push(busy.hash, Entry { slot, filing: 0 });
        });
        let filter = Filter::from_json(filter).expect("a filter");
        let mut keys = Vec::new();
        push_keys(&filter, &keyer, &postings, &mut keys);
        let families: std::collections::BTreeSet<u8> = keys.iter().map(|k| k.family.0).collect();
        let count = |family| keys.iter().filter(|key| key.family.0 == family).count();
        families.into_iter().map(|family| (family, count(family))).collect()
    }

    #[track_caller]
    fn check(filter: &str, expected: &[(u8, usize)]) {
        let key = |digit: &str| format!("\"{}\"", digit.repeat(64));
        let filter = filter.replace("$A", &key("a")).replace("$B", &key("b"));
        assert_eq!(filed(&filter, 3), expected, "{filter}");
    }

    /// Case 1: one dimension, and all of its values.
    #[test]
    fn the_most_selective_list_is_chosen() {
        let [any, id, author, pair, kind] =
            [Family::UNINDEXED, Family::ID, Family::AUTHOR, Family::AUTHOR_KIND, Family::KIND]
                .map(|family| family.0);
        check(r#"{}"#, &[(any, 1)]);
        check(r##"{"since":1,"until":2,"limit":3}"##, &[(any, 1)]);
        check(r##"{"kinds":[1,6]}"##, &[(kind, 2)]);
        check(r##"{"kinds":[1,6],"#h":["room1","room2"],"since":1}"##, &[(b'h', 2)]);
        check(r##"{"authors":[$A,$B],"#h":["room1"]}"##, &[(author, 2)]);
        check(r##"{"authors":[$A,$B],"kinds":[1,6]}"##, &[(pair, 4)]);
        check(r##"{"ids":[$A,$B],"authors":[$A],"kinds":[1]}"##, &[(id, 2)]);
    }

    #[test]
    fn many_pairs_become_authors() {
        let kinds = (0..=PAIRS_MAX).map(|kind| kind.to_string()).collect::<Vec<_>>().join(",");
        check(&format!(r##"{{"authors":[$A],"kinds":[{kinds}]}}"##), &[(Family::AUTHOR.0, 1)]);
    }

    #[test]
    fn the_rarest_letter_is_chosen() {
        check(r##"{"#t":["busy"],"#z":["x","y","z"]}"##, &[(b'z', 3)]);
        check(r##"{"#z":["x","y","z"],"#t":["busy"]}"##, &[(b'z', 3)]);
        check(r##"{"#z":["x","y"],"#t":["idle"]}"##, &[(b't', 1)]);
        check(r##"{"#t":["idle"],"#p":[$A,$B]}"##, &[(b'p', 2)]);
        check(r##"{"&t":["busy","idle","x"],"#z":["x","y"]}"##, &[(b't', 1)]);
        check(r##"{"&t":["busy"],"#z":["x","y"]}"##, &[(b'z', 2)]);
    }

    /// E-20, E-21: what matches nothing is filed nowhere.
    #[test]
    fn impossible_filters_are_filed_nowhere() {
        for filter in [
            r##"{"ids":[]}"##,
            r##"{"authors":[],"kinds":[1]}"##,
            r##"{"authors":[$A],"kinds":[]}"##,
            r##"{"kinds":[70000]}"##,
            r##"{"ids":[$A],"#t":[]}"##,
            r##"{"ids":[$A],"&t":[]}"##,
            r##"{"since":2,"until":1}"##,
        ] {
            check(filter, &[]);
        }
    }
}
