//! Counts of instructions and allocations, by valgrind's callgrind.
//!
//! A client is run twice with different numbers of operations, and the counts are subtracted, so
//! that startup and shutdown are not included. The server delays every reply, so that a client
//! always waits for it.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::Path,
    process::Command,
    sync::atomic::{AtomicU64, Ordering},
};

use marula_bench_shared::contract::{Arguments, Runtime, Task};

use super::{
    Failure,
    clients::{BenchClient, append},
    server::{Server, Topology},
};

/// Delay of the server before each reply, in microseconds.
pub(super) const DELAY_US: u64 = 1_500;

/// The counts of a run, in user space.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Counts {
    pub(super) instructions: f64,
    /// Calls of the allocation functions of the C library, which Rust's allocator also calls.
    pub(super) allocations: f64,
    /// Timers that were set, at first or to another time.
    pub(super) timers: f64,
    /// Instructions by function, exclusive of the functions it calls.
    pub(super) functions: BTreeMap<String, f64>,
    /// Instructions by function, inclusive of the functions it calls. Recursive calls are counted
    /// more than once.
    pub(super) inclusive: BTreeMap<String, f64>,
}

const ALLOCATING: [&str; 6] = [
    "malloc",
    "calloc",
    "realloc",
    "posix_memalign",
    "aligned_alloc",
    "memalign",
];

/// Tokio's function that sets a timer.
const SETS_TIMER: &str = "::reregister";

/// The version of valgrind; `None` if it is not installed.
pub(super) fn version() -> Option<String> {
    let output = Command::new("valgrind").arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().trim_start_matches("valgrind-").to_owned())
}

/// The arguments of the two runs, and the difference of their numbers of operations: one task on
/// one thread. The short run of a small task already lasts longer than `minHeartbeatFrequencyMS`, so
/// that both contain the checks that monitors make after they have discovered the deployment. That of a bulk task has two
/// operations: the descriptions that discovery frees during the first make the C library merge the memory which that operation
/// has freed, which costs 5 million instructions after 10,000 documents.
pub(super) fn two_runs(
    server: &Server,
    topology: Topology,
    task: Task,
) -> Result<([Arguments; 2], f64), Failure> {
    let (few, many) = match task {
        task if task.is_bulk() => (2, 3),
        // Three commands each.
        Task::TransactionTwoInserts => (200, 700),
        _ => (500, 2_000),
    };
    let uri = server.uri(topology)?;
    let arguments = |ops| Arguments {
        uri: uri.clone(),
        task,
        tasks: 1,
        runtime: Runtime::Current,
        ops,
    };
    Ok(([arguments(few), arguments(many)], (many - few) as f64))
}

/// The counts of one operation of the task. `None` if the client does not support it.
pub(super) fn per_operation(
    client: &BenchClient,
    server: &Server,
    topology: Topology,
    task: Task,
    out: &Path,
) -> Result<Option<Counts>, Failure> {
    let ([few, many], operations) = two_runs(server, topology, task)?;
    let (Some(few), Some(many)) = (count(client, &few, out)?, count(client, &many, out)?) else {
        return Ok(None);
    };
    Ok(Some(many.minus(&few).over(operations)))
}

