//! The command line of `suites`.

use marula_bench_shared::harness::{Task, rule::Rule, task::Suite};

const USAGE: &str = "usage: suites [--quick] [--seconds N] [--only TEXT] [--official]
  --quick      at most 3 iterations or 1 second for each task, with the largest tasks reduced
  --seconds N  at most 100 iterations or N seconds for each task
  --only TEXT  only tasks whose names contain the text
  --official   also measure the official driver
environment: BENCH_DATA_DIR, the folder with the archives of the specifications; MONGODB_URI, the deployment to use";

/// The command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Few iterations, not sufficient for a measurement.
    pub quick: bool,
    /// Maximum duration of a task in seconds. Default: as specified.
    pub seconds: Option<u64>,
    /// Text that the names of the tasks must contain.
    pub only: Option<String>,
    /// Whether the official driver is measured.
    pub official: bool,
}

impl Options {
    /// Reads the arguments.
    ///
    /// # Errors
    /// A message for an invalid argument, with the usage.
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
                    let number = number.ok_or(format!(
                        "--seconds requires a number greater than 0, found {value}"
                    ))?;
                    options.seconds = Some(number);
                }
                "--only" => options.only = Some(given.next().ok_or("--only has no value")?),
                other => return Err(format!("unknown argument {other}\n{USAGE}")),
            }
        }
        if options.tasks().next().is_none() {
            return Err(format!(
                "no task name contains {}",
                options.only.unwrap_or_default()
            ));
        }
        Ok(options)
    }

    /// The rule for the number of iterations of a task of the suite.
    #[must_use]
    pub fn rule(&self, suite: Suite) -> Rule {
        match self.seconds {
            Some(seconds) => Rule::seconds(seconds),
            None if self.quick => Rule::quick(),
            None => Rule::of(suite),
        }
    }

    /// The selected tasks.
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
    fn all_tasks_are_selected_by_default() {
        assert_eq!(parse("--quick").unwrap().tasks().count(), Task::ALL.len());
        let some = parse("--only deep_bson --official").unwrap();
        assert_eq!(
            some.tasks().collect::<Vec<_>>(),
            [Task::DeepEncode, Task::DeepDecode]
        );
        assert!(some.official && !some.quick);
    }

    #[test]
    fn options_select_the_rule() {
        let rule = |line| parse(line).unwrap().rule(Suite::Odm);
        assert_eq!(rule(""), Rule::of(Suite::Odm));
        assert_eq!(rule("--quick"), Rule::quick());
        assert_eq!(rule("--quick --seconds 7"), Rule::seconds(7));
    }

    #[test]
    fn invalid_arguments_are_rejected() {
        assert!(
            parse("--fast")
                .unwrap_err()
                .starts_with("unknown argument --fast\nusage:")
        );
        assert_eq!(parse("--seconds").unwrap_err(), "--seconds has no value");
        let error = parse("--seconds 0").unwrap_err();
        assert_eq!(error, "--seconds requires a number greater than 0, found 0");
        assert_eq!(parse("--only").unwrap_err(), "--only has no value");
        assert_eq!(parse("--only pong").unwrap_err(), "no task name contains pong");
    }
}
