//! Reads events out of any file: NDJSON, arrays of events, lines such as `["EVENT",{...}]`; plain,
//! gzip or zstd.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;
use std::path::Path;

use flate2::read::MultiGzDecoder;

/// What the user calls standard input.
const STDIN: &str = "-";
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const BUFFER_BYTES: usize = 256 * 1024;
/// A chunk is full at so many events, or bytes.
const CHUNK_EVENTS: usize = 512;
const CHUNK_BYTES: usize = 1 << 20;
/// Longer texts are no events that any relay takes: the largest known limit is 512 kB.
pub(crate) const EVENT_BYTES_MAX: usize = 4 << 20;

/// Opens a file, or standard input for `-`.
pub(crate) fn open(path: &Path) -> io::Result<Box<dyn BufRead + Send>> {
    let raw: Box<dyn Read + Send> =
        if path.as_os_str() == STDIN { Box::new(io::stdin()) } else { Box::new(File::open(path)?) };
    decompress(raw)
}

/// Tells plain text, zstd and gzip apart by their first bytes.
fn decompress(mut raw: impl Read + Send + 'static) -> io::Result<Box<dyn BufRead + Send>> {
    let mut magic = Vec::with_capacity(ZSTD_MAGIC.len());
    raw.by_ref().take(ZSTD_MAGIC.len() as u64).read_to_end(&mut magic)?;
    let whole = BufReader::with_capacity(BUFFER_BYTES, io::Cursor::new(magic.clone()).chain(raw));
    Ok(if magic == ZSTD_MAGIC {
        let decoder = zstd::Decoder::with_buffer(whole)?;
        Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder))
    } else if magic.starts_with(&GZIP_MAGIC) {
        Box::new(BufReader::with_capacity(BUFFER_BYTES, MultiGzDecoder::new(whole)))
    } else {
        Box::new(whole)
    })
}

/// Texts of events, which may still be anything between two braces.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    text: Vec<u8>,
    events: Vec<Range<usize>>,
    /// Lines and scraps that are no events, and events of more than [`EVENT_BYTES_MAX`].
    pub(crate) strays: u64,
}

impl Chunk {
    /// The texts in the order of the file.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &[u8]> {
        self.events.iter().map(|range| &self.text[range.clone()])
    }

    /// Only whole events count: the one that is being read may be longer than a chunk.
    fn is_full(&self) -> bool {
        let bytes = self.events.last().map_or(0, |event| event.end);
        self.events.len() >= CHUNK_EVENTS || bytes >= CHUNK_BYTES
    }
}

/// The chunks of an input. An error ends it.
pub(crate) struct Chunks<R> {
    input: R,
    splitter: Splitter,
    is_over: bool,
}

impl<R: BufRead> Chunks<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, splitter: Splitter::default(), is_over: false }
    }

    fn fill(&mut self, chunk: &mut Chunk) -> io::Result<()> {
        while !chunk.is_full() {
            let bytes = match self.input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            if bytes.is_empty() {
                self.is_over = true;
                chunk.strays += u64::from(self.splitter.depth > 0);
                return Ok(());
            }
            let used = self.splitter.take(bytes, chunk);
            self.input.consume(used);
        }
        Ok(())
    }
}

impl<R: BufRead> Iterator for Chunks<R> {
    type Item = io::Result<Chunk>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        // What an event cut by the end of a chunk has so far goes on in the next one.
        let mut chunk =
            Chunk { text: std::mem::take(&mut self.splitter.carry), ..Chunk::default() };
        if let Err(error) = self.fill(&mut chunk) {
            self.is_over = true;
            return Some(Err(error));
        }
        let carried = self.splitter.event_start(&chunk);
        self.splitter.carry = chunk.text.split_off(carried);
        Some(Ok(chunk))
    }
}

/// Follows the nesting of JSON without understanding it: an event is what stands between two braces
/// that match. In a file whose first text is an object, a line's end ends it, so that a broken line
/// costs nothing but itself.
#[derive(Debug, Default)]
struct Splitter {
    is_by_line: Option<bool>,
    depth: u32,
    in_string: bool,
    escaped: bool,
    in_stray: bool,
    /// Passing over the rest of an event that is too long.
    is_skipping: bool,
    /// Bytes of the event so far, when it is not complete.
    carry: Vec<u8>,
    started: Option<usize>,
}

impl Splitter {
    fn event_start(&mut self, chunk: &Chunk) -> usize {
        match self.started {
            Some(start) => {
                self.started = Some(0);
                start
            }
            None => chunk.text.len(),
        }
    }

    /// Takes bytes until the chunk is full; says how many.
    fn take(&mut self, bytes: &[u8], chunk: &mut Chunk) -> usize {
        for (at, &byte) in bytes.iter().enumerate() {
            if self.step(byte, chunk) && chunk.is_full() {
                return at + 1;
            }
        }
        bytes.len()
    }

