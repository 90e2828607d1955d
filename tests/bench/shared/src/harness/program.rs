//! A contestant's program: it does the phases of one task as it is told, and times the measured one.
//!
//! It is called with `--task NAME --units N --database NAME --data FOLDER` and, for tasks that need one, `--uri URI`. It says
//! `ready`, or `missing REASON` and ends. Then it reads the names of phases, one in a line, and answers each with `done`, or
//! `done NANOSECONDS` for the measured one, until its input ends. When something fails it says `failed REASON` and ends with
//! code 1; wrong arguments end it with code 2.

use std::{
    error::Error,
    fmt,
    future::Future,
    io::{self, BufRead, Write},
    path::PathBuf,
    pin::Pin,
    process::ExitCode,
    str::FromStr,
    time::Instant,
};

use crate::harness::{Data, Task};

/// Why something can't go on.
pub type Failure = Box<dyn Error + Send + Sync>;

/// A driver has no means for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing(
    /// Why.
    pub &'static str,
);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Error for Missing {}

/// What a phase of a task does.
pub type Doing<'a> = Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>>;

fn nothing<'a>() -> Doing<'a> {
    Box::pin(async { Ok(()) })
}

/// What a contestant does for a task, phase by phase. Only `run` is timed.
pub trait Body: Send {
    /// Once, first.
    fn setup(&mut self) -> Doing<'_> {
        nothing()
    }

    /// Before each iteration.
    fn before(&mut self) -> Doing<'_> {
        nothing()
    }

    /// The iteration.
    fn run(&mut self) -> Doing<'_>;

    /// After each iteration.
    fn after(&mut self) -> Doing<'_> {
        nothing()
    }

    /// Once, last.
    fn teardown(&mut self) -> Doing<'_> {
        nothing()
    }
}

/// A phase of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "as in Body")]
pub enum Phase {
    Setup,
    Before,
    Run,
    After,
    Teardown,
}

impl Phase {
    const ALL: [Self; 5] = [Self::Setup, Self::Before, Self::Run, Self::After, Self::Teardown];

    /// As the program is told.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::Before => "before",
            Self::Run => "run",
            Self::After => "after",
            Self::Teardown => "teardown",
        }
    }

    fn of(self, body: &mut dyn Body) -> Doing<'_> {
        match self {
            Self::Setup => body.setup(),
            Self::Before => body.before(),
            Self::Run => body.run(),
            Self::After => body.after(),
            Self::Teardown => body.teardown(),
        }
    }
}

impl FromStr for Phase {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let phase = Self::ALL.into_iter().find(|phase| phase.name() == name);
        phase.ok_or_else(|| format!("no phase is named {name}"))
    }
}

/// What a program is told to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The task.
    pub task: Task,
    /// How many units an iteration has.
    pub units: u64,
    /// The connection string, where the task needs a server.
    pub uri: Option<String>,
    /// The database to work in; it is dropped at both ends.
    pub database: String,
    /// The unpacked data.
    pub data: Data,
}

impl Assignment {
    /// As the arguments of a program.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = vec!["--task".to_owned(), self.task.to_string()];
        arguments.extend(["--units".to_owned(), self.units.to_string()]);
        arguments.extend(["--database".to_owned(), self.database.clone()]);
        arguments.extend(["--data".to_owned(), self.data.root().display().to_string()]);
        if let Some(uri) = &self.uri {
            arguments.extend(["--uri".to_owned(), uri.clone()]);
        }
        arguments
    }

    /// Reads the arguments of a program.
    ///
    /// # Errors
    /// Says which one is wrong or missing.
    pub fn parse(given: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let (mut task, mut units, mut uri, mut database, mut data) = (None, None, None, None, None);
        let mut given = given.into_iter();
        while let Some(name) = given.next() {
            let value = given.next().ok_or_else(|| format!("{name} has no value"))?;
            match name.as_str() {
                "--task" => task = Some(value.parse()?),
                "--units" => match value.parse::<u64>() {
                    Ok(number) if number > 0 => units = Some(number),
                    _ => return Err(format!("{name} needs a number above 0, not {value}")),
                },
                "--uri" => uri = Some(value),
                "--database" => database = Some(value),
                "--data" => data = Some(Data::new(PathBuf::from(value))),
                _ => return Err(format!("there is no argument {name}")),
            }
        }
        let task: Task = task.ok_or("--task is missing")?;
        if uri.is_none() && !task.is_codec_only() {
            return Err("--uri is missing".to_owned());
        }
        Ok(Self {
            task,
            units: units.ok_or("--units is missing")?,
            uri,
            database: database.ok_or("--database is missing")?,
            data: data.ok_or("--data is missing")?,
        })
    }

    /// The connection string.
    ///
    /// # Errors
    /// When the task needs no server, and none was named.
    pub fn uri(&self) -> Result<&str, Failure> {
        Ok(self.uri.as_deref().ok_or("--uri is missing")?)
    }
}

