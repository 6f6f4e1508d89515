//! `zeolite-bench`: see `zeolite-bench --help`.
fn main() {}
