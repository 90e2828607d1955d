//! The results as a table and as JSON.

use std::fmt::Write;

use marula_bench_shared::harness::{
    Task,
    composite::{Averages, COMPOSITES, READ_BENCH, WRITE_BENCH, driver_bench},
};
use serde::Serialize;

use crate::suites::measure::Outcome;

/// All results. Outcomes and scores are in the order of the clients.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The names of the clients, marula first.
    pub clients: Vec<String>,
    /// The conditions of the measurement, one sentence each.
    pub notes: Vec<String>,
    /// The tasks that have been run.
    pub rows: Vec<Row>,
}

/// A task.
#[derive(Debug, Serialize)]
pub struct Row {
    /// The name of the task.
    pub task: &'static str,
    /// Number of units of an iteration.
    pub units: u64,
    /// Number of units that the specification requires.
    pub specified_units: u64,
    /// The results.
    pub outcomes: Vec<Outcome>,
}

impl Row {
    fn scores(&self) -> Vec<Option<f64>> {
        let score = |outcome: &Outcome| outcome.measured().map(|measured| measured.times.score);
        self.outcomes.iter().map(score).collect()
    }

    /// The row of the Markdown table.
    #[must_use]
    pub fn line(&self) -> String {
        let mut line = format!("| {}", self.task);
        if self.units != self.specified_units {
            let _ = write!(line, " ({} of {} units)", self.units, self.specified_units);
        }
        for outcome in &self.outcomes {
            let _ = match outcome {
                Outcome::Measured(measured) => write!(line, " | {}", number(measured.times.score)),
                Outcome::Missing(_) => write!(line, " | not supported"),
                Outcome::Failed(_) => write!(line, " | failed"),
            };
        }
        let _ = write!(line, " | {}", ratio(&self.scores()));
        let each = |what: &dyn Fn(&Outcome) -> Option<String>| {
            let texts = self
                .outcomes
                .iter()
                .map(|outcome| what(outcome).unwrap_or_else(|| "–".into()));
            texts.collect::<Vec<_>>().join(" / ")
        };
        let medians = each(&|outcome| Some(number(outcome.measured()?.times.median * 1e3)));
        let iterations = each(&|outcome| Some(outcome.measured()?.times.seconds.len().to_string()));
        let shares = each(&|outcome| Some(format!("{:.0} %", outcome.measured()?.server_share()? * 100.0)));
        let _ = write!(line, " | {medians} | {iterations} | {shares} |");
        line
    }
}

impl Report {
    /// Whether a task failed.
    #[must_use]
    pub fn has_failures(&self) -> bool {
        let mut outcomes = self.rows.iter().flat_map(|row| &row.outcomes);
        outcomes.any(|outcome| matches!(outcome, Outcome::Failed(_)))
    }

    fn averages(&self) -> Vec<(&'static str, Averages)> {
        let count = self.clients.len();
        let scores = |task: Task| {
            let row = self.rows.iter().find(|row| row.task == task.name());
            row.map_or_else(Vec::new, Row::scores)
        };
        let all = COMPOSITES.iter();
        let mut averages: Vec<_> = all
            .filter_map(|composite| Some((composite.name, composite.averages(count, scores)?)))
            .collect();
        let both = READ_BENCH
            .averages(count, scores)
            .zip(WRITE_BENCH.averages(count, scores));
        averages.extend(both.map(|(read, write)| ("DriverBench", driver_bench(&read, &write))));
        averages
    }

