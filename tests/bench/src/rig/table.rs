//! The figures as tables in Markdown.

use std::fmt::Write;

use super::{
    compare::{Count, Counted, Report, Times, Timing},
    statistics::Spread,
};

/// What stands where a contestant has no means for a task.
const NONE: &str = "–";

/// All tables.
pub(super) fn markdown(report: &Report) -> String {
    let mut text = String::new();
    for note in &report.notes {
        line(&mut text, note);
    }
    let times = |value: fn(&Times) -> Vec<String>| {
        report
            .times
            .iter()
            .map(|times| (place(times), value(times)))
            .collect::<Vec<_>>()
    };
    if !report.times.is_empty() {
        let cpu = times(|times| entries(times, |timing| spread(timing.cpu_us)));
        grid(
            &mut text,
            "CPU time of the client per operation, µs",
            report,
            &cpu,
        );
        let rates = times(rates);
        grid(
            &mut text,
            "Operations per second, and as a share of the floor",
            report,
            &rates,
        );
        let peak = times(|times| entries(times, |timing| format!("{:.1}", timing.peak_kib.median / 1024.0)));
        grid(&mut text, "Most memory resident, MiB", report, &peak);
    }
    if !report.counts.is_empty() {
        let rows: Vec<_> = report
            .counts
            .iter()
            .map(|row| (counted_place(row), counted(row)))
            .collect();
        grid(
            &mut text,
            "User instructions per operation; allocations (KiB)",
            report,
            &rows,
        );
    }
    text
}

/// The rows of the chart only: CPU time.
pub(super) fn summary(report: &Report) -> String {
    let mut text = String::new();
    let charted = report.times.iter().filter(|times| times.charted);
    let cpu: Vec<_> = charted
        .map(|times| {
            (
                place(times),
                entries(times, |timing| significant(timing.cpu_us.median)),
            )
        })
        .collect();
    grid(
        &mut text,
        "CPU time of the client per operation, µs",
        report,
        &cpu,
    );
    line(&mut text, "");
    for note in &report.notes {
        line(&mut text, note);
    }
    text
}

/// A row for the terminal.
pub(super) fn times_line(times: &Times) -> String {
    format!(
        "{:<48} CPU µs: {}",
        place(times),
        entries(times, |timing| spread(timing.cpu_us)).join(" | ")
    )
}

/// A row for the terminal.
pub(super) fn counts_line(row: &Counted) -> String {
    format!(
        "{:<48} instructions; allocations: {}",
        counted_place(row),
        counted(row).join(" | ")
    )
}

/// What a row of times is about.
pub(super) fn place(times: &Times) -> String {
    let Times {
        task,
        topology,
        tasks,
        runtime,
        ..
    } = times;
    let plural = if *tasks == 1 { "" } else { "s" };
    format!("{task}, {topology}, {tasks} task{plural}, {runtime}")
}

fn counted_place(row: &Counted) -> String {
    format!("{}, {}", row.task, row.topology)
}

fn entries(times: &Times, show: impl Fn(&Timing) -> String) -> Vec<String> {
    times
        .entries
        .iter()
        .map(|entry| entry.as_ref().map_or_else(|| NONE.into(), &show))
        .collect()
}

fn rates(times: &Times) -> Vec<String> {
    let floor = times
        .entries
        .first()
        .copied()
        .flatten()
        .map_or(f64::NAN, |floor| floor.ops_per_second.median);
    entries(times, |timing| {
        let rate = timing.ops_per_second.median;
        format!("{} ({:.2})", grouped(rate), rate / floor)
    })
}

fn counted(row: &Counted) -> Vec<String> {
    let show = |count: &Count| {
        let (allocations, kib) = (significant(count.allocations), significant(count.bytes / 1024.0));
        format!("{}; {allocations} ({kib})", grouped(count.instructions))
    };
    row.entries
        .iter()
        .map(|entry| entry.as_ref().map_or_else(|| NONE.into(), show))
        .collect()
}

fn grid(text: &mut String, title: &str, report: &Report, rows: &[(String, Vec<String>)]) {
    line(text, "");
    line(text, &format!("| {title} | {} |", report.contestants.join(" | ")));
    line(
        text,
        &format!("|---|{}", "---:|".repeat(report.contestants.len())),
    );
    for (place, cells) in rows {
        line(text, &format!("| {place} | {} |", cells.join(" | ")));
    }
}

fn line(text: &mut String, line: &str) {
    // Writing to a string can't fail.
    let _ = writeln!(text, "{line}");
}

fn spread(spread: Spread) -> String {
    let Spread { median, min, max } = spread;
    format!(
        "{} ({}–{})",
        significant(median),
        significant(min),
        significant(max)
    )
}

/// Three digits that say something, all of those before the point.
pub(super) fn significant(value: f64) -> String {
    if value.abs() >= 100.0 {
        grouped(value)
    } else if value.abs() >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// A whole number, its thousands apart.
fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let (sign, digits) = digits
        .strip_prefix('-')
        .map_or(("", digits.as_str()), |digits| ("-", digits));
    let mut grouped = String::from(sign);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(grouped(1_234_567.4), "1,234,567");
        assert_eq!(grouped(-1_000.0), "-1,000");
        assert_eq!(grouped(999.0), "999");
        assert_eq!(significant(0.1234), "0.12");
        assert_eq!(significant(12.34), "12.3");
        assert_eq!(significant(1234.5), "1,234");
    }

    #[test]
    fn what_a_contestant_cannot_do_is_left_open() {
        let spread = Spread {
            median: 2.0,
            min: 1.0,
            max: 3.0,
        };
        let timing = Timing {
            ops_per_second: spread,
            cpu_us: spread,
            peak_kib: spread,
        };
        let report = Report {
            contestants: vec!["floor".into(), "other".into()],
            notes: vec!["A note.".into()],
            times: vec![Times {
                task: "ping",
                topology: "standalone",
                tasks: 1,
                runtime: "current",
                charted: true,
                entries: vec![Some(timing), None],
            }],
            counts: Vec::new(),
        };
        let text = markdown(&report);
        assert!(
            text.contains("| ping, standalone, 1 task, current | 2.00 (1.00–3.00) | – |"),
            "{text}"
        );
        assert!(
            text.contains("| ping, standalone, 1 task, current | 2 (1.00) | – |"),
            "{text}"
        );
        assert!(summary(&report).contains("| floor | other |"));
    }
}