    /// True when an event is complete.
    fn step(&mut self, byte: u8, chunk: &mut Chunk) -> bool {
        if self.depth == 0 {
            self.outside(byte, chunk);
            return false;
        }
        if byte == b'\n' && self.is_by_line == Some(true) {
            self.give_up(chunk);
            return false;
        }
        self.push(byte, chunk);
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return false;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' => self.depth += 1,
            b'}' => self.depth -= 1,
            _ => {}
        }
        self.depth == 0 && self.complete(chunk)
    }

    fn outside(&mut self, byte: u8, chunk: &mut Chunk) {
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' | b'\n' => self.in_string = false,
                _ => {}
            }
            return;
        }
        let was_stray = std::mem::replace(&mut self.in_stray, false);
        match byte {
            b'{' => {
                self.is_by_line.get_or_insert(true);
                (self.depth, self.started) = (1, Some(chunk.text.len()));
                chunk.text.push(byte);
            }
            b'[' => _ = self.is_by_line.get_or_insert(false),
            b'"' => self.in_string = true,
            b']' | b',' | b' ' | b'\t' | b'\r' | b'\n' | 0xef | 0xbb | 0xbf => {}
            _ => {
                self.in_stray = true;
                chunk.strays += u64::from(!was_stray);
            }
        }
    }

    fn push(&mut self, byte: u8, chunk: &mut Chunk) {
        if self.is_skipping {
            return;
        }
        let start = self.started.unwrap_or_default();
        if chunk.text.len() - start >= EVENT_BYTES_MAX {
            chunk.text.truncate(start);
            self.is_skipping = true;
        } else {
            chunk.text.push(byte);
        }
    }

    fn complete(&mut self, chunk: &mut Chunk) -> bool {
        let start = self.started.take().unwrap_or_default();
        if std::mem::take(&mut self.is_skipping) {
            chunk.strays += 1;
        } else {
            chunk.events.push(start..chunk.text.len());
        }
        true
    }

    fn give_up(&mut self, chunk: &mut Chunk) {
        chunk.text.truncate(self.started.take().unwrap_or_default());
        chunk.strays += 1;
        (self.depth, self.in_string, self.escaped, self.is_skipping) = (0, false, false, false);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// An input gives these texts and so many strays, whatever the size of its reads.
    fn check(input: &str, texts: &[&str], strays: u64) {
        for capacity in [1, 3, 4096] {
            let reader = BufReader::with_capacity(capacity, input.as_bytes());
            let chunks: Vec<_> = Chunks::new(reader).map(|chunk| chunk.expect("memory")).collect();
            let found: Vec<_> = chunks.iter().flat_map(Chunk::texts).map(<[u8]>::to_vec).collect();
            let expected: Vec<_> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
            assert_eq!(found, expected, "{input}");
            assert_eq!(chunks.iter().map(|chunk| chunk.strays).sum::<u64>(), strays, "{input}");
        }
    }

    #[test]
    fn events_are_found_in_every_form() {
        check("", &[], 0);
        check("{}\n{\"a\":{}}\r\n\n", &["{}", "{\"a\":{}}"], 0);
        check(
            "\u{feff}[{\"a\":\"}\\\"{\"},\n {\n\"b\":1}]",
            &["{\"a\":\"}\\\"{\"}", "{\n\"b\":1}"],
            0,
        );
        check("[\"EVENT\",{}]\n[\"EVENT\",\"{\",{\"x\":1}]\n", &["{}", "{\"x\":1}"], 0);
        check("{\"a\":\n{}\nnonsense 17\n{\"b\":1}", &["{}", "{\"b\":1}"], 3);
        check("[{},{\"a\":", &["{}"], 1);
    }

    /// Chunks are cut anywhere, also inside an event; a text of any length costs no more than the
    /// bound.
    #[test]
    fn chunks_are_bounded() {
        let long = format!("{{\"a\":\"{}\"}}\n", "x".repeat(700_000));
        let input = long.repeat(5);
        check(&input, &[long.trim_end(); 5], 0);
        check(&format!("{{\"a\":\"{}\"}}\n{{}}", "x".repeat(EVENT_BYTES_MAX)), &["{}"], 1);
    }

    #[test]
    fn compression_is_found_by_its_first_bytes() {
        let text = "{\"a\":1}\n".repeat(1000);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text.as_bytes()).expect("memory");
        let gzip = gzip.finish().expect("memory");
        let zstd = zstd::encode_all(text.as_bytes(), 1).expect("memory");
        for bytes in [text.clone().into_bytes(), gzip, zstd] {
            let mut found = String::new();
            decompress(io::Cursor::new(bytes))
                .expect("opens")
                .read_to_string(&mut found)
                .expect("reads");
            assert_eq!(found, text);
        }
    }
}
