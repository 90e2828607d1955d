//! `check`: compares instructions and allocations of operations with the limits in `ceilings.toml`.

use std::{fmt::Write, fs, process::Command};

use marula_bench_shared::contract::Task;

use super::{
    Failure, Paths,
    callgrind::{self, Counts},
    clients,
    server::{Server, Topology},
};

const TOPOLOGIES: [Topology; 2] = [Topology::Standalone, Topology::ThreeNode];
const TASKS: [Task; 5] = [
    Task::Ping,
    Task::InsertOne,
    Task::FindOne,
    Task::Find10kOwned,
    Task::InsertMany10k,
];

/// The tasks that are counted on one of the topologies.
const MORE: [(Topology, Task); 9] = [
    (Topology::Standalone, Task::FindOneTimeout),
    (Topology::Standalone, Task::FindOneTwoFields),
    (Topology::Standalone, Task::UpdateOne),
    (Topology::Standalone, Task::InsertOne27k),
    (Topology::Standalone, Task::FindOne27k),
    (Topology::Standalone, Task::Find10kRich),
    (Topology::Standalone, Task::InsertMany10kRich),
    (Topology::ThreeNode, Task::TransactionTwoInserts),
    (Topology::ThreeNode, Task::ChangeStream10k),
];

/// The tasks of which the counts of the ODM have limits of their own: they build filters and updates.
const BUILT: [Task; 2] = [Task::FindOneTwoFields, Task::UpdateOne];

/// Limit for the instructions of a call of the ODM, relative to the same call of the driver.
const ODM_SHARE: f64 = 1.0;

/// Limit for the instructions that `timeoutMS` adds to an operation.
const TIMEOUT_COST: f64 = 1_500.0;

/// Limit for the timers that it sets: one, and a few of the monitors in a run of 1,500 operations.
const TIMEOUT_TIMERS: f64 = 1.01;

/// The ratio of a limit that `--write` writes to the measurement.
const MARGIN: f64 = 1.05;

/// The limits of a case.
#[derive(Clone, Debug, PartialEq)]
struct Ceiling {
    /// `TOPOLOGY.TASK`.
    case: String,
    instructions: f64,
    allocations: f64,
}

/// Compares the counts with the limits, or updates the file. Returns `false` if a limit is
/// exceeded.
pub(super) fn run(write: bool) -> Result<bool, Failure> {
    let paths = Paths::find()?;
    let path = paths.package().join("ceilings.toml");
    let valgrind = callgrind::version().ok_or("`check` requires valgrind")?;
    let ours = clients::build_ours(&paths)?;
    let ceilings = if write {
        Vec::new()
    } else {
        parse(&fs::read_to_string(&path)?)?
    };
    let server = Server::start(Some(callgrind::DELAY_US))?;
    let mut reached = Vec::new();
    let mut holds = true;
    for (topology, task) in cases() {
        let counts = callgrind::per_operation(&ours.driver, &server, topology, task, &paths.out)?;
        let counts = counts.ok_or("the client does not support a task")?;
        let case = case(topology, task);
        if topology == Topology::Standalone || task.requires_set() {
            let odm = callgrind::per_operation(&ours.odm, &server, topology, task, &paths.out)?;
            if let Some(odm) = odm {
                holds &= near(task, &odm, &counts);
                if BUILT.contains(&task) {
                    reached.push((odm_case(task), odm));
                }
            }
        }
        reached.push((case, counts));
    }
    if !write {
        for (case, counts) in &reached {
            let ceiling = ceilings.iter().find(|ceiling| ceiling.case == *case);
            let ceiling = ceiling.ok_or_else(|| format!("ceilings.toml has no [{case}]"))?;
            holds &= compare(ceiling, counts);
        }
    }
    holds &= timeout_costs_little(&reached)?;
    if write {
        let text = written(&reached, &valgrind);
        fs::write(&path, &text)?;
        println!("{text}");
    } else if !holds {
        println!(
            "a limit of tests/bench/ceilings.toml, the limit of the ODM, or that of timeoutMS is exceeded"
        );
    }
    Ok(holds)
}

