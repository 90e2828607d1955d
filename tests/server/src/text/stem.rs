//! The English stemmer Porter2 (<https://snowballstem.org/algorithms/english/stemmer.html>).

/// Words with irregular stems.
const EXCEPTIONS: [(&str, &str); 18] = [
    ("skis", "ski"),
    ("skies", "sky"),
    ("dying", "die"),
    ("lying", "lie"),
    ("tying", "tie"),
    ("idly", "idl"),
    ("gently", "gentl"),
    ("ugly", "ugli"),
    ("early", "earli"),
    ("only", "onli"),
    ("singly", "singl"),
    ("sky", "sky"),
    ("news", "news"),
    ("howe", "howe"),
    ("atlas", "atlas"),
    ("cosmos", "cosmos"),
    ("bias", "bias"),
    ("andes", "andes"),
];

/// Words that are not changed after the removal of a plural.
const INVARIANT: [&str; 8] = [
    "inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed",
];

/// Suffixes of step 2, the longest first, with their replacements.
const STEP_2: [(&str, &str); 22] = [
    ("ational", "ate"),
    ("fulness", "ful"),
    ("iveness", "ive"),
    ("ization", "ize"),
    ("ousness", "ous"),
    ("biliti", "ble"),
    ("lessli", "less"),
    ("tional", "tion"),
    ("alism", "al"),
    ("aliti", "al"),
    ("ation", "ate"),
    ("entli", "ent"),
    ("fulli", "ful"),
    ("iviti", "ive"),
    ("ousli", "ous"),
    ("abli", "able"),
    ("alli", "al"),
    ("anci", "ance"),
    ("ator", "ate"),
    ("enci", "ence"),
    ("izer", "ize"),
    ("bli", "ble"),
];

