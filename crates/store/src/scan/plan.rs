//! The choice of an index by expected cost.
//!
//! Every match lies in every candidate index, so walking back to the same moment finds the same
//! matches in each of them: what differs is how many entries are met on the way. That is the
//! candidate's density, which its first entries show, and it needs no guess of how many of them
//! match. Against it stands the cost of opening the groups.
//!
//! Densities change on the way back in time. A walk that has met several times the entries it was
//! chosen for is planned again from where it stands.

use zeolite_proto::Filter;

use super::candidate::{Candidate, Density, candidates};
use super::cursor::Window;
use super::explain::{Considered, Dimension, Estimate};
use super::merge::Merge;
use super::source::KeySource;
use super::stream::Feed;
use crate::error::ReadError;
use crate::limits::{
    DOUBT_FACTOR, DOUBT_LOOKS_MIN, FIND_ID_NS, LOOK_NS, OPEN_NS, PROBED_GROUPS_MAX,
    REFILL_KEYS_MIN, SAMPLED_EVENTS_MAX, UNLIMITED_PLANNED,
};

/// How a filter will be served.
pub(crate) struct Plan {
    pub(crate) chosen: Dimension,
    pub(crate) considered: Vec<Considered>,
    pub(crate) feed: Feed,
    /// Looks after which it is time to doubt the choice; `None` if there was none.
    pub(crate) looks_before_doubt: Option<u64>,
}

/// Chooses the cheapest index for the newest `limit` matches of `filter`.
pub(crate) fn plan(
    filter: &Filter,
    limit: Option<u64>,
    source: &impl KeySource,
    window: Window,
) -> Result<Plan, ReadError> {
    if filter.matches_nothing() || window.oldest > window.below.time() {
        let feed = Feed::Walks(Merge::new(Vec::new()));
        let (chosen, considered) = (Dimension::Nothing, Vec::new());
        return Ok(Plan { chosen, considered, feed, looks_before_doubt: None });
    }
    let ids = filter.ids.as_deref().map(<[_]>::len);
    // An id has at most one match, so a limit that lets all of them through ends no walk early.
    let limit = limit.filter(|limit| ids.is_none_or(|count| *limit < count as u64));
    let wanted = limit.unwrap_or(UNLIMITED_PLANNED).clamp(1, UNLIMITED_PLANNED) as f64;
    if let Some(count) = ids.filter(|count| *count <= PROBED_GROUPS_MAX) {
        return Ok(by_ids(count, Vec::new()));
    }
    let mut all = candidates(filter, source, window);
    let estimates = if all.len() + usize::from(ids.is_some()) == 1 {
        vec![None]
    } else {
        estimates(filter, wanted, &mut all, source, window)?
    };
    let considered: Vec<_> = std::iter::zip(&all, &estimates).map(considered).collect();
    let best = cheapest(&estimates);
    if let Some(count) = ids
        && estimates[best].is_none_or(|estimate| cost_by_ids(count) <= estimate.cost_us)
    {
        return Ok(by_ids(count, considered));
    }
    let looks = estimates[best].map(|estimate| estimate.looks);
    let looks_before_doubt = looks.map(|looks| DOUBT_LOOKS_MIN.max(looks * DOUBT_FACTOR));
    let mut candidate = all.swap_remove(best);
    candidate.expect(wanted as usize);
    let (chosen, feed) = (candidate.dimension, Feed::Walks(Merge::new(candidate.cursors)));
    Ok(Plan { chosen, considered, feed, looks_before_doubt })
}

fn cost_by_ids(count: usize) -> u64 {
    (count as f64 * FIND_ID_NS / 1e3) as u64
}

fn by_ids(count: usize, mut considered: Vec<Considered>) -> Plan {
    let estimate = Estimate { looks: count as u64, is_exact: true, cost_us: cost_by_ids(count) };
    let one = Considered { dimension: Dimension::Ids, groups: count, estimate: Some(estimate) };
    considered.insert(0, one);
    let feed = Feed::Ids(0, Vec::new());
    Plan { chosen: Dimension::Ids, considered, feed, looks_before_doubt: None }
}

fn considered((candidate, estimate): (&Candidate, &Option<Estimate>)) -> Considered {
    let groups = candidate.cursors.len();
    Considered { dimension: candidate.dimension, groups, estimate: *estimate }
}

/// The place of the lowest cost; without estimates there is one candidate only.
fn cheapest(estimates: &[Option<Estimate>]) -> usize {
    let costs = estimates.iter().map(|estimate| estimate.map_or(0, |estimate| estimate.cost_us));
    costs.enumerate().min_by_key(|(_, cost)| *cost).map_or(0, |(index, _)| index)
}

fn estimates(
    filter: &Filter,
    wanted: f64,
    all: &mut [Candidate],
    source: &impl KeySource,
    window: Window,
) -> Result<Vec<Option<Estimate>>, ReadError> {
    let needs_sample = all.iter().any(|one| one.cursors.len() > PROBED_GROUPS_MAX);
    for candidate in all.iter_mut() {
        if needs_sample && candidate.cursors.len() <= PROBED_GROUPS_MAX {
            candidate.expect(SAMPLED_EVENTS_MAX);
        }
        candidate.probe(source, window)?;
    }
    let top = all.iter().filter_map(Candidate::newest_seen).max().unwrap_or(0);
    let densities: Vec<_> =
        all.iter().map(|candidate| candidate.density(top).expect("it was probed")).collect();
    // The answer reaches at least as far back as the thinnest index needs for `wanted` entries.
    let thinnest = densities.iter().map(|density| density.per_second).fold(f64::MAX, f64::min);
    let reach_s = (wanted / thinnest.max(1e-12)).min((top - window.oldest.0.min(top) + 1) as f64);
    let mut out = Vec::with_capacity(all.len());
    for (candidate, density) in std::iter::zip(all.iter(), densities) {
        let mut looks = looks(density, reach_s);
        if needs_sample && !density.is_exact && candidate.cursors.len() <= PROBED_GROUPS_MAX {
            looks = sampled_looks(filter, wanted, candidate, source)?.unwrap_or(looks);
        }
        let unopened = candidate.cursors.len() - candidate.probed.unwrap_or(0);
        let cost_us = ((unopened as f64 * OPEN_NS + looks * LOOK_NS) / 1e3) as u64;
        out.push(Some(Estimate { looks: looks as u64, is_exact: density.is_exact, cost_us }));
    }
    Ok(out)
}

fn looks(density: Density, reach_s: f64) -> f64 {
    let met = density.per_second * reach_s;
    if density.is_whole { met.min(density.entries) } else { met.max(REFILL_KEYS_MIN as f64) }
}

/// Matches the first entries of a candidate. When some fit, their share says how many looks the
/// answer takes, whatever the densities of sampled groups made of it.
fn sampled_looks(
    filter: &Filter,
    wanted: f64,
    candidate: &Candidate,
    source: &impl KeySource,
) -> Result<Option<f64>, ReadError> {
    let (mut looked, mut matched) = (0, 0);
    let buffered = candidate.cursors.iter().flat_map(|cursor| cursor.buffered().iter().rev());
    for entry in buffered.take(SAMPLED_EVENTS_MAX) {
        looked += 1;
        let event = source.event(entry.seq())?;
        matched += usize::from(event.is_some_and(|event| filter.matches(event)));
    }
    // One hit in a sample may be luck.
    Ok((matched >= 2).then(|| wanted * f64::from(looked) / matched as f64))
}
