//! Texts in several scripts, with what real texts have: lines, quotes, links, hash tags, emoji.

mod scripts;

use crate::corpus::rng::{Purpose, Rng};
use scripts::{EMOJI, SCRIPTS};

/// Words of a script: 11 bits choose one, so that a text packs about as well as a real one.
const WORDS: u32 = 2048;

/// The words of one script, one behind the other.
#[derive(Debug)]
struct Vocabulary {
    text: Vec<u8>,
    /// Ends of the words in the text, which begins with an empty one.
    ends: Vec<u32>,
    joiner: &'static str,
}

impl Vocabulary {
    fn new(script: &scripts::Script, number: u64) -> Self {
        // Independent of the corpus' seed: languages do not change with it.
        let mut rng = Rng::new(0, Purpose::Author, number);
        let (mut text, mut ends) = (Vec::new(), vec![0]);
        for _ in 0..WORDS {
            for _ in 0..1 + rng.below(script.syllables_max) {
                text.extend_from_slice(rng.pick(script.syllables).as_bytes());
            }
            ends.push(text.len() as u32);
        }
        Self { text, ends, joiner: script.joiner }
    }

    fn word(&self, number: u32) -> &[u8] {
        let number = number as usize;
        &self.text[self.ends[number] as usize..self.ends[number + 1] as usize]
    }

    /// A word from 22 bits, low numbers more often.
    fn draw(&self, bits: u64) -> &[u8] {
        let (a, b) = (bits as u32 % WORDS, (bits >> 11) as u32 % WORDS);
        self.word(a * b / WORDS)
    }
}

/// Writes texts.
#[derive(Debug)]
pub(crate) struct Writer {
    vocabularies: Vec<Vocabulary>,
}

/// The number of a script among those of the [`Writer`].
pub(crate) type Script = usize;

/// The script that most identifiers and titles are written in.
pub(crate) const LATIN: Script = 0;

impl Writer {
    pub(crate) fn new() -> Self {
        let vocabularies = SCRIPTS.iter().zip(0..).map(|(s, number)| Vocabulary::new(s, number));
        Self { vocabularies: vocabularies.collect() }
    }

    /// The script an author writes in: as often as its weight says.
    pub(crate) fn script_of(&self, author_rng: &mut Rng) -> Script {
        let mut draw = author_rng.below(SCRIPTS.iter().map(|script| script.weight).sum());
        let chosen = SCRIPTS.iter().position(|script| {
            let is_here = draw < script.weight;
            draw = draw.saturating_sub(script.weight);
            is_here
        });
        chosen.unwrap_or(LATIN)
    }

    /// Appends words of at least `bytes` bytes, and at most one word more.
    pub(crate) fn words(&self, script: Script, bytes: usize, rng: &mut Rng, out: &mut Vec<u8>) {
        let vocabulary = &self.vocabularies[script];
        let end = out.len() + bytes;
        while out.len() < end {
            let bits = rng.bits();
            // Two words for each draw; the highest bits say what stands between them.
            out.extend_from_slice(vocabulary.draw(bits));
            out.extend_from_slice(vocabulary.joiner.as_bytes());
            if out.len() < end {
                out.extend_from_slice(vocabulary.draw(bits >> 22));
                self.push_mark(script, (bits >> 44) as u32 % 256, rng, out);
            }
        }
        while out.last() == Some(&b' ') {
            out.pop();
        }
    }

    /// Every second word is followed by a mark: mostly a space, now and then something else.
    fn push_mark(&self, script: Script, draw: u32, rng: &mut Rng, out: &mut Vec<u8>) {
        match draw {
            0..=15 => out.extend_from_slice(b". "),
            16..=27 => out.extend_from_slice(b", "),
            28..=33 => out.extend_from_slice(b"\n\n"),
            34..=37 => out.push(b'\n'),
            38..=40 => self.push_quoted(script, rng, out),
            41..=43 => {
                out.extend_from_slice(b" #");
                out.extend_from_slice(self.vocabularies[LATIN].draw(rng.bits()));
                out.push(b' ');
            }
            44..=48 => {
                out.push(b' ');
                out.extend_from_slice(rng.pick(EMOJI).as_bytes());
                out.push(b' ');
            }
            49 => push_link(rng, out),
            50 => out.extend_from_slice(b"\t"),
            51 => out.extend_from_slice(" ¯\\_(ツ)_/¯ ".as_bytes()),
            _ => out.extend_from_slice(self.vocabularies[script].joiner.as_bytes()),
        }
    }

    fn push_quoted(&self, script: Script, rng: &mut Rng, out: &mut Vec<u8>) {
        out.extend_from_slice(b" \"");
        out.extend_from_slice(self.vocabularies[script].draw(rng.bits()));
        out.extend_from_slice(b"\" ");
    }

    /// A lower-case Latin word, for hash tags and names.
    pub(crate) fn name(&self, rng: &mut Rng) -> &[u8] {
        self.vocabularies[LATIN].draw(rng.bits())
    }
}

/// A link to a picture named by its hash, as clients that host media write.
pub(crate) fn push_link(rng: &mut Rng, out: &mut Vec<u8>) {
    out.extend_from_slice(b" https://media.example/");
    for _ in 0..4 {
        crate::corpus::body::push_hex(out, &rng.bits().to_be_bytes());
    }
    out.extend_from_slice(b".jpg ");
}

/// Appends base64 of random bytes, as encrypted contents are: `digits` of them.
pub(crate) fn push_base64(digits: usize, rng: &mut Rng, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let end = out.len() + digits;
    while out.len() < end {
        let mut bits = rng.bits();
        for _ in 0..10.min(end - out.len()) {
            out.push(DIGITS[(bits % 64) as usize]);
            bits >>= 6;
        }
    }
}

/// Appends lower-case letters and digits, as invoices and bech32 keys are.
pub(crate) fn push_bech32(digits: usize, rng: &mut Rng, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    let end = out.len() + digits;
    while out.len() < end {
        let mut bits = rng.bits();
        for _ in 0..12.min(end - out.len()) {
            out.push(DIGITS[(bits % 32) as usize]);
            bits >>= 5;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every script gives UTF-8 of about the wanted size without control characters that have no
    /// short escape, about whose form in the id relays differ (E-04).
    #[test]
    fn texts_are_clean_and_of_the_wanted_size() {
        let writer = Writer::new();
        for script in 0..SCRIPTS.len() {
            let mut out = Vec::new();
            writer.words(script, 20_000, &mut Rng::new(1, Purpose::Event, 0), &mut out);
            let text = String::from_utf8(out).expect("UTF-8");
            assert!((19_000..20_200).contains(&text.len()), "{script}: {}", text.len());
            let strange = |c: char| c.is_control() && !"\n\t".contains(c);
            assert!(!text.contains(strange), "{script}");
            assert!(text.contains('"') && text.contains('\n') && text.contains("https://"));
        }
    }
}
