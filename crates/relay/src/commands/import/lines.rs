//! Cuts an input into events, without keeping more of it than a chunk.

use std::io::{self, BufRead};
use std::ops::Range;

use super::tally::{Place, Verdict};

/// Events in a chunk. A chunk is what one worker parses and verifies in one go, and what the
/// admitter takes in one step: enough that a batch of signatures is worth its set-up.
const CHUNK_EVENTS_MAX: usize = 512;

/// Bytes in a chunk, one more line aside: with events of up to 1 kB the number above comes first.
const CHUNK_BYTES_MAX: usize = 512 << 10;

/// Consecutive events of one input, in the text of which they were cut.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    text: Vec<u8>,
    events: Vec<(Place, Range<usize>)>,
    /// Lines that are no events before anybody parsed them.
    pub(crate) faults: Vec<(Place, Verdict)>,
}

impl Chunk {
    /// The events, each with its place.
    pub(crate) fn events(&self) -> impl Iterator<Item = (Place, &[u8])> {
        self.events.iter().map(|(place, range)| (*place, &self.text[range.clone()]))
    }

    fn is_full(&self) -> bool {
        self.events.len() + self.faults.len() >= CHUNK_EVENTS_MAX
            || self.text.len() >= CHUNK_BYTES_MAX
    }

    fn is_empty(&self) -> bool {
        self.events.is_empty() && self.faults.is_empty()
    }
}

/// Reads one input to its end. `sink` takes each chunk and answers whether it wants more.
///
/// An input whose first character is `[` holds a JSON array of events, or messages such as
/// `["EVENT",{...}]`: every outermost object is an event. Any other input has one event a line.
/// A line or object above `event_bytes_max` is passed over and counted, never held in memory.
pub(crate) fn read(
    input: &mut dyn BufRead,
    file: usize,
    event_bytes_max: usize,
    sink: &mut dyn FnMut(Chunk) -> bool,
) -> io::Result<()> {
    let mut cutter =
        Cutter { file, line: 1, event_bytes_max, chunk: Chunk::default(), sink, wants_more: true };
    let result = match first_byte(input, &mut cutter.line)? {
        Some(b'[') => cutter.objects(input),
        Some(_) => cutter.lines(input),
        None => Ok(()),
    };
    if !cutter.chunk.is_empty() && cutter.wants_more {
        (cutter.sink)(std::mem::take(&mut cutter.chunk));
    }
    result
}

/// Skips blank characters and a byte order mark; the next byte stays in the input.
fn first_byte(input: &mut dyn BufRead, line: &mut u64) -> io::Result<Option<u8>> {
    loop {
        let buffer = input.fill_buf()?;
        let Some(&byte) = buffer.first() else { return Ok(None) };
        match byte {
            b'\n' => *line += 1,
            b' ' | b'\t' | b'\r' | 0xef | 0xbb | 0xbf => {}
            byte => return Ok(Some(byte)),
        }
        input.consume(1);
    }
}

struct Cutter<'a> {
    file: usize,
    line: u64,
    event_bytes_max: usize,
    chunk: Chunk,
    sink: &'a mut dyn FnMut(Chunk) -> bool,
    wants_more: bool,
}

impl Cutter<'_> {
    fn place(&self, line: u64) -> Place {
        Place { file: self.file, line }
    }

    fn fault(&mut self, line: u64, what: impl std::fmt::Display) {
        let place = self.place(line);
        self.chunk.faults.push((place, Verdict::refused(what)));
    }

    fn too_long(&mut self, line: u64) {
        let max = self.event_bytes_max;
        self.fault(line, format_args!("invalid: event is longer than {max} bytes"));
    }

    /// Hands the chunk on when it is full. Chunks are of memory of their own, so that a worker
    /// can keep one while the next is read.
    fn pass_on(&mut self) {
        if self.chunk.is_full() {
            self.wants_more = (self.sink)(std::mem::take(&mut self.chunk));
        }
    }

    /// One event a line; blank lines are nothing.
    fn lines(&mut self, input: &mut dyn BufRead) -> io::Result<()> {
        while self.wants_more {
            let start = self.chunk.text.len();
            // One byte more than allowed tells a line of the largest size from a longer one.
            let bound = self.event_bytes_max as u64 + 1;
            let count =
                io::Read::take(&mut *input, bound).read_until(b'\n', &mut self.chunk.text)?;
            if count == 0 {
                break;
            }
            let ended = self.chunk.text.ends_with(b"\n");
            if !ended && count as u64 == bound {
                self.chunk.text.truncate(start);
                skip_line(input)?;
                self.too_long(self.line);
            } else {
                self.keep_line(start);
            }
            self.line += 1;
            self.pass_on();
        }
        Ok(())
    }

    fn keep_line(&mut self, start: usize) {
        let line = self.chunk.text[start..].trim_ascii_end();
        if line.trim_ascii_start().is_empty() {
            self.chunk.text.truncate(start);
        } else {
            let range = start..start + line.len();
            self.chunk.events.push((self.place(self.line), range));
        }
    }

    /// Every outermost object, whatever arrays it lies in.
    fn objects(&mut self, input: &mut dyn BufRead) -> io::Result<()> {
        let mut scan = Scan::default();
        while self.wants_more {
            let buffer = input.fill_buf()?;
            if buffer.is_empty() {
                if scan.depth > 0 {
                    self.chunk.text.truncate(scan.start);
                    self.fault(scan.line, "invalid: input ends inside an object");
                }
                break;
            }
            let mut used = 0;
            for &byte in buffer {
                used += 1;
                if self.step(&mut scan, byte) {
                    break;
                }
            }
            input.consume(used);
            self.pass_on();
        }
        Ok(())
    }

    /// Takes one byte; true when a chunk may be handed on.
    fn step(&mut self, scan: &mut Scan, byte: u8) -> bool {
        if byte == b'\n' {
            self.line += 1;
        }
        let was_inside = scan.depth > 0;
        let token = scan.take(byte);
        if !was_inside && scan.depth > 0 {
            (scan.start, scan.line) = (self.chunk.text.len(), self.line);
        }
        if was_inside || scan.depth > 0 {
            // The text stops growing one byte past the bound; the object is still followed.
            if self.chunk.text.len() - scan.start <= self.event_bytes_max {
                self.chunk.text.push(byte);
            }
        }
        match token {
            Token::End => {
                let range = scan.start..self.chunk.text.len();
                if range.len() > self.event_bytes_max {
                    self.chunk.text.truncate(scan.start);
                    self.too_long(scan.line);
                } else {
                    self.chunk.events.push((self.place(scan.line), range));
                }
            }
            Token::Stray => self.fault(self.line, "invalid: expected an event object"),
            Token::None => return false,
        }
        self.chunk.is_full()
    }
}