fn count(client: &BenchClient, arguments: &Arguments, out: &Path) -> Result<Option<Counts>, Failure> {
    // Several runs can be in progress.
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let (process, number) = (std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let file = out.join(format!("callgrind.{}.{process}.{number}", client.role.name()));
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--quiet"]);
    // With the default of 7, the path of an allocation depends on the order in which the memory of
    // the start was freed, which differs between runs by 2 % of the instructions of an operation.
    command.env("GLIBC_TUNABLES", "glibc.malloc.tcache_count=100");
    command
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(&client.program);
    append(&mut command, arguments);
    let output = command.output()?;
    if client.accepted(&output)?.is_none() {
        return Ok(None);
    }
    let counts = Counts::parse(&fs::read_to_string(&file)?);
    fs::remove_file(&file)?;
    Ok(Some(counts?))
}

impl Counts {
    /// Parses callgrind's output format: `fn=` starts a function; `calls=` is the number of calls
    /// of the preceding `cfn=`, and the next line has their inclusive cost; other lines of two
    /// numbers are costs of the function itself. A name is written once, after its number.
    fn parse(text: &str) -> Result<Self, Failure> {
        let mut counts = Self::default();
        let mut names: HashMap<&str, &str> = HashMap::new();
        let (mut own, mut called_cost): (HashMap<&str, f64>, HashMap<&str, f64>) = Default::default();
        let (mut function, mut called) = ("", "");
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if let Some(given) = line.strip_prefix("fn=") {
                function = resolve(given, &mut names);
            } else if let Some(given) = line.strip_prefix("cfn=") {
                called = resolve(given, &mut names);
            } else if let Some(given) = line.strip_prefix("calls=") {
                let calls = number(given.split_whitespace().next())?;
                if ALLOCATING.contains(&called) {
                    counts.allocations += calls;
                } else if called.ends_with(SETS_TIMER) {
                    counts.timers += calls;
                }
                let inside = number(lines.next().and_then(|line| line.split_whitespace().nth(1)))?;
                *called_cost.entry(function).or_default() += inside;
            } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
                let spent = number(line.split_whitespace().nth(1))?;
                counts.instructions += spent;
                *own.entry(function).or_default() += spent;
            }
        }
        if counts.instructions == 0.0 {
            return Err("the output of callgrind has no counts".into());
        }
        for (function, spent) in called_cost
            .into_iter()
            .chain(own.iter().map(|(name, spent)| (*name, *spent)))
        {
            *counts.inclusive.entry(function.to_owned()).or_default() += spent;
        }
        counts.functions = own
            .into_iter()
            .map(|(name, spent)| (name.to_owned(), spent))
            .collect();
        Ok(counts)
    }

    fn minus(mut self, other: &Self) -> Self {
        self.instructions -= other.instructions;
        self.allocations -= other.allocations;
        self.timers -= other.timers;
        subtract(&mut self.functions, &other.functions);
        subtract(&mut self.inclusive, &other.inclusive);
        self
    }

    fn over(mut self, operations: f64) -> Self {
        self.instructions /= operations;
        self.allocations /= operations;
        self.timers /= operations;
        for spent in self.functions.values_mut().chain(self.inclusive.values_mut()) {
            *spent /= operations;
        }
        self
    }
}

fn subtract(from: &mut BTreeMap<String, f64>, other: &BTreeMap<String, f64>) {
    for (function, spent) in other {
        *from.entry(function.clone()).or_default() -= spent;
    }
}

/// The name after a number in parentheses, or the name that an earlier line defines for the number.
fn resolve<'a>(given: &'a str, names: &mut HashMap<&'a str, &'a str>) -> &'a str {
    match given.split_once(' ') {
        Some((number, name)) => {
            names.insert(number, name);
            name
        }
        None => names.get(given).copied().unwrap_or(given),
    }
}

fn number(text: Option<&str>) -> Result<f64, Failure> {
    text.and_then(|text| text.parse().ok())
        .ok_or_else(|| "the output of callgrind has an invalid number".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITTEN: &str = "# callgrind format\nversion: 1\nevents: Ir\nsummary: 170\n\n\
        fl=(1) a.rs\nfn=(1) main\n3 10\ncfn=(2) malloc\ncalls=4 0\n5 100\n+1 20\nfn=(2)\n0 100\n* 40\n";

    #[test]
    fn costs_and_calls_are_parsed() {
        let counts = Counts::parse(WRITTEN).unwrap();
        assert_eq!((counts.instructions, counts.allocations), (170.0, 4.0));
        assert_eq!(counts.functions["main"], 30.0);
        assert_eq!(counts.functions["malloc"], 140.0);
        assert_eq!(counts.inclusive["main"], 130.0);
        assert!(Counts::parse("events: Ir\n").is_err());
    }

    #[test]
    fn timers_that_are_set_are_counted() {
        let written = WRITTEN.replace("malloc", "tokio::runtime::time::Handle::reregister");
        let counts = Counts::parse(&written).unwrap();
        assert_eq!((counts.timers, counts.allocations), (4.0, 0.0));
    }

    #[test]
    fn the_difference_of_two_runs_is_divided_by_the_operations() {
        let counts = Counts::parse(WRITTEN).unwrap();
        let twice = Counts::parse(&WRITTEN.replace("calls=4", "calls=8").replace("3 10", "3 30")).unwrap();
        let one = twice.minus(&counts).over(4.0);
        assert_eq!(
            (one.instructions, one.allocations, one.functions["main"]),
            (5.0, 1.0, 5.0)
        );
    }
}
