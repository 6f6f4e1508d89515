//! Small pictures: lines and bars in SVG, the same bytes for the same data.

use std::fmt::Write;

use crate::spread::number;

/// One line or one group of bars.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Its name in the legend.
    pub name: String,
    /// Its points, in the order of x.
    pub points: Vec<(f64, f64)>,
}

/// How an axis is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Evenly, from zero.
    Linear,
    /// By powers of ten.
    Log,
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What it shows, with the unit.
    pub label: String,
    /// How it is divided.
    pub scale: Scale,
}

/// A chart of lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Lines {
    /// The caption.
    pub title: String,
    /// Across.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// The lines.
    pub traces: Vec<Trace>,
}

/// A chart of bars: groups, in each one bar for a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// The caption.
    pub title: String,
    /// What the bars show, with the unit.
    pub label: String,
    /// Names of the bars in each group.
    pub names: Vec<String>,
    /// Each group's name and its bars; a bar without a value was not measured.
    pub groups: Vec<(String, Vec<Option<f64>>)>,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 76.0;
/// Between two rows of a legend.
const LEGEND_ROW: f64 = 16.0;

/// Colours that stay apart for colour-blind readers (Okabe and Ito), without yellow.
const COLOURS: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000"];

fn colour(at: usize) -> &'static str {
    COLOURS[at % COLOURS.len()]
}

/// Where a value lies on an axis, and the marks along it.
struct Ruler {
    scale: Scale,
    from: f64,
    to: f64,
}

impl Ruler {
    fn over(scale: Scale, values: impl Iterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.filter(|v| scale == Scale::Linear || *v > 0.0).collect();
        let max = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let min = values.iter().copied().fold(f64::INFINITY, f64::min);
        match scale {
            Scale::Linear => Self { scale, from: 0.0, to: rounded_up(max) },
            Scale::Log => {
                let from = 10_f64.powf(min.min(max).log10().floor());
                let to = 10_f64.powf(max.log10().ceil()).max(from * 10.0);
                Self { scale, from, to }
            }
        }
    }

    /// 0 at the beginning of the axis, 1 at its end.
    fn share(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => (value - self.from) / (self.to - self.from),
            Scale::Log => (value / self.from).log10() / (self.to / self.from).log10(),
        };
        share.clamp(0.0, 1.0)
    }

    fn marks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear => (0..=4).map(|at| self.to / 4.0 * f64::from(at)).collect(),
            Scale::Log => {
                let mut marks = vec![self.from];
                while let Some(last) = marks.last().filter(|last| **last * 1.01 < self.to) {
                    marks.push(last * 10.0);
                }
                marks
            }
        }
    }
}

/// The next number with one or two digits that is not smaller and divides well by four.
fn rounded_up(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 1.2, 1.6, 2.0, 2.4, 3.2, 4.0, 6.0, 8.0, 10.0];
    let fits = steps.into_iter().map(|step| step * power).find(|step| *step >= value * 0.999);
    fits.unwrap_or(10.0 * power)
}

fn mark_text(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{}M", trimmed(v / 1e6)),
        v if v >= 1e4 => format!("{}k", trimmed(v / 1e3)),
        v if v >= 100.0 => number(v, 0),
        v => trimmed(v),
    }
}

fn trimmed(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A picture under way.
struct Canvas(String);

impl Canvas {
    /// A picture with a legend of these names, below the rest in as many rows as they need.
    fn new(title: &str, names: &[String]) -> Self {
        let places = legend_places(names);
        let height = places.last().map_or(HEIGHT, |(_, y)| y + 14.0);
        let mut canvas = Self(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
        ));
        for (at, (name, (x, y))) in names.iter().zip(places).enumerate() {
            let fill = colour(at);
            canvas.put(format_args!(
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"10\" height=\"10\" fill=\"{fill}\"/>",
                y - 9.0
            ));
            canvas.text(x + 14.0, y, "start", name);
        }
        canvas.put(format_args!(
            "<text x=\"{LEFT}\" y=\"24\" font-size=\"15\" font-weight=\"bold\">{}</text>",
            escaped(title)
        ));
        canvas
    }

    fn put(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{element}");
    }

    fn text(&mut self, x: f64, y: f64, anchor: &str, text: &str) {
        let text = escaped(text);
        self.put(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
        ));
    }

    fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), colour: &str) {
        self.put(format_args!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\"/>"
        ));
    }

    fn rising_marks(&mut self, ruler: &Ruler, label: &str) {
        for mark in ruler.marks() {
            let y = y_of(ruler.share(mark));
            self.line((LEFT, y), (WIDTH - RIGHT, y), "#dddddd");
            self.text(LEFT - 6.0, y + 4.0, "end", &mark_text(mark));
        }
        self.text(LEFT, TOP - 6.0, "start", label);
    }

    fn finish(self) -> String {
        self.0 + "</svg>\n"
    }
}

/// Where the names of a legend begin.
fn legend_places(names: &[String]) -> Vec<(f64, f64)> {
    let (mut x, mut y) = (LEFT, HEIGHT - 14.0);
    let place = |name: &String| {
        let width = 30.0 + 7.0 * name.chars().count() as f64;
        if x > LEFT && x + width > WIDTH {
            (x, y) = (LEFT, y + LEGEND_ROW);
        }
        let place = (x, y);
        x += width;
        place
    };
    names.iter().map(place).collect()
}