fn skip_line(input: &mut dyn BufRead) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        let end = buffer.iter().position(|&byte| byte == b'\n');
        let used = end.map_or(buffer.len(), |end| end + 1);
        let is_over = end.is_some() || buffer.is_empty();
        input.consume(used);
        if is_over {
            return Ok(());
        }
    }
}

/// Follows the nesting of JSON without understanding it.
#[derive(Default)]
struct Scan {
    /// Open braces.
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// Inside something outside every object that is neither text nor punctuation.
    in_stray: bool,
    /// Where the object begins in the chunk.
    start: usize,
    /// The line on which it begins.
    line: u64,
}

enum Token {
    None,
    End,
    Stray,
}

impl Scan {
    fn take(&mut self, byte: u8) -> Token {
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return Token::None;
        }
        let was_stray = std::mem::replace(&mut self.in_stray, false);
        match byte {
            b'"' => self.in_string = true,
            b'{' => self.depth += 1,
            b'}' if self.depth > 0 => {
                self.depth -= 1;
                if self.depth == 0 {
                    return Token::End;
                }
            }
            b'[' | b']' | b',' | b' ' | b'\t' | b'\r' | b'\n' => {}
            _ if self.depth == 0 => {
                self.in_stray = true;
                if !was_stray {
                    return Token::Stray;
                }
            }
            _ => {}
        }
        Token::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: usize = 20;

    /// An input gives these events with their lines, and these lines are faults. Read through
    /// buffers of every small size, since a cut may fall anywhere.
    fn check(text: &str, events: &[(u64, &str)], faults: &[u64]) {
        for capacity in [1, 2, 3, 7, 4096] {
            let mut found = Vec::new();
            let mut found_faults = Vec::new();
            let mut input = io::BufReader::with_capacity(capacity, text.as_bytes());
            let mut sink = |chunk: Chunk| {
                let text = |event: &[u8]| String::from_utf8_lossy(event).into_owned();
                found.extend(chunk.events().map(|(place, event)| (place.line, text(event))));
                found_faults.extend(chunk.faults.iter().map(|(place, _)| place.line));
                true
            };
            read(&mut input, 0, MAX, &mut sink).expect("memory can be read");
            let found: Vec<_> = found.iter().map(|(line, text)| (*line, text.as_str())).collect();
            assert_eq!((&found[..], &found_faults[..]), (events, faults), "{text:?} by {capacity}");
        }
    }

    #[test]
    fn lines_are_events() {
        check("", &[], &[]);
        check("{}", &[(1, "{}")], &[]);
        check("{}\n{\"a\":1}\n", &[(1, "{}"), (2, "{\"a\":1}")], &[]);
        check("\u{feff}{}\r\n\r\n  \n{}\r\n", &[(1, "{}"), (4, "{}")], &[]);
        check("\n\nnonsense\n", &[(3, "nonsense")], &[]);
    }

    /// A line of any length costs no more memory than the bound; the next one is read.
    #[test]
    fn long_lines_are_passed_over() {
        let edge = "x".repeat(MAX);
        check(&format!("{edge}\n{{}}"), &[(1, &edge), (2, "{}")], &[]);
        check(&edge, &[(1, &edge)], &[]);
        check(&format!("{{}}\n{edge}x\n{{}}\n"), &[(1, "{}"), (3, "{}")], &[2]);
        check(&"x".repeat(10_000), &[], &[1]);
    }

    #[test]
    fn arrays_and_messages_hold_events() {
        check("[]", &[], &[]);
        check("[{},\n{\"a\":\"}\\\"{\"}]\n", &[(1, "{}"), (2, "{\"a\":\"}\\\"{\"}")], &[]);
        check("[\"EVENT\",{}]\n[\"EVENT\",\"x\",{}]\n", &[(1, "{}"), (2, "{}")], &[]);
        check("[{\"a\":{\"b\":1}}]", &[(1, "{\"a\":{\"b\":1}}")], &[]);
        check("[{},\n17,\nnull, {}]", &[(1, "{}"), (3, "{}")], &[2, 3]);
        check("[{},\n{\"a\":", &[(1, "{}")], &[2]);
        let long = format!("[{{\"a\":\"{}\"}},\n{{}}]", "x".repeat(100));
        check(&long, &[(2, "{}")], &[1]);
    }

    /// Whoever stops listening is not read to the end.
    #[test]
    fn a_reader_that_stops_is_obeyed() {
        let mut chunks = 0;
        let text = "{}\n".repeat(10 * CHUNK_EVENTS_MAX);
        let mut sink = |_| {
            chunks += 1;
            chunks < 3
        };
        read(&mut text.as_bytes(), 0, MAX, &mut sink).expect("memory can be read");
        assert_eq!(chunks, 3);
    }
}
