//! Several measurements of one thing: the median, and the range that says how much it is worth.

/// Median, minimum and maximum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The middle one; the mean of the two in the middle for an even number.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// How many.
    pub count: usize,
}

impl Spread {
    /// Of some values; `None` for none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let (below, above) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
        Some(Self { median: f64::midpoint(below, above), min, max, count: values.len() })
    }

    /// All of it multiplied.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        let (a, b) = (self.min * factor, self.max * factor);
        Self { median: self.median * factor, min: a.min(b), max: a.max(b), ..self }
    }

    /// `median (min..max)`, or the value alone when there is only one.
    pub fn text(&self, digits: usize) -> String {
        let median = number(self.median, digits);
        if self.count < 2 {
            return median;
        }
        format!("{median} ({}..{})", number(self.min, digits), number(self.max, digits))
    }
}

/// A number with this many digits behind the point and its thousands apart.
pub fn number(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    let (sign, rest) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("-", rest));
    let (whole, fraction) = rest.split_once('.').map_or((rest, None), |(a, b)| (a, Some(b)));
    let mut grouped = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let point = fraction.map(|fraction| format!(".{fraction}")).unwrap_or_default();
    format!("{sign}{grouped}{point}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_and_the_range() {
        let check = |values: &[f64], expected: Option<(f64, f64, f64)>| {
            let spread = Spread::of(values.iter().copied());
            assert_eq!(spread.map(|s| (s.median, s.min, s.max)), expected);
        };
        check(&[], None);
        check(&[f64::NAN], None);
        check(&[3.0], Some((3.0, 3.0, 3.0)));
        check(&[3.0, 1.0, 2.0], Some((2.0, 1.0, 3.0)));
        check(&[4.0, 1.0, 2.0, 9.0], Some((3.0, 1.0, 9.0)));
    }

    #[test]
    fn numbers_are_written_for_readers() {
        let check = |value, digits, expected: &str| assert_eq!(number(value, digits), expected);
        check(1_234_567.0, 0, "1,234,567");
        check(999.4, 0, "999");
        check(0.256, 2, "0.26");
        check(-1234.5, 1, "-1,234.5");
        let spread = Spread::of([1000.0, 3000.0]).unwrap();
        assert_eq!(spread.text(0), "2,000 (1,000..3,000)");
        assert_eq!(spread.scaled(0.001).text(1), "2.0 (1.0..3.0)");
        assert_eq!(Spread::of([5.0]).unwrap().text(0), "5");
    }
}
