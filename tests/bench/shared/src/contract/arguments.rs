//! The arguments of a client program.

use std::{fmt, str::FromStr};

/// A task: the operation to run. See the table in [`contract`](crate::contract).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "documented in the table of the module")]
pub enum Task {
    Ping,
    PingRaw,
    InsertOne,
    InsertOne27k,
    FindOne,
    FindOneTimeout,
    FindOneTwoFields,
    UpdateOne,
    FindOne27k,
    FindOneRawTweet,
    TransactionTwoInserts,
    Find10kOwned,
    Find10kBorrowed,
    Find10kRaw,
    Find10kTweetsDocument,
    Find10kTweetsRaw,
    Find10kRich,
    InsertMany10k,
    InsertMany10kRich,
    ChangeStream10k,
}

impl Task {
    /// All tasks, in the order of the tables.
    pub const ALL: [Self; 20] = [
        Self::Ping,
        Self::PingRaw,
        Self::InsertOne,
        Self::InsertOne27k,
        Self::FindOne,
        Self::FindOneTimeout,
        Self::FindOneTwoFields,
        Self::UpdateOne,
        Self::FindOne27k,
        Self::FindOneRawTweet,
        Self::TransactionTwoInserts,
        Self::Find10kOwned,
        Self::Find10kBorrowed,
        Self::Find10kRaw,
        Self::Find10kTweetsDocument,
        Self::Find10kTweetsRaw,
        Self::Find10kRich,
        Self::InsertMany10k,
        Self::InsertMany10kRich,
        Self::ChangeStream10k,
    ];

    /// The name in arguments.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ping => "ping",
            Self::PingRaw => "ping_raw",
            Self::InsertOne => "insert_one",
            Self::InsertOne27k => "insert_one_27k",
            Self::FindOne => "find_one",
            Self::FindOneTimeout => "find_one_timeout",
            Self::FindOneTwoFields => "find_one_two_fields",
            Self::UpdateOne => "update_one",
            Self::FindOne27k => "find_one_27k",
            Self::FindOneRawTweet => "find_one_raw_tweet",
            Self::TransactionTwoInserts => "transaction_two_inserts",
            Self::Find10kOwned => "find_10k_owned",
            Self::Find10kBorrowed => "find_10k_borrowed",
            Self::Find10kRaw => "find_10k_raw",
            Self::Find10kTweetsDocument => "find_10k_tweets_document",
            Self::Find10kTweetsRaw => "find_10k_tweets_raw",
            Self::Find10kRich => "find_10k_rich",
            Self::InsertMany10k => "insert_many_10k",
            Self::InsertMany10kRich => "insert_many_10k_rich",
            Self::ChangeStream10k => "change_stream_10k",
        }
    }

    /// Whether one operation moves 10,000 documents or events.
    #[must_use]
    pub const fn is_bulk(self) -> bool {
        matches!(
            self,
            Self::Find10kOwned
                | Self::Find10kBorrowed
                | Self::Find10kRaw
                | Self::Find10kTweetsDocument
                | Self::Find10kTweetsRaw
                | Self::Find10kRich
                | Self::InsertMany10k
                | Self::InsertMany10kRich
                | Self::ChangeStream10k
        )
    }

    /// Whether MongoDB supports it on replica sets and sharded clusters only.
    #[must_use]
    pub const fn requires_set(self) -> bool {
        matches!(self, Self::TransactionTwoInserts | Self::ChangeStream10k)
    }

    /// Whether only the programs of this project support it, which are compared with each other.
    #[must_use]
    pub const fn is_own(self) -> bool {
        matches!(
            self,
            Self::FindOneTimeout
                | Self::FindOneTwoFields
                | Self::UpdateOne
                | Self::FindOne27k
                | Self::Find10kRich
                | Self::InsertMany10kRich
        )
    }

    /// Number of warm-up operations of each concurrent task.
    #[must_use]
    pub const fn warm_up(self) -> u64 {
        if self.is_bulk() { 1 } else { 100 }
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Task {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|task| task.name() == name)
            .ok_or_else(|| format!("unknown task {name}"))
    }
}

