//! What a query counts for against a client's budget.

use zeolite_proto::Filter;

/// A filter that names events or authors is served from short lists, one that names tags from
/// longer ones, and one that names neither walks what everyone wrote.
fn of_filter(filter: &Filter) -> u64 {
    if filter.limit == Some(0) {
        return 1;
    }
    match filter {
        Filter { ids: Some(_), .. } | Filter { authors: Some(_), .. } => 1,
        Filter { tags, .. } if !tags.is_empty() => 2,
        _ => 5,
    }
}

/// Tokens for the stored part of a REQ: the sum over its filters.
pub fn query_cost(filters: &[Filter]) -> u64 {
    filters.iter().map(of_filter).sum()
}

/// Tokens for a COUNT, which has no limit and walks to the end.
pub fn count_cost(filters: &[Filter]) -> u64 {
    4 * query_cost(filters)
}

/// Tokens for the opening of a reconciliation, which may have to build a set.
pub const RECONCILE_COST: u64 = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_filters_cost_more() {
        let id = "ab".repeat(32);
        for (filters, cost) in [
            (vec![], 0),
            (vec![format!(r#"{{"ids":["{id}"]}}"#)], 1),
            (vec![format!(r##"{{"authors":["{id}"],"kinds":[1]}}"##)], 1),
            (vec![r##"{"#t":["x"]}"##.to_owned()], 2),
            (vec!["{}".to_owned()], 5),
            (vec![r#"{"kinds":[1],"limit":0}"#.to_owned()], 1),
            (vec!["{}".to_owned(), r##"{"#t":["x"]}"##.to_owned()], 7),
        ] {
            let filters: Vec<_> =
                filters.iter().map(|json| Filter::from_json(json).expect("a filter")).collect();
            assert_eq!(query_cost(&filters), cost, "{filters:?}");
            assert_eq!(count_cost(&filters), 4 * cost, "{filters:?}");
        }
    }
}