    /// The tables.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        let names = self.clients.join(" | ");
        let rule = "|---:".repeat(self.clients.len() + 1);
        for note in &self.notes {
            let _ = writeln!(text, "{note}");
        }
        let each = self.clients.join(" / ");
        let _ = writeln!(
            text,
            "\nScores in MB/s, higher is better; the ratio is that of the first to the second client. The last three columns are {each}.\n"
        );
        let _ = writeln!(
            text,
            "| task | {names} | ratio | median, ms | iterations | server's share of the CPU time |"
        );
        let _ = writeln!(text, "|---{rule}|---:|---:|---:|");
        for row in &self.rows {
            let _ = writeln!(text, "{}", row.line());
        }
        let averages = self.averages();
        if !averages.is_empty() {
            let _ = writeln!(text, "\n| composite | {names} | ratio | |\n|---{rule}|---|");
        }
        for (name, averages) in averages {
            let scores: Vec<String> = averages.scores.iter().copied().map(number).collect();
            let ratio = ratio(&averages.scores.iter().copied().map(Some).collect::<Vec<_>>());
            let without = match averages.without {
                0 => String::new(),
                count => format!("without {count} tasks"),
            };
            let _ = writeln!(text, "| {name} | {} | {ratio} | {without} |", scores.join(" | "));
        }
        self.write_reasons(&mut text);
        text
    }

    fn write_reasons(&self, text: &mut String) {
        let mut has_title = false;
        for row in &self.rows {
            for (name, outcome) in self.clients.iter().zip(&row.outcomes) {
                let why = match outcome {
                    Outcome::Measured(_) => continue,
                    Outcome::Missing(why) | Outcome::Failed(why) => why,
                };
                if !has_title {
                    let _ = writeln!(text, "\nNo score:\n");
                    has_title = true;
                }
                let _ = writeln!(text, "- {}, {name}: {why}", row.task);
            }
        }
    }
}

/// The ratio of the first score to the second.
fn ratio(scores: &[Option<f64>]) -> String {
    match scores {
        [Some(ours), Some(other), ..] => format!("{:.2}", ours / other),
        _ => "–".to_owned(),
    }
}

/// Formats a number with about three digits.
fn number(value: f64) -> String {
    let decimals = match value.abs() {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        value if value >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suites::measure::Measured;
    use marula_bench_shared::harness::statistics::Times;
    use std::time::Duration;

    fn measured(task: Task, milliseconds: u64) -> Outcome {
        let times = [Duration::from_millis(milliseconds)];
        Outcome::Measured(Measured {
            times: Times::of(&times, task.bytes(task.units())).unwrap(),
            client_cpu: Some(1.0),
            server_cpu: Some(3.0),
        })
    }

    fn row(task: Task, outcomes: Vec<Outcome>) -> Row {
        Row {
            task: task.name(),
            units: task.units(),
            specified_units: task.units(),
            outcomes,
        }
    }

    fn report() -> Report {
        let missing = Outcome::Missing("not supported: GridFS".into());
        let find = vec![measured(Task::FindMany, 100), measured(Task::FindMany, 200)];
        let insert = vec![
            measured(Task::SmallInsertOne, 1_000),
            measured(Task::SmallInsertOne, 500),
        ];
        Report {
            clients: vec!["marula".into(), "official".into()],
            notes: vec!["A note.".into()],
            rows: vec![
                row(Task::SmallInsertOne, insert),
                row(Task::FindMany, find),
                row(
                    Task::GridFsDownload,
                    vec![missing, measured(Task::GridFsDownload, 10)],
                ),
            ],
        }
    }

    #[test]
    fn the_table_has_scores_ratios_and_shares() {
        let text = report().markdown();
        let line = "| find_many | 162 | 81.1 | 2.00 | 100 / 200 | 1 / 1 | 75 % / 75 % |";
        assert!(text.contains(line), "{text}");
        assert!(text.starts_with("A note.\n"), "{text}");
    }

    #[test]
    fn composites_exclude_unsupported_tasks() {
        let text = report().markdown();
        assert!(
            text.contains("| gridfs_download | not supported | 5243 | – | – / 10.0 |"),
            "{text}"
        );
        assert!(
            text.contains("- gridfs_download, marula: not supported: GridFS\n"),
            "{text}"
        );
        assert!(
            text.contains("| ReadBench | 162 | 81.1 | 2.00 | without 4 tasks |"),
            "{text}"
        );
        assert!(
            text.contains("| DriverBench | 82.5 | 43.3 | 1.90 | without 16 tasks |"),
            "{text}"
        );
        assert!(!report().has_failures());
    }

    #[test]
    fn reduced_tasks_show_their_units() {
        let mut row = row(Task::LdjsonImport, vec![Outcome::Failed("gone".into())]);
        row.units = 10;
        assert!(
            row.line()
                .starts_with("| ldjson_import (10 of 100 units) | failed | – |"),
            "{}",
            row.line()
        );
        let report = Report {
            clients: vec!["marula".into()],
            notes: Vec::new(),
            rows: vec![row],
        };
        assert!(report.has_failures());
    }
}
