//! What the command line asks for.

use marula_bench_shared::harness::{Task, rule::Rule, task::Suite};

const USAGE: &str = "usage: suites [--quick] [--seconds N] [--only TEXT] [--official]
  --quick      at most three iterations or a second for each task, the largest tasks reduced
  --seconds N  at most a hundred iterations or N seconds for each task
  --only TEXT  the tasks whose names contain the text
  --official   beside the official driver
variables: BENCH_DATA_DIR, the folder with the specifications' archives; MONGODB_URI, a server to use";

/// The command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// A look instead of a measurement.
    pub quick: bool,
    /// How many seconds a task is measured for, where that is not as specified.
    pub seconds: Option<u64>,
    /// Part of the names of the tasks.
    pub only: Option<String>,
    /// With the official driver.
    pub official: bool,
}

impl Options {
    /// Reads the arguments.
    ///
    /// # Errors
    /// Says what is wrong, and how the program is used.
    pub fn parse(given: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut options = Self::default();
        let mut given = given.into_iter();
        while let Some(name) = given.next() {
            match name.as_str() {
                "--quick" => options.quick = true,
                "--official" => options.official = true,
                "--seconds" => {
                    let value = given.next().ok_or("--seconds has no value")?;
                    let number = value.parse().ok().filter(|seconds| *seconds > 0);
                    let number = number.ok_or(format!("--seconds needs a number above 0, not {value}"))?;
                    options.seconds = Some(number);
                }
                "--only" => options.only = Some(given.next().ok_or("--only has no value")?),
                other => return Err(format!("{other} is not understood\n{USAGE}")),
            }
        }
        if options.tasks().next().is_none() {
            return Err(format!(
                "no task has a name with {}",
                options.only.unwrap_or_default()
            ));
        }
        Ok(options)
    }

    /// How many iterations a task of the suite is measured for.
    #[must_use]
    pub fn rule(&self, suite: Suite) -> Rule {
        match self.seconds {
            Some(seconds) => Rule::seconds(seconds),
            None if self.quick => Rule::quick(),
            None => Rule::of(suite),
        }
    }

    /// The tasks that are asked for.
    pub fn tasks(&self) -> impl Iterator<Item = Task> {
        let wanted = |task: &Task| self.only.as_deref().is_none_or(|only| task.name().contains(only));
        Task::ALL.iter().copied().filter(wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn all_tasks_unless_some_are_named() {
        assert_eq!(parse("--quick").unwrap().tasks().count(), Task::ALL.len());
        let some = parse("--only deep_bson --official").unwrap();
        assert_eq!(
            some.tasks().collect::<Vec<_>>(),
            [Task::DeepEncode, Task::DeepDecode]
        );
        assert!(some.official && !some.quick);
    }

    #[test]
    fn iterations_are_as_asked_for() {
        let rule = |line| parse(line).unwrap().rule(Suite::Odm);
        assert_eq!(rule(""), Rule::of(Suite::Odm));
        assert_eq!(rule("--quick"), Rule::quick());
        assert_eq!(rule("--quick --seconds 7"), Rule::seconds(7));
    }

    #[test]
    fn wrong_arguments_are_refused() {
        assert!(
            parse("--fast")
                .unwrap_err()
                .starts_with("--fast is not understood\nusage:")
        );
        assert_eq!(parse("--seconds").unwrap_err(), "--seconds has no value");
        let error = parse("--seconds 0").unwrap_err();
        assert_eq!(error, "--seconds needs a number above 0, not 0");
        assert_eq!(parse("--only").unwrap_err(), "--only has no value");
        assert_eq!(parse("--only pong").unwrap_err(), "no task has a name with pong");
    }
}
