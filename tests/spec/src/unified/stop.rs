//! Why a test ends before its end.

use std::fmt;

use crate::case::Outcome;

/// What ends a test early.
#[derive(Clone, Debug)]
pub(crate) enum Stop {
    /// Something is not as expected.
    Failed(String),
    /// The driver lacks this ability.
    Pending(String),
    /// The test cannot or should not run here.
    Skipped(String),
}

/// A step of a test.
pub(crate) type Step<T = ()> = Result<T, Stop>;

impl Stop {
    /// Puts words before the message of a failure.
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

/// A failure with this message.
pub(crate) fn failed<T>(message: impl Into<String>) -> Step<T> {
    Err(Stop::Failed(message.into()))
}

impl From<String> for Stop {
    fn from(message: String) -> Self {
        Self::Failed(message)
    }
}
