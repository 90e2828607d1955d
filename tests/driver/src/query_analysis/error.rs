//! The errors of the analysis.

use marula_driver::bson::{Document, doc};

/// An error with the code and the message of mongocryptd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rejection {
    code: i32,
    message: String,
}

pub(super) type Analyzed<T = ()> = Result<T, Rejection>;

/// An error with this message.
pub(super) fn reject<T>(message: impl Into<String>) -> Analyzed<T> {
    reject_with(51_092, message)
}

pub(super) fn reject_with<T>(code: i32, message: impl Into<String>) -> Analyzed<T> {
    Err(Rejection {
        code,
        message: message.into(),
    })
}

impl Rejection {
    pub(super) fn reply(self) -> Document {
        doc! { "ok": 0.0, "code": self.code, "codeName": format!("Location{}", self.code), "errmsg": self.message }
    }
}
