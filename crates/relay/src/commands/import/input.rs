//! Opens an input and undoes its compression.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::read::MultiGzDecoder;

/// What the user calls standard input.
pub(crate) const STDIN: &str = "-";

/// Buffer before and behind the decompressor. Large enough that a system call is rare next to
/// the parsing of the about 300 events in it.
const BUFFER_BYTES: usize = 256 * 1024;

const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Opens a file, or standard input for `-`. `read_bytes` counts what was read, still compressed.
pub(crate) fn open(path: &Path, read_bytes: Arc<AtomicU64>) -> io::Result<Box<dyn BufRead + Send>> {
    let raw: Box<dyn Read + Send> = if path.as_os_str() == STDIN {
        Box::new(io::stdin())
    } else {
        let file = File::open(path)?;
        if file.metadata()?.is_dir() {
            return Err(io::Error::other("is a directory"));
        }
        Box::new(file)
    };
    decompress(Counting { raw, read_bytes })
}

/// Tells plain text, zstd and gzip apart by their first bytes.
pub(crate) fn decompress(
    mut raw: impl Read + Send + 'static,
) -> io::Result<Box<dyn BufRead + Send>> {
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

struct Counting<R> {
    raw: R,
    read_bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.raw.read(buffer)?;
        self.read_bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// These bytes decompress to this text.
    fn check(bytes: Vec<u8>, text: &str) {
        let mut found = String::new();
        decompress(io::Cursor::new(bytes))
            .expect("opens")
            .read_to_string(&mut found)
            .expect("reads");
        assert_eq!(found, text);
    }

    fn gzip(text: &str) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).expect("writes to memory");
        encoder.finish().expect("writes to memory")
    }

    fn zstd(text: &str) -> Vec<u8> {
        zstd::encode_all(text.as_bytes(), 1).expect("writes to memory")
    }

    /// Files of all three sorts, of any length, and several archives put one behind the other.
    #[test]
    fn compression_is_found_by_its_first_bytes() {
        for text in ["", "{", "{}\n", &"{\"a\":1}\n".repeat(100_000)] {
            check(text.as_bytes().to_vec(), text);
            check(gzip(text), text);
            check(zstd(text), text);
        }
        check([gzip("a\n"), gzip("b\n")].concat(), "a\nb\n");
        check([zstd("a\n"), zstd("b\n")].concat(), "a\nb\n");
    }

    /// A cut archive is an error, not a short file.
    #[test]
    fn cut_archives_are_errors() {
        let text = "{\"a\":1}\n".repeat(1000);
        for mut bytes in [gzip(&text), zstd(&text)] {
            bytes.truncate(bytes.len() - 5);
            let mut reader = decompress(io::Cursor::new(bytes)).expect("opens");
            assert!(reader.read_to_end(&mut Vec::new()).is_err());
        }
    }
}
