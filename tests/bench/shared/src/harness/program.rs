//! The main function of a client program: runs the phases of one task on request, and measures one
//! of them.
//!
//! Arguments: `--task NAME --units N --database NAME --data FOLDER` and, for tasks that use a
//! server, `--uri URI`. The program prints `ready`, or `missing REASON` and exits if the driver
//! does not support the task. Then it reads the names of phases, one per line, and prints `done`
//! after each, or `done NANOSECONDS` after the measured one, until its input is closed. After an
//! error it prints `failed REASON` and exits with code 1; for invalid arguments it exits with
//! code 2.

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

/// The error of a benchmark program.
pub type Failure = Box<dyn Error + Send + Sync>;

/// The driver does not support a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing(
    /// The reason.
    pub &'static str,
);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Error for Missing {}

/// The future of a phase.
pub type PhaseFuture<'a> = Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>>;

fn nothing<'a>() -> PhaseFuture<'a> {
    Box::pin(async { Ok(()) })
}

/// The phases of a task. Only `run` is measured.
pub trait Body: Send {
    /// Runs once, before the iterations.
    fn setup(&mut self) -> PhaseFuture<'_> {
        nothing()
    }

    /// Runs before each iteration.
    fn before(&mut self) -> PhaseFuture<'_> {
        nothing()
    }

    /// The measured phase of an iteration.
    fn run(&mut self) -> PhaseFuture<'_>;

    /// Runs after each iteration.
    fn after(&mut self) -> PhaseFuture<'_> {
        nothing()
    }

    /// Runs once, after the iterations.
    fn teardown(&mut self) -> PhaseFuture<'_> {
        nothing()
    }
}

/// A phase of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "documented in Body")]
pub enum Phase {
    Setup,
    Before,
    Run,
    After,
    Teardown,
}

impl Phase {
    const ALL: [Self; 5] = [Self::Setup, Self::Before, Self::Run, Self::After, Self::Teardown];

    /// The name in the protocol.
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

    fn of(self, body: &mut dyn Body) -> PhaseFuture<'_> {
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
        phase.ok_or_else(|| format!("unknown phase {name}"))
    }
}

/// The arguments of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The task.
    pub task: Task,
    /// Number of units of an iteration.
    pub units: u64,
    /// The connection string, if the task uses a server.
    pub uri: Option<String>,
    /// The database. It is dropped before and after the task.
    pub database: String,
    /// The unpacked data.
    pub data: Data,
}

impl Assignment {
    /// Formats the arguments of a program.
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

    /// Parses the arguments of a program.
    ///
    /// # Errors
    /// A message that names the invalid or missing argument.
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
                _ => return Err(format!("unknown argument {name}")),
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
    /// If there is none, because the task uses no server.
    pub fn uri(&self) -> Result<&str, Failure> {
        Ok(self.uri.as_deref().ok_or("--uri is missing")?)
    }
}

/// The main function of a client program. `prepare` creates the phases of the task.
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
            // The reader of the output may have exited.
            let _ = respond(&format!("failed {}", one_line(&error.to_string())));
            ExitCode::FAILURE
        }
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn respond(line: &str) -> io::Result<()> {
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
            respond(&format!("missing {error}"))?;
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    respond("ready")?;
    for order in orders.lines() {
        let phase: Phase = order?.parse()?;
        let doing = phase.of(body.as_mut());
        let began = Instant::now();
        runtime.block_on(doing)?;
        let took = began.elapsed();
        match phase {
            Phase::Run => respond(&format!("done {}", took.as_nanos()))?,
            _ => respond("done")?,
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
    fn formatted_arguments_can_be_parsed() {
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
    fn invalid_arguments_are_rejected() {
        let error = |line| parse(line).unwrap_err();
        assert_eq!(error("--task"), "--task has no value");
        assert_eq!(error("--task pong"), "unknown task pong");
        assert_eq!(error("--units 0"), "--units needs a number above 0, not 0");
        assert_eq!(error("--task find_many --units 1"), "--uri is missing");
        assert_eq!(error("--task flat_bson_encode"), "--units is missing");
        assert_eq!(error("--colour red"), "unknown argument --colour");
    }

    struct Recorder(Arc<Mutex<Vec<&'static str>>>);

    impl Recorder {
        fn record(&mut self, name: &'static str) -> PhaseFuture<'_> {
            self.0.lock().unwrap().push(name);
            nothing()
        }
    }

    impl Body for Recorder {
        fn setup(&mut self) -> PhaseFuture<'_> {
            self.record("setup")
        }

        fn run(&mut self) -> PhaseFuture<'_> {
            self.record("run")
        }

        fn teardown(&mut self) -> PhaseFuture<'_> {
            Box::pin(async { Err("no teardown".into()) })
        }
    }

    #[test]
    fn phases_run_on_request() {
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
        assert_eq!(go("dance\n").unwrap_err().to_string(), "unknown phase dance");
    }

    #[test]
    fn an_unsupported_task_is_not_an_error() {
        let assignment = parse("--task deep_bson_decode --units 1 --database d --data f").unwrap();
        let prepare = async |_| Err(Missing("not supported").into());
        assert!(obey(assignment, prepare, "run\n".as_bytes()).is_ok());
    }
}