/// The cases of `ceilings.toml`, in its order.
fn cases() -> impl Iterator<Item = (Topology, Task)> {
    let main = TOPOLOGIES
        .into_iter()
        .flat_map(|topology| TASKS.map(|task| (topology, task)));
    main.chain(MORE)
}

fn case(topology: Topology, task: Task) -> String {
    format!("{}.{task}", topology.name())
}

fn odm_case(task: Task) -> String {
    format!("odm.{task}")
}

/// Prints what `timeoutMS` adds to `find_one`: instructions, and timers that are set.
fn timeout_costs_little(reached: &[(String, Counts)]) -> Result<bool, Failure> {
    let of = |task| {
        let case = case(Topology::Standalone, task);
        let found = reached.iter().find(|(name, _)| *name == case);
        found
            .map(|(_, counts)| counts)
            .ok_or_else(|| format!("{case} is not counted"))
    };
    let (timed, plain) = (of(Task::FindOneTimeout)?, of(Task::FindOne)?);
    Ok(added(
        "instructions",
        timed.instructions - plain.instructions,
        TIMEOUT_COST,
    ) & added("timers", timed.timers - plain.timers, TIMEOUT_TIMERS))
}

fn added(kind: &str, more: f64, limit: f64) -> bool {
    let holds = more <= limit;
    println!(
        "{:<28} {kind:<12} {more:>14.2} of {limit:>14.2} {}",
        "timeoutMS adds",
        if holds { "ok" } else { "EXCEEDED" },
    );
    holds
}

/// Prints the instructions of a call of the ODM and of the same call of the driver.
fn near(task: Task, odm: &Counts, driver: &Counts) -> bool {
    let share = odm.instructions / driver.instructions;
    let limit = ODM_SHARE;
    let holds = share <= limit;
    println!(
        "{:<28} {:<12} {:>14.2} of {:>14.2} {} ({share:.3} of the driver, limit {limit})",
        format!("odm.{task}"),
        "instructions",
        odm.instructions,
        driver.instructions * limit,
        if holds { "ok" } else { "EXCEEDED" },
    );
    holds
}

/// Prints the counts and their limits.
fn compare(ceiling: &Ceiling, counts: &Counts) -> bool {
    let kinds = [
        ("instructions", counts.instructions, ceiling.instructions),
        ("allocations", counts.allocations, ceiling.allocations),
    ];
    let mut holds = true;
    for (kind, reached, ceiling_of) in kinds {
        let exceeded = reached > ceiling_of;
        let result = if exceeded { "EXCEEDED" } else { "ok" };
        println!(
            "{:<28} {kind:<12} {reached:>14.2} of {ceiling_of:>14.2} {result}",
            ceiling.case
        );
        holds &= !exceeded;
    }
    holds
}

/// Parses the file. It contains only tables of two numbers.
fn parse(text: &str) -> Result<Vec<Ceiling>, Failure> {
    let mut ceilings: Vec<Ceiling> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let refuse = || format!("ceilings.toml, line {}: {line}", number + 1);
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(case) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            ceilings.push(Ceiling {
                case: case.to_owned(),
                instructions: f64::NAN,
                allocations: f64::NAN,
            });
            continue;
        }
        let (key, value) = line.split_once('=').ok_or_else(refuse)?;
        let value = value.trim().replace('_', "").parse().map_err(|_| refuse())?;
        let ceiling = ceilings.last_mut().ok_or_else(refuse)?;
        match key.trim() {
            "instructions" => ceiling.instructions = value,
            "allocations" => ceiling.allocations = value,
            _ => return Err(refuse().into()),
        }
    }
    match ceilings
        .iter()
        .find(|ceiling| ceiling.instructions.is_nan() || ceiling.allocations.is_nan())
    {
        Some(ceiling) => Err(format!(
            "ceilings.toml: [{}] requires `instructions` and `allocations`",
            ceiling.case
        )
        .into()),
        None => Ok(ceilings),
    }
}

