//! Finds words and phrases in text: in prose, in string literals and in identifiers, ignoring case.

/// A word or phrase that is not used in this repository, and its replacement.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The words of the phrase in lower case, separated by spaces. `*` stands for any word.
    pub phrase: &'static str,
    /// What to write instead.
    pub instead: &'static str,
}

/// A phrase found in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Line number, from 1.
    pub line: usize,
    /// The words found, in lower case and separated by spaces.
    pub found: String,
    /// What to write instead.
    pub instead: &'static str,
}

/// A run of ASCII letters, or the part of one between two changes of case (`runUntil` has two).
#[derive(Clone, Copy)]
struct Word {
    start: usize,
    end: usize,
    line: usize,
}

/// A set of rules.
#[derive(Debug)]
pub struct Rules {
    phrases: Vec<(Vec<&'static str>, &'static str)>,
    /// The first letters of the phrases, in both cases: most words are skipped by them.
    first_letters: [bool; 256],
}

impl Rules {
    /// Prepares rules for [`find`](Rules::find).
    #[must_use]
    pub fn new(rules: &[Rule]) -> Self {
        let phrases: Vec<(Vec<&str>, &str)> = rules
            .iter()
            .map(|rule| (rule.phrase.split(' ').collect(), rule.instead))
            .collect();
        let mut first_letters = [false; 256];
        for byte in rules.iter().filter_map(|rule| rule.phrase.bytes().next()) {
            first_letters[usize::from(byte)] = true;
            first_letters[usize::from(byte.to_ascii_uppercase())] = true;
        }
        Rules {
            phrases,
            first_letters,
        }
    }

    /// All phrases in a text. The words of a phrase may be separated by spaces, `_`, `-`, a change
    /// of case, or a line break with the comment marker of the next line.
    #[must_use]
    pub fn find(&self, text: &str) -> Vec<Hit> {
        let words = split(text);
        let mut hits = Vec::new();
        for (i, word) in words.iter().enumerate() {
            if !self.first_letters[usize::from(text.as_bytes()[word.start])] {
                continue;
            }
            for (phrase, instead) in &self.phrases {
                if matches(text, &words[i..], phrase) {
                    let found = words[i..i + phrase.len()]
                        .iter()
                        .map(|word| text[word.start..word.end].to_ascii_lowercase());
                    hits.push(Hit {
                        line: word.line,
                        found: found.collect::<Vec<_>>().join(" "),
                        instead,
                    });
                }
            }
        }
        hits
    }
}

fn matches(text: &str, words: &[Word], phrase: &[&str]) -> bool {
    let equal = |word: &Word, expected: &str| {
        expected == "*" || text[word.start..word.end].eq_ignore_ascii_case(expected)
    };
    words.len() >= phrase.len()
        && phrase
            .iter()
            .zip(words)
            .all(|(expected, word)| equal(word, expected))
        && words[..phrase.len()]
            .windows(2)
            .all(|pair| is_gap(&text[pair[0].end..pair[1].start]))
}

/// Whether the text between two words does not separate a phrase.
fn is_gap(between: &str) -> bool {
    between.bytes().all(|b| {
        matches!(
            b,
            b' ' | b'\t' | b'\r' | b'\n' | b'/' | b'!' | b'#' | b'*' | b'_' | b'-' | b'`'
        )
    }) && between.bytes().filter(|b| *b == b'\n').count() <= 1
}

fn split(text: &str) -> Vec<Word> {
    let bytes = text.as_bytes();
    let mut words = Vec::with_capacity(bytes.len() / 5);
    let mut line = 1;
    let mut start = None;
    for (i, byte) in bytes.iter().enumerate() {
        let is_letter = byte.is_ascii_alphabetic();
        if let Some(from) = start
            && (!is_letter || is_camel_boundary(bytes, i))
        {
            words.push(Word {
                start: from,
                end: i,
                line,
            });
            start = None;
        }
        if is_letter && start.is_none() {
            start = Some(i);
        }
        if *byte == b'\n' {
            line += 1;
        }
    }
    if let Some(from) = start {
        words.push(Word {
            start: from,
            end: bytes.len(),
            line,
        });
    }
    words
}

/// Whether a word of an identifier in camel case starts at the index: `aB`, or `B` in `ABc`.
fn is_camel_boundary(bytes: &[u8], i: usize) -> bool {
    let lower = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_lowercase);
    let before = i.wrapping_sub(1);
    bytes[i].is_ascii_uppercase() && (lower(before) || lower(i + 1))
}
