//! The events that travel, in two files: most of them, and one in a hundred, chosen at random.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use zeolite_testkit::Factory;

/// Bytes of an event, the mean of the shape that published figures use.
const EVENT_BYTES: usize = 740;

/// Authors; most events are by few of them.
const AUTHORS: u64 = 2_000;

struct Files {
    most: BufWriter<File>,
    rest: BufWriter<File>,
}

impl Files {
    fn create(most: &Path, rest: &Path) -> Self {
        let create = |path| BufWriter::new(File::create(path).expect("a file can be made"));
        Self { most: create(most), rest: create(rest) }
    }

    fn push(&mut self, number: u64, line: &str) {
        let is_rest = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 < (1 << 32) / 100;
        let out = if is_rest { &mut self.rest } else { &mut self.most };
        writeln!(out, "{line}").expect("a file can be written");
    }
}

/// Makes notes and reactions, one a second.
pub(crate) fn write(events: u64, most: &Path, rest: &Path) {
    let mut files = Files::create(most, rest);
    let mut factory = Factory::new(7);
    for number in 0..events {
        // Squares of a uniform choice: a tenth of the authors write a third of the events.
        let pick = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let author = (((pick * pick) >> 32) * AUTHORS) >> 32;
        let other = factory.pubkey((pick % AUTHORS) as usize);
        let target = format!("{:064x}", pick % 50_000);
        let kind = [1, 1, 1, 1, 6, 7, 7, 7][(pick % 8) as usize];
        let draft = factory.draft(author as usize).kind(kind).at(1_700_000_000 + number);
        let draft = draft.tag(&["e", &target]).tag(&["p", &other]).tag(&["t", "zeolite"]);
        files.push(number, &draft.padded_to(EVENT_BYTES).json());
    }
}

/// Takes the first events of a file.
pub(crate) fn split(corpus: &Path, events: u64, most: &Path, rest: &Path) {
    let mut files = Files::create(most, rest);
    let lines = BufReader::new(File::open(corpus).expect("the corpus can be read")).lines();
    for (number, line) in (0..events).zip(lines) {
        files.push(number, &line.expect("a corpus is text"));
    }
}
