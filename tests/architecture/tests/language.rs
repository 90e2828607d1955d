//! Checks that comments, messages and identifiers use plain technical English: none of the words
//! below in any tracked file.

use marula_architecture_tests::{Rule, Rules, tracked_files};

const fn rule(phrase: &'static str, instead: &'static str) -> Rule {
    Rule { phrase, instead }
}

/// Words and phrases that are not used, each with its replacement.
const RULES: &[Rule] = &[
    rule("house", "the project, the repository, or the name of the thing"),
    rule("houses", "contains"),
    rule("room", "module, capacity or space"),
    rule("rooms", "modules"),
    rule("roomy", "with spare capacity"),
    rule("tell", "emit, report or return"),
    rule("tells", "emits, reports, returns or shows"),
    rule("told", "emitted, reported, notified or configured"),
    rule("telling", "reporting"),
    rule("untold", "not reported"),
    rule(
        "nobody",
        "the thing that is missing: no listener, no caller, no waiter",
    ),
    rule("somebody", "the caller, the application, another client"),
    rule("whoever", "the caller, the application"),
    rule("by now", "already, or nothing"),
    rule("so many", "the number, or the name of the value that holds it"),
    rule("in vain", "without success, or the error"),
    rule("goes without", "does not have, does not need"),
    rule("is no *", "is not a …, does not have a …, or does not exist"),
    rule("anew", "again"),
    rule("bad days", "failover"),
    rule("wait for ever", "wait without a timeout"),
    rule("waits for ever", "waits without a timeout"),
    rule("for ever", "indefinitely"),
    rule("for good", "permanently"),
    rule("quietly", "without events, without an error"),
    rule("aloud", "with events"),
];

/// Names that were replaced by the terms of the specifications, each with its replacement.
const REPLACED: &[Rule] = &[
    rule("judge", "handle_application_error"),
    rule("judges", "handles"),
    rule("judged", "handled"),
    rule("verdict", "ErrorAction"),
    rule("greet", "handshake"),
    rule("greets", "performs the handshake with"),
    rule("greeted", "Handshaken"),
    rule("log in again", "reauthenticate"),
    rule("logs in again", "reauthenticates"),
    rule("logged in again", "reauthenticated"),
    rule("forgot user", "is_reauthentication_required"),
    rule("blame", "failing_request"),
    rule("blames", "attributes the error to"),
    rule("blamed", "named as the cause"),
    rule("surroundings", "ClientEnvironment"),
    rule("key recipe", "ScramParameters"),
    rule("last word", "ServerFinal"),
    rule("writing read", "AggregateWithWrite"),
    rule("signpost", "re-export"),
    rule("signposts", "REEXPORTS"),
    rule("witness", "observer"),
    rule("trickle", "slow_writes"),
];

/// A use of a word that is correct. An empty text matches everything.
struct Exception {
    /// The start of the path.
    path: &'static str,
    /// The words found.
    found: &'static str,
    /// A part of the line.
    line: &'static str,
    /// Why the word is correct.
    #[expect(dead_code, reason = "for the readers of the table")]
    reason: &'static str,
}

/// The uses of the words that are correct.
const EXCEPTIONS: &[Exception] = &[
    Exception {
        path: "",
        found: "",
        line: "here is no ",
        reason: "\"there is no …\" states that something does not exist",
    },
    Exception {
        path: "",
        found: "",
        line: "there_is_no_",
        reason: "the same, in a name",
    },
    Exception {
        path: "",
        found: "is no longer",
        line: "",
        reason: "a change over time, not a negated noun",
    },
    Exception {
        path: "tests/architecture/tests/language.rs",
        found: "",
        line: "",
        reason: "lists the words",
    },
];

impl Exception {
    fn applies(&self, path: &str, found: &str, line: &str) -> bool {
        path.starts_with(self.path)
            && (self.found.is_empty() || found == self.found)
            && line.contains(self.line)
    }
}

const SUFFIXES: [&str; 10] = [
    ".rs", ".md", ".toml", ".stderr", ".py", ".c", ".h", ".yml", ".sh", ".ci/run",
];

/// Fails if a tracked file contains a word of the rules.
fn check(rules: &[Rule]) {
    let rules = Rules::new(rules);
    let mut wrong = Vec::new();
    for file in tracked_files(&SUFFIXES) {
        let lines: Vec<&str> = file.text.lines().collect();
        for hit in rules.find(&file.text) {
            // A phrase can continue on the next line.
            let first = hit.line - 1;
            let line = lines[first..lines.len().min(first + 2)].join(" ");
            if !EXCEPTIONS
                .iter()
                .any(|exception| exception.applies(&file.path, &hit.found, &line))
            {
                wrong.push(format!(
                    "{}:{}: \"{}\"; write instead: {}",
                    file.path, hit.line, hit.found, hit.instead
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} uses of words that this repository avoids:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn the_text_uses_plain_technical_english() {
    check(RULES);
}

#[test]
fn replaced_names_are_not_used() {
    check(REPLACED);
}

#[test]
fn words_are_found_in_prose_and_in_identifiers() {
    let rules = Rules::new(&[
        rule("told", ""),
        rule("by now", ""),
        rule("bad days", ""),
        rule("is no *", ""),
    ]);
    let found = |text: &str| -> Vec<(usize, String)> {
        rules
            .find(text)
            .into_iter()
            .map(|hit| (hit.line, hit.found))
            .collect()
    };
    assert_eq!(found("a\n/// It is Told."), [(2, "told".to_owned())]);
    assert_eq!(
        found("was_told wasTold TOLD"),
        [
            (1, "told".to_owned()),
            (1, "told".to_owned()),
            (1, "told".to_owned())
        ]
    );
    assert_eq!(
        found("bad_days BadDays"),
        [(1, "bad days".to_owned()), (1, "bad days".to_owned())]
    );
    assert_eq!(found("// done by\n    // now"), [(1, "by now".to_owned())]);
    assert_eq!(found("It is no error."), [(1, "is no error".to_owned())]);
    assert_eq!(found("by\n\nnow; by, now; is: no x; toldest"), []);
}
