//! A corpus of the shape `classic-v1`: profiles and contact lists of up to 2,000 authors, then
//! thirty days of notes, replies, reposts, reactions and zap receipts. Ids are real, signatures
//! are not.

use std::fmt::Write;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};
use zeolite_proto::{Event, EventParser, PubKey};

/// The first second of the corpus.
const BASE_TIME: u64 = 1_700_000_000;
const SPAN_S: u64 = 30 * 24 * 3_600;
const AUTHORS_MAX: usize = 2_000;
/// Of the targets of replies, reposts, reactions and zaps, this share is among the latest notes.
const RECENT_SHARE: f64 = 0.7;
const RECENT_NOTES: usize = 500;

pub struct Corpus {
    pub events: Vec<Event>,
    pub json_bytes: u64,
    /// By falling number of events.
    pub authors: Vec<PubKey>,
}

/// Makes `count` events whose notes have about `content_chars` characters.
pub fn generate(count: usize, content_chars: usize) -> Corpus {
    Generator::new(count, content_chars).run(count)
}

struct Generator {
    rng: ChaCha8Rng,
    parser: EventParser,
    authors: Vec<String>,
    /// Cumulative weights of a Zipf distribution with exponent 0.9.
    weights: Vec<f64>,
    notes: Vec<(String, usize)>,
    content_chars: usize,
    preimage: String,
    json: String,
    corpus: Corpus,
}

impl Generator {
    fn new(count: usize, content_chars: usize) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let authors = (count / 20).clamp(1, AUTHORS_MAX);
        let authors: Vec<_> = (0..authors).map(|_| PubKey(rng.random())).collect();
        let mut sum = 0.0;
        let ranks = 1..=authors.len();
        let weights = ranks.map(|rank| {
            sum += (rank as f64).powf(-0.9);
            sum
        });
        Self {
            weights: weights.collect(),
            authors: authors.iter().map(PubKey::to_string).collect(),
            corpus: Corpus { events: Vec::with_capacity(count), json_bytes: 0, authors },
            notes: Vec::new(),
            parser: EventParser::new(),
            preimage: String::new(),
            json: String::new(),
            content_chars,
            rng,
        }
    }

    fn run(mut self, count: usize) -> Corpus {
        // No two events share a second, so the span grows with more than 2.6M events.
        let span_s = SPAN_S.max(count as u64);
        for at in 0..count {
            let time = BASE_TIME + at as u64 * span_s / count as u64;
            if at < self.authors.len() {
                self.push(at, time, 0, "[]", PROFILE);
            } else if at < 2 * self.authors.len() {
                self.push_contacts(at - self.authors.len(), time);
            } else {
                self.push_social(time);
            }
        }
        self.corpus
    }

    fn author(&mut self) -> usize {
        let sum = *self.weights.last().expect("there is an author");
        let point = self.rng.random_range(0.0..sum);
        self.weights.partition_point(|weight| *weight < point).min(self.authors.len() - 1)
    }

    fn push_contacts(&mut self, author: usize, time: u64) {
        let mut tags = String::from("[");
        for n in 0..self.rng.random_range(5..60) {
            let followed = self.author();
            let comma = if n == 0 { "" } else { "," };
            let _ = write!(tags, "{comma}[\"p\",\"{}\"]", self.authors[followed]);
        }
        tags.push(']');
        self.push(author, time, 3, &tags, "");
    }

    fn push_social(&mut self, time: u64) {
        let author = self.author();
        let roll = self.rng.random_range(0.0..1.0);
        if roll < 0.36 || self.notes.is_empty() {
            let hashtag = HASHTAGS[self.rng.random_range(0..HASHTAGS.len())];
            let content = self.text();
            let tags = format!("[[\"t\",\"{hashtag}\"]]");
            self.push(author, time, 1, &tags, &content);
            return;
        }
        let (target, target_author) = self.target();
        let target_author = self.authors[target_author].clone();
        let e_and_p = format!("[\"e\",\"{target}\"],[\"p\",\"{target_author}\"]");
        if roll < 0.55 {
            let content = self.text();
            let root = self.target().0;
            let tags = format!("[[\"e\",\"{root}\",\"\",\"root\"],{e_and_p}]");
            self.push(author, time, 1, &tags, &content);
        } else if roll < 0.63 {
            self.push(author, time, 6, &format!("[{e_and_p}]"), "");
        } else if roll < 0.93 {
            self.push(author, time, 7, &format!("[{e_and_p},[\"k\",\"1\"]]"), "+");
        } else {
            let zapper = self.author();
            let tags = format!(
                "[{e_and_p},[\"P\",\"{}\"],[\"bolt11\",\"{INVOICE}\"],[\"k\",\"1\"]]",
                self.authors[zapper]
            );
            self.push(author, time, 9735, &tags, "");
        }
    }

    fn target(&mut self) -> (String, usize) {
        let count = self.notes.len();
        let from =
            if self.rng.random_bool(RECENT_SHARE) { count.saturating_sub(RECENT_NOTES) } else { 0 };
        self.notes[self.rng.random_range(from..count)].clone()
    }

    fn text(&mut self) -> String {
        let chars = self.rng.random_range(self.content_chars / 2..=self.content_chars * 3 / 2);
        let mut text = String::with_capacity(chars + 12);
        while text.len() < chars {
            text.push_str(WORDS[self.rng.next_u32() as usize % WORDS.len()]);
            text.push(' ');
        }
        text
    }

    fn push(&mut self, author: usize, time: u64, kind: u16, tags: &str, content: &str) {
        let pubkey = &self.authors[author];
        self.preimage.clear();
        let _ = write!(self.preimage, "[0,\"{pubkey}\",{time},{kind},{tags},\"{content}\"]");
        let hash = Sha256::digest(self.preimage.as_bytes());
        let id = PubKey(hash.into()).to_string();
        let mut sig = [0; 64];
        self.rng.fill_bytes(&mut sig);
        let sig = zeolite_proto::Signature(sig);
        self.json.clear();
        let _ = write!(
            self.json,
            "{{\"id\":\"{id}\",\"pubkey\":\"{pubkey}\",\"created_at\":{time},\"kind\":{kind},\
             \"tags\":{tags},\"content\":\"{content}\",\"sig\":\"{sig}\"}}"
        );
        let event = self.parser.parse(&self.json).expect("the corpus is well formed");
        self.corpus.json_bytes += self.json.len() as u64;
        self.corpus.events.push(event);
        if kind == 1 {
            self.notes.push((id, author));
        }
    }
}

const PROFILE: &str = r#"{\"name\":\"somebody\",\"about\":\"writes about stones, mostly about zeolites\",\"picture\":\"https://example.com/avatars/somebody.png\",\"nip05\":\"somebody@example.com\"}"#;
const INVOICE: &str = "lnbc210n1pjq5xs0pp5example0invoice0text0of0usual0length0with0no0meaning0at0all0but0its0size0which0is0what0counts0here0so0it0goes0on0for0a0while0until0it0is0long0enough";
const HASHTAGS: [&str; 12] = [
    "nostr",
    "bitcoin",
    "zeolite",
    "rust",
    "photography",
    "food",
    "music",
    "art",
    "news",
    "plebs",
    "coffee",
    "grownostr",
];
const WORDS: [&str; 16] = [
    "a",
    "mineral",
    "that",
    "filters",
    "water",
    "and",
    "holds",
    "what",
    "it",
    "wants",
    "while",
    "everything",
    "else",
    "flows",
    "through",
    "freely",
];
