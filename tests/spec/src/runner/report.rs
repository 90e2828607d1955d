//! The results of the cases: `spec-report.json`, and the summary printed at the end.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use serde_json::{Map, Value, json};

use crate::case::{Case, Outcome};

/// The result of a case.
#[derive(Clone, Debug)]
pub struct Record {
    /// [`Case::suite`]
    pub suite: String,
    /// [`Case::format`]
    pub format: &'static str,
    /// [`Case::file`]
    pub file: String,
    /// [`Case::description`]
    pub description: String,
    /// [`Case::topology`]
    pub topology: Option<String>,
    /// [`Case::version`]
    pub version: Option<String>,
    /// The outcome of the case.
    pub outcome: Outcome,
    /// The duration in seconds.
    pub seconds: f64,
}

impl Record {
    /// Creates the result of a case; `seconds` is its duration.
    pub fn of(case: &Case, outcome: Outcome, seconds: f64) -> Self {
        Self {
            suite: case.suite.clone(),
            format: case.format,
            file: case.file.clone(),
            description: case.description.clone(),
            topology: case.topology.clone(),
            version: case.version.clone(),
            outcome,
            seconds,
        }
    }

    fn status(&self) -> (&'static str, Option<&str>) {
        match &self.outcome {
            Outcome::Passed => ("passed", None),
            Outcome::Failed(why) => ("failed", Some(why)),
            Outcome::Pending(why) => ("pending", Some(why)),
            Outcome::Skipped(why) => ("skipped", Some(why)),
        }
    }

    fn to_json(&self) -> Value {
        let (status, reason) = self.status();
        let mut case = Map::new();
        case.insert("file".into(), json!(self.file));
        case.insert("description".into(), json!(self.description));
        for (key, value) in [("topology", &self.topology), ("version", &self.version)] {
            if let Some(value) = value {
                case.insert(key.into(), json!(value));
            }
        }
        case.insert("status".into(), json!(status));
        if let Some(reason) = reason {
            case.insert("reason".into(), json!(reason));
        }
        case.insert("seconds".into(), json!((self.seconds * 1000.0).round() / 1000.0));
        Value::Object(case)
    }
}

/// Groups records by suite and format.
fn groups(records: &[Record]) -> BTreeMap<(&str, &str), Vec<&Record>> {
    let mut groups: BTreeMap<_, Vec<&Record>> = BTreeMap::new();
    for record in records {
        groups
            .entry((record.suite.as_str(), record.format))
            .or_default()
            .push(record);
    }
    for group in groups.values_mut() {
        group.sort_by_key(|r| (&r.file, &r.description, &r.topology, &r.version));
    }
    groups
}

/// The report as JSON.
pub fn to_json(records: &[Record]) -> Value {
    let suites: Vec<Value> = groups(records)
        .into_iter()
        .map(|((suite, format), records)| {
            let cases: Vec<Value> = records.into_iter().map(Record::to_json).collect();
            json!({ "suite": suite, "format": format, "cases": cases })
        })
        .collect();
    json!({ "suites": suites })
}

