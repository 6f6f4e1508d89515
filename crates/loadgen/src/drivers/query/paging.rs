//! Deep paging: page after page into the past, by `until`.

use std::collections::HashSet;
use std::time::Duration;

use zeolite_proto::{Filter, Kind};

use super::Spec;
use super::table::{Presence, World};
use crate::drivers::ask::Asker;
use crate::drivers::error::DriveError;
use crate::drivers::facts::name_some;
use crate::drivers::listing::{Pager, created_at};
use crate::latency::Recorder;
use crate::row::Row;
use crate::target::Target;

/// Events of a page.
const PAGE: usize = 500;

pub(super) async fn measure(
    target: &Target,
    spec: &Spec,
    world: &World,
    row: &mut Row,
) -> Result<(), DriveError> {
    let silence = Duration::from_secs(spec.silence_s);
    let mut asker = Asker::connect(target, 0, silence).await?;
    let filter = Filter { kinds: Some([Kind::TEXT_NOTE].into()), ..Filter::default() };
    let mut pager = Pager::new(r#""kinds":[1]"#, PAGE);
    let mut eose = Recorder::new();
    let mut times = Vec::new();
    row.begin();
    for _ in 0..spec.pages {
        let page = pager.next(&mut asker, |_, json| times.extend(created_at(json))).await?;
        eose.record(page.done);
        if page.is_last {
            break;
        }
    }
    row.end(eose.count());
    row.check("doubled", 0, pager.doubled());
    let found = pager.into_found();
    // The oldest second may be cut by the last page; above it nothing may be missing.
    let edge = times.iter().min().copied().unwrap_or_default();
    let got: HashSet<_> = found.iter().copied().collect();
    let newer = world.events().iter().filter(|(event, presence)| {
        *presence == Presence::Required
            && event.view().created_at() > edge
            && filter.matches(event.view())
    });
    let missing: Vec<_> =
        newer.map(|(event, _)| event.view().id()).filter(|id| !got.contains(id)).collect();
    row.figure("pages", eose.count() as f64)
        .figure("events", found.len() as f64)
        .latency("eose", &eose)
        .results(&found)
        .check("missing", 0, missing.len())
        .require("events", "at least 1", found.len(), !found.is_empty());
    name_some(row, "missing", &missing);
    Ok(())
}