/// The whole program: `prepare` gives what the contestant does for its task.
pub fn serve<F>(prepare: impl FnOnce(Assignment) -> F) -> ExitCode
where
    F: Future<Output = Result<Box<dyn Body>, Failure>>,
{
    let assignment = match Assignment::parse(std::env::args().skip(1)) {
        Ok(assignment) => assignment,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    match obey(assignment, prepare, io::stdin().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Whoever reads the answers may be gone.
            let _ = answer(&format!("failed {}", one_line(&error.to_string())));
            ExitCode::FAILURE
        }
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn answer(line: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "{line}")?;
    output.flush()
}

fn obey<F>(
    assignment: Assignment,
    prepare: impl FnOnce(Assignment) -> F,
    orders: impl BufRead,
) -> Result<(), Failure>
where
    F: Future<Output = Result<Box<dyn Body>, Failure>>,
{
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut body = match runtime.block_on(prepare(assignment)) {
        Ok(body) => body,
        Err(error) if error.is::<Missing>() => {
            answer(&format!("missing {error}"))?;
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    answer("ready")?;
    for order in orders.lines() {
        let phase: Phase = order?.parse()?;
        let doing = phase.of(body.as_mut());
        let began = Instant::now();
        runtime.block_on(doing)?;
        let took = began.elapsed();
        match phase {
            Phase::Run => answer(&format!("done {}", took.as_nanos()))?,
            _ => answer("done")?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    fn parse(line: &str) -> Result<Assignment, String> {
        Assignment::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn arguments_are_read_as_they_were_written() {
        let assignment = Assignment {
            task: Task::FindMany,
            units: 7,
            uri: Some("mongodb://h".into()),
            database: "perftest".into(),
            data: Data::new("some/where".into()),
        };
        assert_eq!(Assignment::parse(assignment.arguments()), Ok(assignment));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = |line| parse(line).unwrap_err();
        assert_eq!(error("--task"), "--task has no value");
        assert_eq!(error("--task pong"), "no task is named pong");
        assert_eq!(error("--units 0"), "--units needs a number above 0, not 0");
        assert_eq!(error("--task find_many --units 1"), "--uri is missing");
        assert_eq!(error("--task flat_bson_encode"), "--units is missing");
        assert_eq!(error("--colour red"), "there is no argument --colour");
    }

    struct Recorder(Arc<Mutex<Vec<&'static str>>>);

    impl Recorder {
        fn record(&mut self, name: &'static str) -> Doing<'_> {
            self.0.lock().unwrap().push(name);
            nothing()
        }
    }

    impl Body for Recorder {
        fn setup(&mut self) -> Doing<'_> {
            self.record("setup")
        }

        fn run(&mut self) -> Doing<'_> {
            self.record("run")
        }

        fn teardown(&mut self) -> Doing<'_> {
            Box::pin(async { Err("no teardown".into()) })
        }
    }

    #[test]
    fn phases_are_done_as_ordered() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let assignment = parse("--task deep_bson_decode --units 1 --database d --data f").unwrap();
        let go = |orders: &'static str| {
            let seen = seen.clone();
            let prepare = async |_| Ok(Box::new(Recorder(seen)) as Box<dyn Body>);
            obey(assignment.clone(), prepare, orders.as_bytes())
        };
        go("setup\nbefore\nrun\nafter\nrun\n").unwrap();
        assert_eq!(*seen.lock().unwrap(), ["setup", "run", "run"]);
        assert_eq!(go("teardown\n").unwrap_err().to_string(), "no teardown");
        assert_eq!(go("dance\n").unwrap_err().to_string(), "no phase is named dance");
    }

    #[test]
    fn a_missing_means_is_no_failure() {
        let assignment = parse("--task deep_bson_decode --units 1 --database d --data f").unwrap();
        let prepare = async |_| Err(Missing("not there yet").into());
        assert!(obey(assignment, prepare, "run\n".as_bytes()).is_ok());
    }
}
