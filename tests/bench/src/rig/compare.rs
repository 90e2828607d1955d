//! `compare`: measures all clients, and compares the results with the goals.

use std::{fs, process::Command};

use super::{
    Failure, Paths, callgrind, chart,
    clients::{self, BenchClient},
    cost, counting, futures, goals, plan,
    report::{Column, Report, Times},
    server::Server,
    table,
    timing::{self, Effort},
};

/// The arguments of `compare`.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    pub(super) quick: bool,
    pub(super) rounds: Option<u64>,
    pub(super) only: Option<String>,
    pub(super) times: bool,
    pub(super) counts: bool,
    pub(super) cost: bool,
    pub(super) readme: bool,
}

pub(super) fn run(settings: &Settings) -> Result<(), Failure> {
    let paths = Paths::find()?;
    let mut report = Report {
        notes: vec![conditions()],
        ..Report::default()
    };
    let ours = clients::build_ours(&paths)?;
    let official = clients::build_official(&paths)?;
    let rust = [ours.driver.clone(), ours.odm, official.clone()];
    let mut all = vec![ours.blocking, ours.floor, ours.driver, official];
    match clients::build_libmongoc(&paths) {
        Ok(client) => all.push(client),
        Err(reason) => report.notes.push(format!("libmongoc is not measured: {reason}.")),
    }
    report.clients = all.iter().map(Column::from).collect();
    let wanted = |label: &str| settings.only.as_deref().is_none_or(|only| label.contains(only));
    if settings.times {
        let effort = Effort::new(settings.quick, settings.rounds);
        report
            .notes
            .push(format!("Medians of {} alternating rounds.", effort.rounds));
        report.times = times(&all, settings.quick, effort, wanted)?;
    }
    match callgrind::version() {
        _ if !settings.counts => {}
        Some(version) => {
            report.notes.push(format!(
                "Counts by valgrind {version}, for one task on one thread."
            ));
            report.counts = counting::rows(&all, &paths, wanted)?;
        }
        None => report
            .notes
            .push("Counts are not measured: valgrind is not installed.".into()),
    }
    if settings.only.is_none() {
        report.futures = futures::sizes(&rust.each_ref())?;
    }
    if settings.cost {
        report.build_is_cheap = Some(cost::run()?);
    }
    report.goals = goals::of(&report);
    publish(&report, &paths, settings.readme)
}

/// The machine and the toolchain.
fn conditions() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let output_of = |program: &str, argument: &str| {
        let output = Command::new(program).arg(argument).output().ok();
        output.map_or_else(String::new, |output| {
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        })
    };
    let rustc = output_of("rustc", "--version");
    let rustc = rustc.split(" (").next().unwrap_or_default();
    // The cost of large writes depends on it, also on loopback.
    let congestion = fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").unwrap_or_default();
    format!(
        "{cores} cores, Linux {} with TCP {}, {rustc}, release profile.",
        output_of("uname", "-r"),
        congestion.trim()
    )
}

fn times(
    clients: &[BenchClient],
    quick: bool,
    effort: Effort,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<Times>, Failure> {
    let server = Server::start(None)?;
    let mut rows = Vec::new();
    for cell in plan::cells(quick) {
        if wanted(&cell.label()) {
            let row = timing::row(clients, &server, &cell, effort)?;
            eprintln!("{}", table::times_line(&row));
            rows.push(row);
        }
    }
    Ok(rows)
}

const BEGIN: &str = "<!-- comparison: begin -->\n";
const END: &str = "<!-- comparison: end -->";

fn publish(report: &Report, paths: &Paths, readme: bool) -> Result<(), Failure> {
    let (text, picture) = (table::markdown(report), chart::svg(report));
    let file = |extension| paths.out.join("comparison").with_extension(extension);
    fs::write(file("md"), &text)?;
    fs::write(file("json"), serde_json::to_string_pretty(report)?)?;
    fs::write(file("svg"), &picture)?;
    println!(
        "{text}\nwritten to {}",
        paths.out.join("comparison.{md,json,svg}").display()
    );
    if readme {
        let path = paths.package().join("README.md");
        let part = format!(
            "![CPU time per operation](comparison.svg)\n{}",
            table::summary(report)
        );
        let written = between_markers(&fs::read_to_string(&path)?, &part)?;
        fs::write(paths.package().join("comparison.svg"), &picture)?;
        fs::write(path, written)?;
    }
    Ok(())
}

/// Replaces the text between the markers.
fn between_markers(text: &str, part: &str) -> Result<String, Failure> {
    let (before, rest) = text
        .split_once(BEGIN)
        .ok_or("tests/bench/README.md has no marker for the start of the comparison")?;
    let (_, after) = rest
        .split_once(END)
        .ok_or("tests/bench/README.md has no marker for the end of the comparison")?;
    Ok(format!("{before}{BEGIN}{part}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_text_between_the_markers_is_replaced() {
        let text = format!("a\n{BEGIN}old\n{END}\nb\n");
        assert_eq!(
            between_markers(&text, "new\n").unwrap(),
            format!("a\n{BEGIN}new\n{END}\nb\n")
        );
        assert!(between_markers("a\n", "new\n").is_err());
        assert!(between_markers(&format!("a\n{BEGIN}"), "new\n").is_err());
    }

    #[test]
    fn the_page_of_the_benchmarks_has_the_markers() {
        let page = include_str!("../../README.md");
        let written = between_markers(page, "new\n").unwrap();
        assert!(written.contains(&format!("{BEGIN}new\n{END}")));
        assert!(page.contains("](comparison.svg)"));
    }
}
