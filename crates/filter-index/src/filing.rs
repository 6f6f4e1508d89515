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
