//! Formats the results as Markdown tables.

use std::fmt::Write;

use super::{
    clients::Role,
    goals::{Bound, Goal},
    numbers::{grouped, significant, spread},
    report::{Column, Count, Counted, Futures, Report, Size, Times, Timing},
};

/// The entry of a client that does not support a task.
const NONE: &str = "–";

const CPU: &str = "CPU time of the client per operation, µs";
const COUNTS: &str = "User instructions per operation; allocations (KiB)";

/// All tables.
pub(super) fn markdown(report: &Report) -> String {
    let mut text = String::new();
    for note in &report.notes {
        line(&mut text, note);
    }
    line(
        &mut text,
        "Values in parentheses after a median are minimum–maximum.",
    );
    let columns = &report.clients;
    let rows = |cells: &dyn Fn(&Times) -> Vec<String>| -> Vec<_> {
        report
            .times
            .iter()
            .map(|times| (row_label(times), cells(times)))
            .collect()
    };
    let cpu = rows(&|times| entries(&times.entries, |timing| spread(timing.cpu_us)));
    grid(&mut text, CPU, columns, &cpu);
    let title = "Operations per second (relative to floor, relative to blocking)";
    grid(&mut text, title, columns, &rows(&|times| rates(report, times)));
    let peak = rows(&|times| {
        entries(&times.entries, |timing| {
            format!("{:.1}", timing.peak_kib.median / 1024.0)
        })
    });
    grid(&mut text, "Peak resident memory, MiB", columns, &peak);
    grid(&mut text, COUNTS, columns, &counted(report, |_| true));
    write_futures(&mut text, &report.futures);
    write_goals(&mut text, report);
    text
}

/// The CPU time of the rows of the chart, and the counts of their tasks on a standalone.
pub(super) fn summary(report: &Report) -> String {
    let mut text = String::new();
    let charted = report.times.iter().filter(|times| times.charted);
    let cpu: Vec<_> = charted
        .map(|times| {
            let cells = entries(&times.entries, |timing| significant(timing.cpu_us.median));
            (row_label(times), cells)
        })
        .collect();
    grid(&mut text, CPU, &report.clients, &cpu);
    let is_charted = |task: &str| {
        report
            .times
            .iter()
            .any(|times| times.charted && times.task == task)
    };
    let counts = counted(report, |row| row.topology == "standalone" && is_charted(row.task));
    grid(&mut text, COUNTS, &report.clients, &counts);
    line(&mut text, "");
    for note in &report.notes {
        line(&mut text, note);
    }
    text
}

/// A row for standard error.
pub(super) fn times_line(times: &Times) -> String {
    format!(
        "{:<48} CPU µs: {}",
        row_label(times),
        entries(&times.entries, |timing| spread(timing.cpu_us)).join(" | ")
    )
}

