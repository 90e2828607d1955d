//! The errors in the reply with `ok: 1` to a command without statements, such as `findAndModify`.

use crate::{
    Error, ErrorKind, Result,
    error::WriteFailure,
    proto::command::{Reply, single_write_error, write_concern_error},
};

/// Returns the error in the reply to a `findAndModify` with `ok: 1`, if there is one.
pub(crate) fn check_single(reply: &Reply<'_>) -> Result<()> {
    if !reply.has_write_failures() {
        return Ok(());
    }
    let failure = WriteFailure {
        write_error: single_write_error(reply).map_err(|error| reply.annotate(error))?,
        write_concern_error: write_concern_error(reply),
    };
    if failure == WriteFailure::default() {
        return Ok(());
    }
    Err(reply.annotate(Error::new(ErrorKind::Write(failure))))
}
