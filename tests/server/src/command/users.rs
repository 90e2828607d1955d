//! Authentication commands of a server that has no users: they are checked, and then fail as for an unknown user.

use super::Call;
use crate::error::{Error, Result, code};
use bson::{Bson, Document, doc};

fn failed() -> Error {
    Error::new(code::AUTHENTICATION_FAILED, "Authentication failed.")
}

pub(crate) fn authenticate(call: &Call<'_>) -> Result<Document> {
    call.args().required_string("mechanism")?;
    Err(failed())
}

pub(crate) fn sasl_start(call: &Call<'_>) -> Result<Document> {
    call.args().required_string("mechanism")?;
    match call.body.get("payload") {
        Some(Bson::Binary(_) | Bson::String(_)) => Err(failed()),
        _ => Err(Error::new(
            code::AUTHENTICATION_FAILED,
            "saslStart needs a payload",
        )),
    }
}

pub(crate) fn sasl_continue(call: &Call<'_>) -> Result<Document> {
    call.args().required_integer("conversationId")?;
    Err(Error::new(code::PROTOCOL_ERROR, "No SASL session state found"))
}

pub(crate) fn get_nonce(call: &Call<'_>) -> Result<Document> {
    // Removed with the mechanism that used it.
    if call.deployment.version.at_least(6, 2) {
        return Err(Error::new(code::COMMAND_NOT_FOUND, "no such command: 'getnonce'"));
    }
    let bytes = bson::Uuid::new().bytes();
    let nonce: String = bytes[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(doc! { "nonce": nonce })
}

/// `createUser` and `updateUser`: checked, and then refused.
pub(crate) fn write_user(call: &Call<'_>) -> Result<Document> {
    let args = call.args();
    args.required_string(call.key)?;
    args.string("pwd")?;
    args.array("roles")?;
    Err(Error::not_served(call.name))
}
