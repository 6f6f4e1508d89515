//! Filters on the command line: one JSON object per argument.

use anyhow::Context;
use zeolite_proto::Filter;

/// Parses every argument. A filter that is wrong stops the command, since leaving it out could
/// widen or empty the answer.
pub(crate) fn parse(arguments: &[String]) -> anyhow::Result<Vec<Filter>> {
    let one = |text: &String| {
        Filter::from_json(text).with_context(|| format!("the filter {text} is not usable"))
    };
    let filters: Vec<Filter> = arguments.iter().map(one).collect::<Result<_, _>>()?;
    anyhow::ensure!(
        filters.iter().all(|filter| filter.search.is_none()),
        "unsupported: full-text search is not offered"
    );
    Ok(filters)
}

/// True if a filter selects every event, now and later.
pub(crate) fn selects_all(filter: &Filter) -> bool {
    let Filter { ids, authors, kinds, tags, since, until, limit: _, search: _, written: _ } =
        filter;
    ids.is_none()
        && authors.is_none()
        && kinds.is_none()
        && tags.is_empty()
        && since.is_none_or(|since| since.0 == 0)
        && until.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Case 3: what a delete must not take by accident.
    #[test]
    fn unconditional_filters_are_recognised() {
        for (text, all) in [
            ("{}", true),
            (r#"{"limit":5}"#, true),
            (r#"{"since":0}"#, true),
            (r#"{"since":1}"#, false),
            (r#"{"until":1}"#, false),
            (r#"{"kinds":[]}"#, false),
            (r##"{"#t":["a"]}"##, false),
        ] {
            let filter = Filter::from_json(text).expect(text);
            assert_eq!(selects_all(&filter), all, "{text}");
        }
    }

    #[test]
    fn wrong_filters_are_refused() {
        for text in ["", "[]", "{", r#"{"kind":[1]}"#, r#"{"ids":["abc"]}"#, r#"{"search":"x"}"#] {
            assert!(parse(&[text.to_owned()]).is_err(), "{text}");
        }
    }
}