fn written(reached: &[(String, Counts)], valgrind: &str) -> String {
    let rustc = Command::new("rustc").arg("--version").output();
    let rustc = rustc.map_or_else(
        |_| String::new(),
        |output| String::from_utf8_lossy(&output.stdout).into_owned(),
    );
    let rustc = rustc.split(" (").next().unwrap_or_default().trim();
    let mut text = format!(
        "# Limits for user instructions and allocations per operation of the client: the measurement plus 5 %.\n\
         # One task, current-thread runtime, release profile. Counted with valgrind {valgrind} and {rustc}.\n\
         # `cargo run --release -p marula-bench -- check` compares the client with them; with `--write` it updates this file.\n"
    );
    for (case, counts) in reached {
        // Allocations are few, and integral except those that do not happen in every operation.
        let (instructions, allocations) = (
            (counts.instructions * MARGIN).ceil(),
            counts.allocations * MARGIN + 0.1,
        );
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\n[{case}]\ninstructions = {instructions}\nallocations = {allocations:.1}\n"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(instructions: f64, allocations: f64) -> Counts {
        Counts {
            instructions,
            allocations,
            ..Counts::default()
        }
    }

    #[test]
    fn a_written_file_can_be_parsed() {
        let text = written(&[("a.ping".into(), counts(1_000.0, 4.0))], "3");
        let ceiling = Ceiling {
            case: "a.ping".into(),
            instructions: 1_050.0,
            allocations: 4.3,
        };
        assert_eq!(parse(&text).unwrap(), [ceiling]);
    }

    #[test]
    fn ceilings_toml_has_every_case() {
        let ceilings = parse(include_str!("../../ceilings.toml")).unwrap();
        let named: Vec<String> = ceilings.into_iter().map(|ceiling| ceiling.case).collect();
        let expected = cases().flat_map(|(topology, task)| {
            let odm = BUILT.contains(&task).then(|| odm_case(task));
            odm.into_iter().chain([case(topology, task)])
        });
        assert_eq!(named, expected.collect::<Vec<_>>());
    }

    #[test]
    fn an_invalid_file_is_rejected() {
        let error = |text| parse(text).unwrap_err().to_string();
        assert_eq!(
            error("instructions = 1"),
            "ceilings.toml, line 1: instructions = 1"
        );
        assert_eq!(error("[a]\nspeed = 1"), "ceilings.toml, line 2: speed = 1");
        assert_eq!(
            error("[a]\ninstructions = 1"),
            "ceilings.toml: [a] requires `instructions` and `allocations`"
        );
    }

    #[test]
    fn the_odm_has_a_limit() {
        assert!(near(Task::FindOne, &counts(1_000.0, 4.0), &counts(1_000.0, 4.0)));
        assert!(!near(Task::FindOne, &counts(1_001.0, 4.0), &counts(1_000.0, 4.0)));
    }

    #[test]
    fn a_timeout_has_limits() {
        let reached = |instructions, timers| {
            let timed = Counts {
                timers,
                ..counts(1_000.0 + instructions, 5.0)
            };
            [
                ("standalone.find_one".to_owned(), counts(1_000.0, 4.0)),
                ("standalone.find_one_timeout".to_owned(), timed),
            ]
        };
        let costs_little =
            |instructions, timers| timeout_costs_little(&reached(instructions, timers)).unwrap();
        assert!(costs_little(1_500.0, 1.0));
        assert!(!costs_little(1_501.0, 1.0));
        assert!(!costs_little(1_500.0, 2.0));
        assert!(timeout_costs_little(&reached(0.0, 0.0)[..1]).is_err());
    }

    #[test]
    fn both_counts_have_limits() {
        let ceiling = Ceiling {
            case: "a".into(),
            instructions: 10.0,
            allocations: 2.0,
        };
        assert!(compare(&ceiling, &counts(10.0, 2.0)));
        assert!(!compare(&ceiling, &counts(10.5, 2.0)));
        assert!(!compare(&ceiling, &counts(10.0, 2.5)));
    }
}