const STEP_3: [(&str, &str); 8] = [
    ("ational", "ate"),
    ("tional", "tion"),
    ("alize", "al"),
    ("icate", "ic"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ness", ""),
    ("ful", ""),
];

const STEP_4: [&str; 17] = [
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous", "ive", "ize",
    "al", "er", "ic",
];

fn is_vowel(letter: u8) -> bool {
    matches!(letter, b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

/// A word of ASCII letters. A `Y` is a consonant.
struct Word {
    letters: Vec<u8>,
    /// The beginnings of the regions R1 and R2.
    regions: (usize, usize),
}

/// The stem of a word in lower case.
pub(super) fn english(word: &str) -> String {
    if word.len() <= 2
        || !word
            .bytes()
            .all(|letter| letter.is_ascii_lowercase() || letter == b'\'')
    {
        return word.to_owned();
    }
    if let Some((_, stem)) = EXCEPTIONS.iter().find(|(other, _)| *other == word) {
        return (*stem).to_owned();
    }
    let mut word = Word::new(word);
    word.step_0();
    word.step_1a();
    if INVARIANT.iter().any(|other| other.as_bytes() == word.letters) {
        return word.text();
    }
    word.step_1b();
    word.step_1c();
    word.step_2();
    word.step_3();
    word.step_4();
    word.step_5();
    word.text()
}

impl Word {
    fn new(word: &str) -> Word {
        let mut letters: Vec<u8> = word.strip_prefix('\'').unwrap_or(word).bytes().collect();
        for at in 0..letters.len() {
            if letters[at] == b'y' && (at == 0 || is_vowel(letters[at - 1])) {
                letters[at] = b'Y';
            }
        }
        let after = |from: usize| {
            let mut at = from;
            while at < letters.len() && !is_vowel(letters[at]) {
                at += 1;
            }
            while at < letters.len() && is_vowel(letters[at]) {
                at += 1;
            }
            (at + 1).min(letters.len())
        };
        let first = [&b"gener"[..], b"commun", b"arsen"]
            .iter()
            .find(|prefix| letters.starts_with(prefix))
            .map_or_else(|| after(0), |prefix| prefix.len());
        Word {
            regions: (first, after(first)),
            letters,
        }
    }

    fn text(&self) -> String {
        self.letters
            .iter()
            .map(|letter| char::from(letter.to_ascii_lowercase()))
            .collect()
    }

    fn ends(&self, suffix: &str) -> bool {
        self.letters.ends_with(suffix.as_bytes())
    }

    /// Where a suffix begins.
    fn start(&self, suffix: &str) -> usize {
        self.letters.len() - suffix.len()
    }

    fn replace(&mut self, suffix: &str, replacement: &str) {
        let start = self.start(suffix);
        self.letters.truncate(start);
        self.letters.extend(replacement.bytes());
    }

    fn has_vowel_before(&self, end: usize) -> bool {
        self.letters[..end].iter().any(|letter| is_vowel(*letter))
    }

    /// Whether the letters before `end` end in a short syllable.
    fn is_short_syllable(&self, end: usize) -> bool {
        let letters = &self.letters[..end];
        match letters {
            [a, b] => is_vowel(*a) && !is_vowel(*b),
            [.., a, b, c] => {
                !is_vowel(*a) && is_vowel(*b) && !is_vowel(*c) && !matches!(c, b'w' | b'x' | b'Y')
            }
            _ => false,
        }
    }

    fn is_short(&self) -> bool {
        self.regions.0 >= self.letters.len() && self.is_short_syllable(self.letters.len())
    }

    fn step_0(&mut self) {
        if let Some(suffix) = ["'s'", "'s", "'"].into_iter().find(|suffix| self.ends(suffix)) {
            self.replace(suffix, "");
        }
    }

    fn step_1a(&mut self) {
        if self.ends("sses") {
            self.replace("sses", "ss");
        } else if let Some(suffix) = ["ied", "ies"].into_iter().find(|suffix| self.ends(suffix)) {
            let replacement = if self.start(suffix) > 1 { "i" } else { "ie" };
            self.replace(suffix, replacement);
        } else if self.ends("s") && !self.ends("us") && !self.ends("ss") {
            let end = self.letters.len().saturating_sub(2);
            if self.has_vowel_before(end) {
                self.replace("s", "");
            }
        }
    }

    fn step_1b(&mut self) {
        for suffix in ["eedly", "eed"] {
            if self.ends(suffix) {
                if self.start(suffix) >= self.regions.0 {
                    self.replace(suffix, "ee");
                }
                return;
            }
        }
        let Some(suffix) = ["ingly", "edly", "ing", "ed"]
            .into_iter()
            .find(|suffix| self.ends(suffix))
        else {
            return;
        };
        if !self.has_vowel_before(self.start(suffix)) {
            return;
        }
        self.replace(suffix, "");
        let doubled = match self.letters.as_slice() {
            [.., a, b] => a == b && b"bdfgmnprt".contains(b),
            _ => false,
        };
        if self.ends("at") || self.ends("bl") || self.ends("iz") {
            self.letters.push(b'e');
        } else if doubled {
            self.letters.pop();
        } else if self.is_short() {
            self.letters.push(b'e');
        }
    }

    fn step_1c(&mut self) {
        let length = self.letters.len();
        if length > 2
            && matches!(self.letters[length - 1], b'y' | b'Y')
            && !is_vowel(self.letters[length - 2])
        {
            self.letters[length - 1] = b'i';
        }
    }

    fn step_2(&mut self) {
        if let Some((suffix, replacement)) = STEP_2.into_iter().find(|(suffix, _)| self.ends(suffix)) {
            if self.start(suffix) >= self.regions.0 {
                self.replace(suffix, replacement);
            }
        } else if self.ends("ogi") {
            let start = self.start("ogi");
            if start >= self.regions.0 && start > 0 && self.letters[start - 1] == b'l' {
                self.replace("ogi", "og");
            }
        } else if self.ends("li") {
            let start = self.start("li");
            if start >= self.regions.0 && start > 0 && b"cdeghkmnrt".contains(&self.letters[start - 1]) {
                self.replace("li", "");
            }
        }
    }

    fn step_3(&mut self) {
        if let Some((suffix, replacement)) = STEP_3.into_iter().find(|(suffix, _)| self.ends(suffix)) {
            if self.start(suffix) >= self.regions.0 {
                self.replace(suffix, replacement);
            }
        } else if self.ends("ative") && self.start("ative") >= self.regions.1 {
            self.replace("ative", "");
        }
    }

    fn step_4(&mut self) {
        if let Some(suffix) = STEP_4.into_iter().find(|suffix| self.ends(suffix)) {
            if self.start(suffix) >= self.regions.1 {
                self.replace(suffix, "");
            }
        } else if self.ends("ion") {
            let start = self.start("ion");
            if start >= self.regions.1 && start > 0 && matches!(self.letters[start - 1], b's' | b't') {
                self.replace("ion", "");
            }
        }
    }

    fn step_5(&mut self) {
        let last = self.letters.len().saturating_sub(1);
        let removed = match self.letters.last() {
            Some(b'e') => last >= self.regions.1 || (last >= self.regions.0 && !self.is_short_syllable(last)),
            Some(b'l') => last >= self.regions.1 && last > 0 && self.letters[last - 1] == b'l',
            _ => false,
        };
        if removed {
            self.letters.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::english;

    #[test]
    fn stems_of_the_sample_vocabulary() {
        for (word, stem) in [
            ("consign", "consign"),
            ("consigned", "consign"),
            ("consistency", "consist"),
            ("consolation", "consol"),
            ("consolatory", "consolatori"),
            ("consolingly", "consol"),
            ("consonant", "conson"),
            ("conspicuously", "conspicu"),
            ("conspiracy", "conspiraci"),
            ("constable", "constabl"),
            ("constancy", "constanc"),
            ("knack", "knack"),
            ("knackeries", "knackeri"),
            ("kneeling", "kneel"),
            ("knightly", "knight"),
            ("knives", "knive"),
            ("knocked", "knock"),
            ("coffee", "coffe"),
            ("baking", "bake"),
            ("cakes", "cake"),
            ("shopping", "shop"),
            ("running", "run"),
            ("flies", "fli"),
            ("ties", "tie"),
            ("gas", "gas"),
            ("happy", "happi"),
            ("relational", "relat"),
            ("news", "news"),
            ("generously", "generous"),
            ("hopping", "hop"),
            ("hoping", "hope"),
            ("by", "by"),
            ("say", "say"),
        ] {
            assert_eq!(english(word), stem, "{word}");
        }
    }
}
