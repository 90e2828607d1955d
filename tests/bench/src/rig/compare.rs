//! `compare`: all contestants side by side, in rounds, so that what else happens on the machine hits all of them.

use std::{fs, process::Command};

use marula_bench_contract::{Arguments, Figures};
use serde::Serialize;

use super::{
    Failure, Places, callgrind, chart,
    contestants::{self, Contestant},
    dhat,
    plan::{self, Cell},
    server::{Server, Topology},
    statistics::Spread,
    table,
};

/// What `compare` was asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    pub(super) quick: bool,
    pub(super) rounds: Option<u64>,
    pub(super) only: Option<String>,
    pub(super) counts: bool,
    pub(super) readme: bool,
}

/// Everything that was found, as the JSON file has it. Entries stand in the order of the contestants; there is none where a
/// contestant has no means for the task.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) contestants: Vec<String>,
    /// Under which circumstances, one sentence each.
    pub(super) notes: Vec<String>,
    pub(super) times: Vec<Times>,
    pub(super) counts: Vec<Counted>,
}

/// The times of a row.
#[derive(Debug, Serialize)]
pub(super) struct Times {
    pub(super) task: &'static str,
    pub(super) topology: &'static str,
    pub(super) tasks: u64,
    pub(super) runtime: &'static str,
    /// Whether the chart shows it.
    pub(super) charted: bool,
    pub(super) entries: Vec<Option<Timing>>,
}

/// The times of a contestant.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Timing {
    pub(super) ops_per_second: Spread,
    /// User and system time of the client per operation.
    pub(super) cpu_us: Spread,
    pub(super) peak_kib: Spread,
}

/// The counts of a row.
#[derive(Debug, Serialize)]
pub(super) struct Counted {
    pub(super) task: &'static str,
    pub(super) topology: &'static str,
    pub(super) entries: Vec<Option<Count>>,
}

/// The counts of a contestant, per operation.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Count {
    pub(super) instructions: f64,
    pub(super) allocations: f64,
    pub(super) bytes: f64,
}

pub(super) fn run(settings: &Settings) -> Result<(), Failure> {
    let places = Places::find()?;
    let mut notes = vec![circumstances()];
    let contestants = build(&places, &mut notes)?;
    let rounds = settings
        .rounds
        .unwrap_or(if settings.quick { 3 } else { 7 })
        .max(1);
    notes.push(format!(
        "Medians (least–most) of {rounds} rounds in which the programs take turns."
    ));
    let wanted = |label: &str| settings.only.as_deref().is_none_or(|only| label.contains(only));
    let mut report = Report {
        contestants: contestants.iter().map(Contestant::title).collect(),
        notes,
        times: times(&contestants, settings.quick, rounds, wanted)?,
        counts: Vec::new(),
    };
    match callgrind::version() {
        _ if !settings.counts => {}
        Some(version) => {
            report
                .notes
                .push(format!("Counts by valgrind {version}: one task on one thread."));
            report.counts = counts(&contestants, &places, wanted)?;
        }
        None => report.notes.push("No counts: valgrind is not installed.".into()),
    }
    publish(&report, &places, settings.readme)
}

fn build(places: &Places, notes: &mut Vec<String>) -> Result<Vec<Contestant>, Failure> {
    let ours = contestants::build_ours(places)?;
    let mut contestants = vec![ours.floor, ours.driver];
    contestants.push(contestants::build_official(places)?);
    match contestants::build_libmongoc(places) {
        Ok(contestant) => contestants.push(contestant),
        Err(reason) => notes.push(format!("No libmongoc: {reason}.")),
    }
    Ok(contestants)
}

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
    format!(
        "{cores} cores, Linux {}, {rustc}, release profile.",
        said("uname", "-r")
    )
}

fn times(
    contestants: &[Contestant],
    quick: bool,
    rounds: u64,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<Times>, Failure> {
    let server = Server::start(None)?;
    let charted = plan::cells(true);
    let mut rows = Vec::new();
    for cell in plan::cells(quick)
        .into_iter()
        .filter(|cell| wanted(&cell.label()))
    {
        let entries = row(contestants, &server, &cell, cell.ops(quick), rounds)?;
        let times = Times {
            task: cell.task.name(),
            topology: cell.topology.name(),
            tasks: cell.tasks,
            runtime: cell.runtime.name(),
            charted: charted.contains(&cell),
            entries,
        };
        eprintln!("{}", table::times_line(&times));
        rows.push(times);
    }
    Ok(rows)
}

fn row(
    contestants: &[Contestant],
    server: &Server,
    cell: &Cell,
    ops: u64,
    rounds: u64,
) -> Result<Vec<Option<Timing>>, Failure> {
    let arguments = Arguments {
        uri: server.uri(cell.topology)?,
        task: cell.task,
        tasks: cell.tasks,
        runtime: cell.runtime,
        ops,
    };
    let mut runs: Vec<Vec<Figures>> = vec![Vec::new(); contestants.len()];
    for _ in 0..rounds {
        for (contestant, runs) in contestants.iter().zip(&mut runs) {
            runs.extend(contestant.run(&arguments)?);
        }
    }
    Ok(runs.iter().map(|runs| Timing::of(runs)).collect())
}

impl Timing {
    fn of(runs: &[Figures]) -> Option<Self> {
        let spread = |value: fn(&Figures) -> f64| Spread::of(runs.iter().map(value).collect());
        Some(Self {
            ops_per_second: spread(|run| run.ops as f64 * 1e9 / run.wall_ns.max(1) as f64)?,
            cpu_us: spread(|run| run.cpu_ns as f64 / 1e3 / run.ops.max(1) as f64)?,
            peak_kib: spread(|run| run.peak_kib as f64)?,
        })
    }
}

fn counts(
    contestants: &[Contestant],
    places: &Places,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<Counted>, Failure> {
    let server = Server::start(Some(callgrind::DELAY_US))?;
    let mut rows = Vec::new();
    for topology in [Topology::Standalone, Topology::ThreeNode] {
        for task in plan::counted(topology) {
            if !wanted(&format!("{task} {}", topology.name())) {
                continue;
            }
            let mut entries = Vec::new();
            for contestant in contestants {
                let counts = callgrind::per_operation(contestant, &server, topology, task, &places.out)?;
                let bytes = dhat::bytes_per_operation(contestant, &server, topology, task)?;
                entries.push(counts.zip(bytes).map(|(counts, bytes)| Count {
                    instructions: counts.instructions,
                    allocations: counts.allocations,
                    bytes,
                }));
            }
            let counted = Counted {
                task: task.name(),
                topology: topology.name(),
                entries,
            };
            eprintln!("{}", table::counts_line(&counted));
            rows.push(counted);
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
            "![CPU time per operation](tests/bench/comparison.svg)\n\n{}",
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

    #[test]
    fn figures_become_rates() {
        let run = Figures {
            ops: 1_000,
            wall_ns: 500_000_000,
            cpu_ns: 20_000_000,
            peak_kib: 4_096,
        };
        let timing = Timing::of(&[run]).unwrap();
        assert_eq!(timing.ops_per_second.median, 2_000.0);
        assert_eq!(timing.cpu_us.median, 20.0);
        assert!(Timing::of(&[]).is_none());
    }
}