/// A report with the cases of both, those of `later` where both have the same.
pub fn merge(earlier: &Value, later: &Value) -> Value {
    let key = |case: &Value| texts(case, ["file", "description", "topology", "version"]);
    let mut suites = BTreeMap::<_, Vec<Value>>::new();
    for report in [later, earlier] {
        for suite in list(report, "suites") {
            let cases = suites.entry(texts(suite, ["suite", "format"])).or_default();
            let known: BTreeSet<_> = cases.iter().map(key).collect();
            let new = list(suite, "cases").iter();
            cases.extend(new.filter(|case| !known.contains(&key(case))).cloned());
        }
    }
    let suites: Vec<Value> = suites
        .into_iter()
        .map(|([suite, format], mut cases)| {
            cases.sort_by_cached_key(key);
            json!({ "suite": suite, "format": format, "cases": cases })
        })
        .collect();
    json!({ "suites": suites })
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn texts<const N: usize>(value: &Value, keys: [&str; N]) -> [Option<String>; N] {
    keys.map(|key| value.get(key).and_then(Value::as_str).map(str::to_owned))
}

/// The summary as text: one line per suite, then the reasons of pending and skipped cases, then the
/// failures.
pub fn summary(records: &[Record]) -> String {
    let mut text = String::new();
    let mut total = [0; 4];
    let mut reasons: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let line = |name: &str, format: &str, counts: [usize; 4]| {
        let [passed, failed, pending, skipped] = counts;
        format!("{name:<42} {format:<22} {passed:>7} {failed:>7} {pending:>8} {skipped:>8}\n")
    };
    let _ = writeln!(
        text,
        "{:<42} {:<22} {:>7} {:>7} {:>8} {:>8}",
        "suite", "format", "passed", "failed", "pending", "skipped"
    );
    for ((suite, format), group) in groups(records) {
        let mut counts = [0; 4];
        for record in group {
            let (status, reason) = record.status();
            let place = match status {
                "passed" => 0,
                "failed" => 1,
                "pending" => 2,
                _ => 3,
            };
            counts[place] += 1;
            if let Some(reason) = reason.filter(|_| place > 1) {
                *reasons.entry((status, reason)).or_default() += 1;
            }
        }
        for (sum, count) in total.iter_mut().zip(counts) {
            *sum += count;
        }
        text.push_str(&line(suite, format, counts));
    }
    text.push_str(&line("all", "", total));
    for ((status, reason), count) in reasons {
        let _ = writeln!(text, "{count:>7} {status}: {reason}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(suite: &str, outcome: Outcome) -> Record {
        let mut case = Case::new("unified", &format!("{suite}/tests/f.json"), "d", || {
            Outcome::Passed
        });
        case.version = Some("8.2".into());
        Record::of(&case, outcome, 0.0123)
    }

    #[test]
    fn report_format() {
        let report = to_json(&[
            record("b", Outcome::Passed),
            record("a", Outcome::Failed("why".into())),
        ]);
        assert_eq!(
            report,
            json!({ "suites": [
                { "suite": "a", "format": "unified", "cases": [
                    { "file": "a/tests/f.json", "description": "d", "version": "8.2", "status": "failed", "reason": "why",
                      "seconds": 0.012 }] },
                { "suite": "b", "format": "unified", "cases": [
                    { "file": "b/tests/f.json", "description": "d", "version": "8.2", "status": "passed", "seconds": 0.012 }] },
            ] })
        );
    }

    #[test]
    fn reports_are_merged() {
        let earlier = to_json(&[
            record("b", Outcome::Passed),
            record("c", Outcome::Failed("why".into())),
        ]);
        let later = to_json(&[record("a", Outcome::Passed), record("c", Outcome::Passed)]);
        let all = ["a", "b", "c"].map(|suite| record(suite, Outcome::Passed));
        assert_eq!(merge(&earlier, &later), to_json(&all));
    }

    #[test]
    fn the_summary_has_counts_and_reasons() {
        let text = summary(&[
            record("a", Outcome::Passed),
            record("a", Outcome::Failed("f".into())),
            record("b", Outcome::Pending("bulkWrite".into())),
            record("b", Outcome::Pending("bulkWrite".into())),
            record("b", Outcome::Skipped("s".into())),
        ]);
        let words = |line: &str| -> Vec<String> { line.split_whitespace().map(str::to_owned).collect() };
        let lines: Vec<Vec<String>> = text.lines().map(words).collect();
        assert_eq!(lines[1], ["a", "unified", "1", "1", "0", "0"]);
        assert_eq!(lines[2], ["b", "unified", "0", "0", "2", "1"]);
        assert_eq!(lines[3], ["all", "1", "1", "2", "1"]);
        assert_eq!(lines[4], ["2", "pending:", "bulkWrite"]);
        assert_eq!(lines[5], ["1", "skipped:", "s"]);
    }
}