/// The label of a row of times.
pub(super) fn row_label(times: &Times) -> String {
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

fn entries<T>(entries: &[Option<T>], show: impl Fn(&T) -> String) -> Vec<String> {
    let shown = entries
        .iter()
        .map(|entry| entry.as_ref().map_or_else(|| NONE.into(), &show));
    shown.collect()
}

/// Rates, and their ratios to both lower bounds.
fn rates(report: &Report, times: &Times) -> Vec<String> {
    let floor = |role| {
        report
            .entry(&times.entries, role)
            .map(|timing: Timing| timing.ops_per_second.median)
    };
    let floors = [floor(Role::Floor), floor(Role::Blocking)];
    entries(&times.entries, |timing| {
        let rate = timing.ops_per_second.median;
        let [tokio, blocking] =
            floors.map(|floor| floor.map_or_else(|| NONE.into(), |floor| format!("{:.2}", rate / floor)));
        format!("{} ({tokio}, {blocking})", grouped(rate))
    })
}

fn counted(report: &Report, wanted: impl Fn(&Counted) -> bool) -> Vec<(String, Vec<String>)> {
    let show = |count: &Count| {
        let (allocations, kib) = (significant(count.allocations), significant(count.bytes / 1024.0));
        format!("{}; {allocations} ({kib})", grouped(count.instructions))
    };
    let rows = report.counts.iter().filter(|row| wanted(row));
    rows.map(|row| {
        (
            format!("{}, {}", row.task, row.topology),
            entries(&row.entries, show),
        )
    })
    .collect()
}

/// Writes one row for each call.
fn write_futures(text: &mut String, futures: &[Futures]) {
    let mut calls: Vec<&str> = Vec::new();
    for size in futures.iter().flat_map(|futures| &futures.sizes) {
        if !calls.contains(&size.call.as_str()) {
            calls.push(&size.call);
        }
    }
    let show = |size: &Size| match size.boxed {
        Some(boxed) => format!("{} ({boxed})", size.held),
        None => size.held.to_string(),
    };
    let rows: Vec<_> = calls
        .into_iter()
        .map(|call| {
            let sizes = futures
                .iter()
                .map(|futures| futures.sizes.iter().find(|size| size.call == call));
            (
                call.to_owned(),
                entries(&sizes.collect::<Vec<_>>(), |size| show(size)),
            )
        })
        .collect();
    let columns: Vec<_> = futures
        .iter()
        .map(|futures| Column {
            role: futures.role,
            title: futures.title.clone(),
        })
        .collect();
    let title = "Size of the future of a call in bytes (in brackets: allocated by the call)";
    grid(text, title, &columns, &rows);
}

fn write_goals(text: &mut String, report: &Report) {
    let row = |goal: &Goal| {
        let sign = match goal.bound {
            Bound::AtMost => "≤",
            Bound::AtLeast => "≥",
        };
        let met = if goal.is_met() { "yes" } else { "**no**" };
        let cells = [
            format!("{sign} {}", significant(goal.goal)),
            significant(goal.reached),
            met.into(),
        ];
        (goal.what.clone(), cells.to_vec())
    };
    let rows: Vec<_> = report.goals.iter().map(row).collect();
    let columns = ["goal", "reached", "met"].map(|title| Column {
        role: Role::Marula,
        title: title.to_owned(),
    });
    grid(text, "Goal", &columns, &rows);
    if let Some(cheap) = report.build_is_cheap {
        let met = if cheap { "met" } else { "**not met**" };
        line(
            text,
            &format!("\nEach build cost is at most 60 % of that of the official driver: {met}."),
        );
    }
}

/// Writes a table, unless it has no rows.
fn grid(text: &mut String, title: &str, columns: &[Column], rows: &[(String, Vec<String>)]) {
    if rows.is_empty() {
        return;
    }
    let titles: Vec<&str> = columns.iter().map(|column| column.title.as_str()).collect();
    line(text, "");
    line(text, &format!("| {title} | {} |", titles.join(" | ")));
    line(text, &format!("|---|{}", "---:|".repeat(columns.len())));
    for (label, cells) in rows {
        line(text, &format!("| {label} | {} |", cells.join(" | ")));
    }
}

fn line(text: &mut String, line: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::report::samples;

    fn assert_has(text: &str, line: &str) {
        assert!(text.contains(line), "{text}");
    }

    #[test]
    fn unsupported_tasks_are_dashes() {
        let report = samples::report();
        let text = markdown(&report);
        assert_has(
            &text,
            "| 8.00 (4.00–16.0) | 10.0 (5.00–20.0) | 20.0 (10.0–40.0) | 40.0 (20.0–80.0) | – |",
        );
        assert_has(
            &text,
            "| 200 (1.25, 1.00) | 160 (1.00, 0.80) | 80 (0.50, 0.40) | 40 (0.25, 0.20) | – |",
        );
        assert_has(
            &text,
            "| ping, standalone | 900; 4.00 (0.50) | 2,000; 4.00 (0.50) |",
        );
        let short = summary(&report);
        assert_has(
            &short,
            "| ping, standalone, 32 tasks, multi | 8.00 | 10.0 | 20.0 | 40.0 | – |",
        );
        assert_has(&short, "\nA note.\n");
    }

    #[test]
    fn goals_are_listed_with_measurements() {
        let mut report = samples::report();
        let goal = |bound| Goal {
            what: "shares".into(),
            bound,
            goal: 0.75,
            reached: 0.8,
        };
        report.goals = vec![goal(Bound::AtLeast), goal(Bound::AtMost)];
        report.build_is_cheap = Some(false);
        let text = markdown(&report);
        assert_has(&text, "| shares | ≥ 0.75 | 0.80 | yes |");
        assert_has(&text, "| shares | ≤ 0.75 | 0.80 | **no** |");
        assert_has(&text, "official driver: **not met**.");
    }

    #[test]
    fn futures_have_one_row_for_each_call() {
        let size = |call: &str, held, boxed| Size {
            call: call.to_owned(),
            held,
            boxed,
        };
        let futures = |role, title: &str, sizes| Futures {
            role,
            title: title.to_owned(),
            sizes,
        };
        let mut report = samples::report();
        report.futures = vec![
            futures(
                Role::Marula,
                "a",
                vec![size("ping", 24, Some(900)), size("find", 8, None)],
            ),
            futures(Role::Odm, "b", vec![size("find", 80, None)]),
        ];
        let text = markdown(&report);
        assert_has(&text, "| ping | 24 (900) | – |\n| find | 8 | 80 |\n");
    }
}
