//! The first exchange on every connection (MongoDB Handshake specification).

mod metadata;

pub use metadata::client_metadata;

use crate::{
    Result,
    bson::{RawDocument, RawDocumentBuf, from_slice},
    error::{CommandError, Error, ErrorKind},
    proto::{command::CommandBuilder, description::HelloReply},
};

/// The versions of the wire protocol that this driver speaks: servers 4.2 to the newest known.
pub const MIN_WIRE_VERSION: i32 = 8;
/// See [`MIN_WIRE_VERSION`].
pub const MAX_WIRE_VERSION: i32 = 29;

/// What is wrong with a reply without `serviceId` in load-balanced mode, in the words of the specification.
pub const NO_SERVICE_ID: &str =
    "Driver attempted to initialize in load balancing mode, but the server does not support this mode.";

/// Writes the body of the first hello of a connection into `command`.
///
/// The legacy spelling is used, since a server that knows `hello` says so in its reply to it. What is behind a load
/// balancer knows it.
pub fn first_hello(command: &mut CommandBuilder<'_>, metadata: &RawDocument, load_balanced: bool) {
    command.i32(if load_balanced { "hello" } else { "isMaster" }, 1);
    command.bool("helloOk", true);
    if load_balanced {
        command.bool("loadBalanced", true);
    }
    command.document("client", metadata);
}

/// Writes the body of a later hello, as monitors send it.
pub fn hello(command: &mut CommandBuilder<'_>, hello_ok: bool) {
    command.i32(if hello_ok { "hello" } else { "isMaster" }, 1);
    if !hello_ok {
        command.bool("helloOk", true);
    }
}

/// Reads the reply to either.
pub fn parse_hello(body: &[u8]) -> Result<HelloReply> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    #[derive(Default)]
    struct Outcome {
        ok: f64,
        code: i32,
        code_name: String,
        errmsg: String,
    }
    let outcome: Outcome = from_slice(body)?;
    if outcome.ok != 1.0 {
        let error = Error::new(ErrorKind::Command(CommandError {
            code: outcome.code,
            code_name: outcome.code_name,
            message: outcome.errmsg,
        }));
        return Err(match RawDocumentBuf::from_bytes(body.to_vec()) {
            Ok(response) => error.with_response(&response),
            Err(_) => error,
        });
    }
    Ok(from_slice(body)?)
}