/// The tokio runtime of a Rust program. Programs in C use threads and ignore it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runtime {
    /// One thread.
    Current,
    /// One worker for each core.
    Multi,
}

impl Runtime {
    /// The name in arguments.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Multi => "multi",
        }
    }
}

impl FromStr for Runtime {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "current" => Ok(Self::Current),
            "multi" => Ok(Self::Multi),
            _ => Err(format!("the runtime must be current or multi, found {name}")),
        }
    }
}

/// The arguments of a client program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments {
    /// The connection string.
    pub uri: String,
    /// The task.
    pub task: Task,
    /// Number of concurrent tasks.
    pub tasks: u64,
    /// The runtime.
    pub runtime: Runtime,
    /// Total number of operations.
    pub ops: u64,
}

/// Number of operations of concurrent task `n`, of a total of `ops`.
pub(crate) const fn part(ops: u64, tasks: u64, n: u64) -> u64 {
    ops / tasks + (n < ops % tasks) as u64
}

impl Arguments {
    /// Number of operations of concurrent task `n`.
    #[must_use]
    pub const fn share(&self, n: u64) -> u64 {
        part(self.ops, self.tasks, n)
    }

    /// Parses pairs of names and values. Every argument is required.
    ///
    /// # Errors
    /// A message that names the invalid or missing argument.
    pub fn parse(given: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let (mut uri, mut task, mut tasks, mut runtime, mut ops) = (None, None, None, None, None);
        let mut given = given.into_iter();
        while let Some(name) = given.next() {
            let value = given.next().ok_or_else(|| format!("{name} has no value"))?;
            let number = || match value.parse::<u64>() {
                Ok(number) if number > 0 => Ok(number),
                _ => Err(format!("{name} requires a number greater than 0, found {value}")),
            };
            match name.as_str() {
                "--task" => task = Some(value.parse()?),
                "--tasks" => tasks = Some(number()?),
                "--runtime" => runtime = Some(value.parse()?),
                "--ops" => ops = Some(number()?),
                "--uri" => uri = Some(value),
                _ => return Err(format!("unknown argument {name}")),
            }
        }
        Ok(Self {
            uri: uri.ok_or("--uri is missing")?,
            task: task.ok_or("--task is missing")?,
            tasks: tasks.ok_or("--tasks is missing")?,
            runtime: runtime.ok_or("--runtime is missing")?,
            ops: ops.ok_or("--ops is missing")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, String> {
        Arguments::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn all_arguments_are_parsed() {
        let read = parse("--uri mongodb://h --task find_one --tasks 8 --runtime multi --ops 100").unwrap();
        let expected = Arguments {
            uri: "mongodb://h".into(),
            task: Task::FindOne,
            tasks: 8,
            runtime: Runtime::Multi,
            ops: 100,
        };
        assert_eq!(read, expected);
    }

    #[test]
    fn invalid_arguments_are_rejected() {
        let error = |line| parse(line).unwrap_err();
        assert_eq!(error("--uri"), "--uri has no value");
        assert_eq!(
            error("--uri a --task ping --tasks 1 --runtime multi"),
            "--ops is missing"
        );
        assert_eq!(
            error("--ops 0"),
            "--ops requires a number greater than 0, found 0"
        );
        assert_eq!(error("--task pong"), "unknown task pong");
        assert_eq!(error("--colour red"), "unknown argument --colour");
    }

    #[test]
    fn operations_are_distributed_evenly() {
        assert_eq!([0, 1, 2].map(|n| part(8, 3, n)), [3, 3, 2]);
        assert_eq!([0, 1, 2].map(|n| part(2, 3, n)), [1, 1, 0]);
    }

    #[test]
    fn task_names_are_distinct() {
        for task in Task::ALL {
            assert_eq!(task.name().parse(), Ok(task));
        }
    }
}
