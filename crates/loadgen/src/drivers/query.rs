//! `query`: a table of filters as clients ask them, checked against answers worked out from the corpus.

mod measure;
mod paging;
mod table;
mod verdict;

use std::path::PathBuf;

use clap::Args;

use super::runtime::block_on;
use crate::report::Report;
use crate::row::Row;
use crate::target::Target;
use table::{Question, World};

/// How much of it.
#[derive(Args, Clone, Debug)]
pub struct Spec {
    /// The corpus that the relay holds
    #[arg(long, value_name = "FILE")]
    pub corpus: PathBuf,
    /// Only the questions with these names
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Seconds of each question on one socket, and again on several
    #[arg(long, value_name = "S", default_value_t = 1.0)]
    pub seconds: f64,
    /// Sockets of the second half
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub sockets: usize,
    /// Pages of the deep paging
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub pages: usize,
    /// Seconds without any progress after which a row ends
    #[arg(long, value_name = "S", default_value_t = 20)]
    pub silence_s: u64,
}

/// A row for each question of the table.
pub fn run(target: &Target, spec: &Spec, emit: &mut dyn FnMut(Report)) {
    let world = match World::open(&spec.corpus) {
        Ok(world) => world,
        Err(error) => return emit(Row::new("query", "corpus", target).fail(error)),
    };
    let wanted = |name: &str| spec.only.is_empty() || spec.only.iter().any(|only| only == name);
    for question in world.questions().iter().filter(|question| wanted(question.name)) {
        let mut row = row(target, question);
        let outcome = block_on(measure::measure(target, spec, &world, question, &mut row));
        emit(row.close(outcome));
    }
    if wanted("deep-paging") {
        let mut row = Row::new("query", "deep-paging", target);
        row.param("pages", spec.pages);
        let outcome = block_on(paging::measure(target, spec, &world, &mut row));
        emit(row.close(outcome));
    }
}

fn row(target: &Target, question: &Question) -> Row {
    let mut row = Row::new("query", question.name, target);
    let filter = &question.filter;
    let shown = if filter.len() > 400 { format!("{} bytes", filter.len()) } else { filter.clone() };
    row.param("filter", shown);
    row
}
