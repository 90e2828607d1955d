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
    Err(Rejection {
        code: 51_092,
        message: message.into(),
    })
}

impl Rejection {
    pub(super) fn reply(self) -> Document {
        doc! { "ok": 0.0, "code": self.code, "codeName": "Location51092", "errmsg": self.message }
    }
}
