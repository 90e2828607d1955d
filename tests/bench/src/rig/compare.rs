//! `compare`: all contestants side by side, and what is to be reached beside what is.

use std::{fs, process::Command};

use super::{
    Failure, Places, callgrind, chart,
    contestants::{self, Contestant},
    cost, counting, futures, goals, plan,
    report::{Column, Report, Times},
    server::Server,
    table,
    timing::{self, Effort},
};

/// What `compare` was asked for.
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
    let places = Places::find()?;
    let mut report = Report {
        notes: vec![circumstances()],
        ..Report::default()
    };
    let ours = contestants::build_ours(&places)?;
    let official = contestants::build_official(&places)?;
    let rust = [ours.driver.clone(), ours.odm, official.clone()];
    let mut all = vec![ours.blocking, ours.floor, ours.driver, official];
    match contestants::build_libmongoc(&places) {
        Ok(contestant) => all.push(contestant),
        Err(reason) => report.notes.push(format!("No libmongoc: {reason}.")),
    }
    report.contestants = all.iter().map(Column::from).collect();
    let wanted = |label: &str| settings.only.as_deref().is_none_or(|only| label.contains(only));
    if settings.times {
        let effort = Effort::new(settings.quick, settings.rounds);
        report.notes.push(format!(
            "Medians (least–most) of {} rounds in which the programs take turns.",
            effort.rounds
        ));
        report.times = times(&all, settings.quick, effort, wanted)?;
    }
    match callgrind::version() {
        _ if !settings.counts => {}
        Some(version) => {
            report
                .notes
                .push(format!("Counts by valgrind {version}: one task on one thread."));
            report.counts = counting::rows(&all, &places, wanted)?;
        }
        None => report.notes.push("No counts: valgrind is not installed.".into()),
    }
    if settings.only.is_none() {
        report.futures = futures::sizes(&rust.each_ref())?;
    }
    if settings.cost {
        report.build_is_cheap = Some(cost::run()?);
    }
    report.goals = goals::of(&report);
    publish(&report, &places, settings.readme)
}

/// The machine and what the programs are made with.
fn circumstances() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let said = |program: &str, argument: &str| {
        let output = Command::new(program).arg(argument).output().ok();
        output.map_or_else(String::new, |output| {
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        })
    };
    let rustc = said("rustc", "--version");
    let rustc = rustc.split(" (").next().unwrap_or_default();
    // It decides what large writes cost, on loopback too.
    let congestion = fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").unwrap_or_default();
    format!(
        "{cores} cores, Linux {} with TCP {}, {rustc}, release profile.",
        said("uname", "-r"),
        congestion.trim()
    )
}

fn times(
    contestants: &[Contestant],
    quick: bool,
    effort: Effort,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<Times>, Failure> {
    let server = Server::start(None)?;
    let mut rows = Vec::new();
    for cell in plan::cells(quick) {
        if wanted(&cell.label()) {
            let row = timing::row(contestants, &server, &cell, effort)?;
            eprintln!("{}", table::times_line(&row));
            rows.push(row);
        }
    }
    Ok(rows)
}

const BEGIN: &str = "<!-- comparison: begin -->\n";
const END: &str = "<!-- comparison: end -->";

fn publish(report: &Report, places: &Places, readme: bool) -> Result<(), Failure> {
    let (text, picture) = (table::markdown(report), chart::svg(report));
    let file = |extension| places.out.join("comparison").with_extension(extension);
    fs::write(file("md"), &text)?;
    fs::write(file("json"), serde_json::to_string_pretty(report)?)?;
    fs::write(file("svg"), &picture)?;
    println!(
        "{text}\nwritten to {}",
        places.out.join("comparison.{md,json,svg}").display()
    );
    if readme {
        let path = places.root.join("README.md");
        let part = format!(
            "![CPU time per operation](tests/bench/comparison.svg)\n{}",
            table::summary(report)
        );
        let written = between_markers(&fs::read_to_string(&path)?, &part)?;
        fs::write(places.package().join("comparison.svg"), &picture)?;
        fs::write(path, written)?;
    }
    Ok(())
}

/// The text with another part between the markers.
fn between_markers(text: &str, part: &str) -> Result<String, Failure> {
    let (before, rest) = text
        .split_once(BEGIN)
        .ok_or("README.md has no marker where the comparison begins")?;
    let (_, after) = rest
        .split_once(END)
        .ok_or("README.md has no marker where the comparison ends")?;
    Ok(format!("{before}{BEGIN}{part}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_markers_changes() {
        let text = format!("a\n{BEGIN}old\n{END}\nb\n");
        assert_eq!(
            between_markers(&text, "new\n").unwrap(),
            format!("a\n{BEGIN}new\n{END}\nb\n")
        );
        assert!(between_markers("a\n", "new\n").is_err());
        assert!(between_markers(&format!("a\n{BEGIN}"), "new\n").is_err());
    }
}
