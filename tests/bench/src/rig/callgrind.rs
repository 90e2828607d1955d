//! Counts of instructions and allocations, by valgrind's callgrind.
//!
//! A program is run twice with different numbers of operations; what differs is theirs, and start and end fall out. The server
//! takes its time for every reply, so that a client always has to wait and never finds the reply there already.

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
    contestants::{Contestant, append},
    server::{Server, Topology},
};

/// What the server of counted runs waits before each reply.
pub(super) const DELAY_US: u64 = 1_500;

/// What a run spent in user space.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Counts {
    pub(super) instructions: f64,
    /// Calls of the C library's allocating functions, which is where Rust's allocator goes, too.
    pub(super) allocations: f64,
    /// Instructions by the function that they are in.
    pub(super) functions: BTreeMap<String, f64>,
    /// Instructions by function, with those in what it calls. A function that calls itself has them more than once.
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

/// Valgrind's version, `None` when it is not installed.
pub(super) fn version() -> Option<String> {
    let output = Command::new("valgrind").arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().trim_start_matches("valgrind-").to_owned())
}

/// The arguments of the two runs of a count, and how many operations they differ by: one task on one thread. There are so many
/// operations that what monitors do now and then, and not in both runs alike, is little beside them.
pub(super) fn two_runs(
    server: &Server,
    topology: Topology,
    task: Task,
) -> Result<([Arguments; 2], f64), Failure> {
    let (few, many) = if task.is_bulk() { (1, 2) } else { (100, 1_600) };
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

/// What one operation of the task costs. `None` when the program has no means for it.
pub(super) fn per_operation(
    contestant: &Contestant,
    server: &Server,
    topology: Topology,
    task: Task,
    out: &Path,
) -> Result<Option<Counts>, Failure> {
    let ([few, many], operations) = two_runs(server, topology, task)?;
    let (Some(few), Some(many)) = (count(contestant, &few, out)?, count(contestant, &many, out)?) else {
        return Ok(None);
    };
    Ok(Some(many.minus(&few).over(operations)))
}

fn count(contestant: &Contestant, arguments: &Arguments, out: &Path) -> Result<Option<Counts>, Failure> {
    // Several may be counted at a time.
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let (process, number) = (std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let file = out.join(format!("callgrind.{}.{process}.{number}", contestant.role.name()));
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--quiet"]);
    command
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(&contestant.program);
    append(&mut command, arguments);
    let output = command.output()?;
    if contestant.accepted(&output)?.is_none() {
        return Ok(None);
    }
    let counts = Counts::parse(&fs::read_to_string(&file)?);
    fs::remove_file(&file)?;
    Ok(Some(counts?))
}

impl Counts {
    /// Reads the format that callgrind writes: `fn=` begins a function, `calls=` says how often the one named by the `cfn=`
    /// before is called and is followed by a line of what happens in there, other lines of two numbers are of the function's
    /// own. A name is written out once, behind its number.
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
                if ALLOCATING.contains(&called) {
                    counts.allocations += number(given.split_whitespace().next())?;
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
            return Err("callgrind has counted nothing".into());
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
        subtract(&mut self.functions, &other.functions);
        subtract(&mut self.inclusive, &other.inclusive);
        self
    }

    fn over(mut self, operations: f64) -> Self {
        self.instructions /= operations;
        self.allocations /= operations;
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

/// The name behind a number in brackets, or the one that was there before.
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
        .ok_or_else(|| "callgrind has written no number".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITTEN: &str = "# callgrind format\nversion: 1\nevents: Ir\nsummary: 170\n\n\
        fl=(1) a.rs\nfn=(1) main\n3 10\ncfn=(2) malloc\ncalls=4 0\n5 100\n+1 20\nfn=(2)\n0 100\n* 40\n";

    #[test]
    fn costs_and_calls_are_read() {
        let counts = Counts::parse(WRITTEN).unwrap();
        assert_eq!((counts.instructions, counts.allocations), (170.0, 4.0));
        assert_eq!(counts.functions["main"], 30.0);
        assert_eq!(counts.functions["malloc"], 140.0);
        assert_eq!(counts.inclusive["main"], 130.0);
        assert!(Counts::parse("events: Ir\n").is_err());
    }

    #[test]
    fn what_two_runs_share_falls_out() {
        let counts = Counts::parse(WRITTEN).unwrap();
        let twice = Counts::parse(&WRITTEN.replace("calls=4", "calls=8").replace("3 10", "3 30")).unwrap();
        let one = twice.minus(&counts).over(4.0);
        assert_eq!(
            (one.instructions, one.allocations, one.functions["main"]),
            (5.0, 1.0, 5.0)
        );
    }
}
