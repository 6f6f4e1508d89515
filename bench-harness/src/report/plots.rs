//! A scenario's pictures.

use crate::report::{Group, Rendered};
use crate::scenario::{Plot, Scenario, Shape};
use crate::svg::{Axis, Bars, Lines, Scale, Trace};

/// A picture and its caption.
pub(super) struct Picture {
    pub(super) title: String,
    pub(super) file: Rendered,
}

/// The pictures of a scenario for which there is something to draw.
pub(super) fn pictures(scenario: &Scenario, groups: &[Group<'_>]) -> Vec<Picture> {
    let draw = |plot: &Plot| {
        let text = match &plot.shape {
            Shape::Line { x, x_label, y, y_label, scale } => {
                let labels = (x_label.as_str(), y_label.as_str());
                let traces = by_parameter(groups, x, y, *scale);
                let upwards = scale_of(&traces);
                lines(plot, traces, labels, (Scale::Log, upwards))
            }
            Shape::Curve { case, latency } => {
                let labels = ("slowest one in .. (log)", "ms");
                lines(plot, curves(groups, case, latency), labels, (Scale::Log, Scale::Log))
            }
            Shape::Series { case, series, y_label } => {
                let labels = ("seconds", y_label.as_str());
                lines(plot, over_time(groups, case, series), labels, (Scale::Linear, Scale::Linear))
            }
            Shape::Bars { value, y_label, scale } => bars(plot, groups, value, y_label, *scale),
        };
        let file = Rendered { name: format!("{}.svg", plot.name), text: text? };
        Some(Picture { title: plot.title.clone(), file })
    };
    scenario.plot.iter().filter_map(draw).collect()
}

/// Values that lie far apart need powers of ten, or the small ones lie on the axis.
fn scale_of(traces: &[Trace]) -> Scale {
    let values = || traces.iter().flat_map(|trace| &trace.points).map(|(_, y)| *y);
    let (min, max) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    if min > 0.0 && max / min > WIDE { Scale::Log } else { Scale::Linear }
}

/// The ratio from which on values lie far apart: a twentieth of the height is still seen.
const WIDE: f64 = 20.0;

fn lines(
    plot: &Plot,
    traces: Vec<Trace>,
    (x_label, y_label): (&str, &str),
    (x, y): (Scale, Scale),
) -> Option<String> {
    let axis = |label: &str, scale| Axis { label: label.to_owned(), scale };
    let traces: Vec<Trace> = traces.into_iter().filter(|trace| trace.points.len() > 1).collect();
    let chart =
        Lines { title: plot.title.clone(), x: axis(x_label, x), y: axis(y_label, y), traces };
    (!chart.traces.is_empty()).then(|| chart.svg())
}

fn engines<'a>(groups: &[Group<'a>]) -> Vec<&'a str> {
    let mut engines: Vec<&str> = Vec::new();
    for group in groups {
        if !engines.contains(&group.engine) {
            engines.push(group.engine);
        }
    }
    engines
}

fn by_parameter(groups: &[Group<'_>], x: &str, y: &str, scale: f64) -> Vec<Trace> {
    let trace = |engine: &str| {
        let own = groups.iter().filter(|group| group.engine == engine);
        let point =
            |group: &Group<'_>| Some((group.spread(x)?.median, group.spread(y)?.median * scale));
        let mut points: Vec<(f64, f64)> = own.filter_map(point).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Trace { name: engine.to_owned(), points }
    };
    engines(groups).into_iter().map(trace).collect()
}

/// Across: one in how many is slower; a logarithmic axis then shows the nines evenly.
fn curves(groups: &[Group<'_>], case: &str, latency: &str) -> Vec<Trace> {
    let trace = |group: &Group<'_>| {
        let row = group.passed().last()?;
        let curve = &row.report.latencies.get(latency)?.curve;
        let below_all = curve.iter().filter(|point| point.share < 1.0 && point.us > 0.0);
        let points = below_all.map(|point| (1.0 / (1.0 - point.share), point.us / 1e3)).collect();
        Some(Trace { name: group.engine.to_owned(), points })
    };
    groups.iter().filter(|group| group.case == case).filter_map(trace).collect()
}

fn over_time(groups: &[Group<'_>], case: &str, series: &str) -> Vec<Trace> {
    let trace = |group: &Group<'_>| {
        let row = group.passed().last()?;
        let points = row.report.series.get(series)?;
        let points = points.iter().map(|point| (point.at_s, point.value)).collect();
        // Pairs have the names of both in the case.
        let name = group.case.split_once(": ").map_or(group.engine, |(_, pair)| pair);
        Some(Trace { name: name.to_owned(), points })
    };
    let is_case = |group: &&Group<'_>| {
        group.case == case || group.case.split_once(": ").is_some_and(|(own, _)| own == case)
    };
    groups.iter().filter(is_case).filter_map(trace).collect()
}

fn bars(plot: &Plot, groups: &[Group<'_>], value: &str, label: &str, scale: f64) -> Option<String> {
    let names = engines(groups);
    let mut cases: Vec<&str> = groups.iter().map(|group| group.case).collect();
    cases.dedup();
    let bar = |case: &str, engine: &str| {
        let group = groups.iter().find(|group| group.case == case && group.engine == engine)?;
        Some(group.spread(value)?.median * scale)
    };
    let of_case = |case: &&str| {
        let bars: Vec<_> = names.iter().map(|engine| bar(case, engine)).collect();
        ((*case).to_owned(), bars)
    };
    let groups: Vec<_> =
        cases.iter().map(of_case).filter(|(_, bars)| bars.iter().any(Option::is_some)).collect();
    let chart = Bars {
        title: plot.title.clone(),
        label: label.to_owned(),
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        groups,
    };
    (!chart.groups.is_empty()).then(|| chart.svg())
}
