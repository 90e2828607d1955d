//! The errors of the analysis.

use std::fmt;

use bson::{Document, doc};

/// An error with the code and the message of mongocryptd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    code: i32,
    message: String,
}

pub(crate) type Analyzed<T = ()> = Result<T, Rejection>;

/// An error with this message.
pub(crate) fn reject<T>(message: impl Into<String>) -> Analyzed<T> {
    reject_with(51_092, message)
}

pub(crate) fn reject_with<T>(code: i32, message: impl Into<String>) -> Analyzed<T> {
    Err(Rejection {
        code,
        message: message.into(),
    })
}

impl Rejection {
    /// The code, as in the reply of a server.
    #[must_use]
    pub fn code(&self) -> i32 {
        self.code
    }

    /// The reply of mongocryptd.
    #[must_use]
    pub fn reply(self) -> Document {
        doc! { "ok": 0.0, "code": self.code, "codeName": format!("Location{}", self.code), "errmsg": self.message }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Rejection {}
