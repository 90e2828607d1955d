//! The reasons why a test ends early.

use std::fmt;

use crate::case::Outcome;

/// The reason why a test ends early.
#[derive(Clone, Debug)]
pub(crate) enum Stop {
    /// An expectation was not met.
    Failed(String),
    /// The driver does not support this feature.
    Pending(String),
    /// The test is not applicable to the deployment.
    Skipped(String),
}

/// The result of a step of a test.
pub(crate) type Step<T = ()> = Result<T, Stop>;

impl Stop {
    /// Prefixes the message of a failure.
    pub(crate) fn within(self, place: impl fmt::Display) -> Self {
        match self {
            Self::Failed(message) => Self::Failed(format!("{place}: {message}")),
            other => other,
        }
    }

    pub(crate) fn into_outcome(self) -> Outcome {
        match self {
            Self::Failed(message) => Outcome::Failed(message),
            Self::Pending(what) => Outcome::Pending(what),
            Self::Skipped(why) => Outcome::Skipped(why),
        }
    }
}

/// Returns a failure with this message.
pub(crate) fn failed<T>(message: impl Into<String>) -> Step<T> {
    Err(Stop::Failed(message.into()))
}

impl From<String> for Stop {
    fn from(message: String) -> Self {
        Self::Failed(message)
    }
}