fn x_of(share: f64) -> f64 {
    LEFT + share * (WIDTH - LEFT - RIGHT)
}

fn y_of(share: f64) -> f64 {
    HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)
}

impl Lines {
    /// The picture.
    pub fn svg(&self) -> String {
        let points = || self.traces.iter().flat_map(|trace| &trace.points);
        let across = Ruler::over(self.x.scale, points().map(|(x, _)| *x));
        let upwards = Ruler::over(self.y.scale, points().map(|(_, y)| *y));
        let names: Vec<_> = self.traces.iter().map(|trace| trace.name.clone()).collect();
        let mut canvas = Canvas::new(&self.title, &names);
        canvas.rising_marks(&upwards, &self.y.label);
        for mark in across.marks() {
            let x = x_of(across.share(mark));
            canvas.line((x, y_of(0.0)), (x, y_of(0.0) + 4.0), "#888888");
            canvas.text(x, y_of(0.0) + 18.0, "middle", &mark_text(mark));
        }
        canvas.text(x_of(1.0), y_of(0.0) + 36.0, "end", &self.x.label);
        for (at, trace) in self.traces.iter().enumerate() {
            let place = |(x, y): &(f64, f64)| {
                format!("{:.1},{:.1}", x_of(across.share(*x)), y_of(upwards.share(*y)))
            };
            let places: Vec<String> = trace.points.iter().map(place).collect();
            canvas.put(format_args!(
                "<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"2\" points=\"{}\"/>",
                colour(at),
                places.join(" ")
            ));
        }
        canvas.finish()
    }
}

impl Bars {
    /// The picture.
    pub fn svg(&self) -> String {
        let values = self.groups.iter().flat_map(|(_, bars)| bars.iter().copied().flatten());
        let upwards = Ruler::over(Scale::Linear, values);
        let mut canvas = Canvas::new(&self.title, &self.names);
        canvas.rising_marks(&upwards, &self.label);
        let group_width = (WIDTH - LEFT - RIGHT) / self.groups.len().max(1) as f64;
        let bar_width = group_width * 0.8 / self.names.len().max(1) as f64;
        for (group_at, (group, bars)) in self.groups.iter().enumerate() {
            let left = LEFT + group_width * (group_at as f64 + 0.1);
            for (at, value) in bars.iter().enumerate() {
                let Some(value) = value else { continue };
                let (x, y) = (left + bar_width * at as f64, y_of(upwards.share(*value)));
                canvas.put(format_args!(
                    "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{bar_width:.1}\" height=\"{:.1}\" fill=\"{}\"/>",
                    y_of(0.0) - y,
                    colour(at)
                ));
            }
            // Three rows of names, so that neighbours do not overlap.
            let y = y_of(0.0) + 16.0 + 13.0 * (group_at % 3) as f64;
            canvas.text(left + group_width * 0.4, y, "middle", group);
        }
        canvas.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_numbers() {
        let check =
            |value, expected: f64| assert!((rounded_up(value) / expected - 1.0).abs() < 1e-9);
        check(0.93, 1.0);
        check(1.0, 1.0);
        check(37.0, 40.0);
        check(13_000.0, 16_000.0);
    }

    /// A legend that is wider than the picture goes on below, and the picture grows with it.
    #[test]
    fn long_legends_have_several_rows() {
        let names: Vec<_> = (0..4).map(|at| format!("{at}: one engine -> another one")).collect();
        let rows: Vec<_> = legend_places(&names).into_iter().map(|(_, y)| y).collect();
        assert_eq!(rows, [406.0, 406.0, 406.0, 422.0]);
        let canvas = Canvas::new("T", &names).finish();
        assert!(canvas.contains("viewBox=\"0 0 760 436\""), "{canvas}");
    }

    #[test]
    fn logarithmic_axes_have_a_mark_for_each_power() {
        let ruler = Ruler::over(Scale::Log, [100.0, 15_000.0].into_iter());
        let marks: Vec<String> = ruler.marks().into_iter().map(mark_text).collect();
        assert_eq!(marks, ["100", "1,000", "10k", "100k"]);
        assert!((ruler.share(1000.0) - 1.0 / 3.0).abs() < 1e-9);
        assert!(ruler.share(0.0).abs() < f64::EPSILON);
    }

    #[test]
    fn a_line_lies_where_its_points_are() {
        let axis = |label: &str| Axis { label: label.to_owned(), scale: Scale::Linear };
        let trace = Trace { name: "a<b".to_owned(), points: vec![(0.0, 0.0), (4.0, 8.0)] };
        let chart =
            Lines { title: "T".to_owned(), x: axis("x"), y: axis("y"), traces: vec![trace] };
        let svg = chart.svg();
        assert!(svg.contains("points=\"72.0,344.0 740.0,44.0\""), "{svg}");
        assert!(svg.contains("a&lt;b"));
        assert!(svg.ends_with("</svg>\n"));
    }

    #[test]
    fn a_bar_is_as_high_as_its_value() {
        let chart = Bars {
            title: "T".to_owned(),
            label: "us".to_owned(),
            names: vec!["a".to_owned(), "b".to_owned()],
            groups: vec![("g".to_owned(), vec![Some(4.0), None])],
        };
        let svg = chart.svg();
        assert!(svg.contains("y=\"44.0\" width=\"267.2\" height=\"300.0\""), "{svg}");
        assert_eq!(svg.matches("height=\"300.0\"").count(), 1);
    }
}
