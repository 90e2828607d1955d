//! The handshake: the first `hello` on a connection ([MongoDB Handshake]).
//!
//! [MongoDB Handshake]:
//! https://github.com/mongodb/specifications/blob/master/source/mongodb-handshake/handshake.md

mod client_environment;
mod metadata;

use std::time::Duration;

pub use client_environment::ClientEnvironment;
pub use metadata::ClientMetadata;
#[cfg(any(test, feature = "internals"))]
pub use metadata::client_metadata;

use crate::{
    Result,
    bson::{IndexKey, RawDocument, RawDocumentBuf, find_element, from_slice},
    error::{CommandError, Error, ErrorKind},
    proto::{
        command::CommandBuilder,
        description::{HelloReply, ImplausibleFigure, TopologyVersion, detail},
    },
    types::{compressor::Compressor, server_api::ServerApi},
};

/// The minimum supported wire version: MongoDB 4.2.
pub const MIN_WIRE_VERSION: i32 = 8;
/// The maximum supported wire version: the latest one known when this version was released.
pub const MAX_WIRE_VERSION: i32 = 29;

/// The error if the hello reply has no `serviceId` in load-balanced mode. The text is that of the
/// specification (Load Balancer Support, "Connection Establishment").
pub const NO_SERVICE_ID: &str =
    "Driver attempted to initialize in load balancing mode, but the server does not support this mode.";

/// `backpressure`: the driver implements the Client Backpressure specification.
const BACKPRESSURE: &str = "2";

/// Writes the body of the first hello of a connection.
///
/// The legacy hello is used, with `helloOk`: the reply of a server that supports `hello` contains it,
/// too.
/// In load-balanced mode and with the Stable API, `hello` is used ("Connection handshake").
pub fn first_hello(
    command: &mut CommandBuilder<'_>,
    metadata: &RawDocument,
    load_balanced: bool,
    server_api: Option<ServerApi>,
    compressors: &[Compressor],
) {
    let modern = load_balanced || server_api.is_some();
    command.i32(if modern { "hello" } else { "isMaster" }, 1);
    command.bool("helloOk", true);
    if load_balanced {
        command.bool("loadBalanced", true);
    }
    command.str("backpressure", BACKPRESSURE);
    command.document("client", metadata);
    // Also sent if empty: the server's log then distinguishes clients without compressors from
    // drivers without support for compression.
    let array = command.begin_array("compression");
    for (index, compressor) in compressors.iter().enumerate() {
        command.str(IndexKey::new(index).as_str(), compressor.as_str());
    }
    command.end(array);
    if let Some(api) = server_api {
        command.server_api(api);
    }
}

/// Writes the body of a later hello of a monitor.
pub fn hello(command: &mut CommandBuilder<'_>, hello_ok: bool, server_api: Option<ServerApi>) {
    let modern = hello_ok || server_api.is_some();
    command.i32(if modern { "hello" } else { "isMaster" }, 1);
    if !modern {
        command.bool("helloOk", true);
    }
    if let Some(api) = server_api {
        command.server_api(api);
    }
}

/// Adds `topologyVersion` and `maxAwaitTimeMS`: the server replies when its state differs from
/// `known`, or after `limit` (Server Monitoring, "Streaming Protocol").
pub fn await_change(command: &mut CommandBuilder<'_>, known: TopologyVersion, limit: Duration) {
    let version = command.begin_document("topologyVersion");
    command.object_id("processId", known.process_id);
    command.i64("counter", known.counter);
    command.end(version);
    let millis = i64::try_from(limit.as_millis()).unwrap_or(i64::MAX);
    command.i64("maxAwaitTimeMS", millis);
}

/// The negotiated compressor: the first of `offered` that the hello reply lists. Invalid values are
/// ignored.
pub fn agreed_compressor(hello: &[u8], offered: &[Compressor]) -> Option<Compressor> {
    let list = find_element(hello, "compression").ok()??.value.array().ok()?;
    let mut agreed: Option<usize> = None;
    for name in list {
        let name = name.ok()?.value.str().ok()?;
        let place = offered.iter().position(|compressor| compressor.as_str() == name);
        agreed = match (agreed, place) {
            (Some(best), Some(place)) => Some(best.min(place)),
            (best, place) => best.or(place),
        };
    }
    offered.get(agreed?).copied()
}

/// Parses the reply to `hello` or legacy hello.
pub fn parse_hello(body: &[u8]) -> Result<HelloReply> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    #[derive(Default)]
    struct Outcome {
        ok: f64,
        #[serde(deserialize_with = "detail")]
        code: i32,
        #[serde(deserialize_with = "detail")]
        code_name: String,
        #[serde(deserialize_with = "detail")]
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
    let hello: HelloReply = from_slice(body)?;
    hello.check().map_err(|figure: ImplausibleFigure| {
        Error::invalid_reply(format!("the reply to hello is not plausible: {figure}"))
    })?;
    Ok(hello)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        bson::{decode_document, doc, rawdoc},
        types::server_api::ServerApiVersion,
    };

    #[test]
    fn an_awaitable_hello_has_a_topology_version() {
        let mut buffer = Vec::new();
        let mut command = CommandBuilder::new(&mut buffer);
        hello(&mut command, true, None);
        let known = TopologyVersion {
            process_id: crate::bson::ObjectId::from_bytes([3; 12]),
            counter: 5,
        };
        await_change(&mut command, known, Duration::from_secs(10));
        command.finish("admin").unwrap();
        let written = decode_document(&buffer).unwrap();
        assert_eq!(written.keys().next().unwrap(), "hello");
        let version = written.get_document("topologyVersion").unwrap();
        assert_eq!(version.get_object_id("processId").unwrap(), known.process_id);
        assert_eq!(version.get_i64("counter").unwrap(), 5);
        assert_eq!(written.get_i64("maxAwaitTimeMS").unwrap(), 10_000);
    }

    #[test]
    fn the_first_hello_contains_backpressure_and_load_balanced() {
        let written = |load_balanced, server_api| {
            let mut buffer = Vec::new();
            let mut command = CommandBuilder::new(&mut buffer);
            first_hello(
                &mut command,
                &rawdoc! { "driver": { "name": "x" } },
                load_balanced,
                server_api,
                &[Compressor::Zstd, Compressor::Snappy],
            );
            command.finish("admin").unwrap();
            decode_document(&buffer).unwrap()
        };
        let plain = written(false, None);
        assert_eq!(
            plain.get_array("compression").unwrap(),
            &["zstd".into(), "snappy".into()]
        );
        assert_eq!(plain.get_str("backpressure").unwrap(), "2");
        assert!(plain.contains_key("isMaster") && !plain.contains_key("loadBalanced"));
        let balanced = written(true, None);
        assert_eq!(balanced.keys().next().unwrap(), "hello");
        assert!(balanced.get_bool("loadBalanced").unwrap());
        assert_eq!(balanced.get_str("backpressure").unwrap(), "2");
        let api = ServerApi::new(ServerApiVersion::V1).with_strict(false);
        let declared = written(false, Some(api));
        assert_eq!(declared.keys().next().unwrap(), "hello");
        assert_eq!(declared.get_str("apiVersion").unwrap(), "1");
        assert!(!declared.get_bool("apiStrict").unwrap());
        assert!(!declared.contains_key("apiDeprecationErrors"));
    }

    #[test]
    fn the_clients_order_of_compressors_is_used() {
        let offered = [Compressor::Zlib, Compressor::Snappy];
        let agreed = |reply: RawDocumentBuf| agreed_compressor(reply.as_bytes(), &offered);
        assert_eq!(
            agreed(rawdoc! { "compression": ["snappy", "zlib"] }),
            Some(Compressor::Zlib)
        );
        assert_eq!(
            agreed(rawdoc! { "compression": ["zstd", "snappy"] }),
            Some(Compressor::Snappy)
        );
        assert_eq!(agreed(rawdoc! { "compression": ["zstd"] }), None);
        assert_eq!(agreed(rawdoc! { "compression": [] }), None);
        assert_eq!(agreed(rawdoc! { "compression": "snappy" }), None);
        assert_eq!(agreed(rawdoc! { "compression": [1] }), None);
        assert_eq!(agreed(rawdoc! { "ok": 1 }), None);
        assert_eq!(agreed_compressor(&[1, 2], &offered), None);
    }

    #[test]
    fn the_stable_api_does_not_use_legacy_hello() {
        let written = |hello_ok, server_api| {
            let mut buffer = Vec::new();
            let mut command = CommandBuilder::new(&mut buffer);
            hello(&mut command, hello_ok, server_api);
            command.finish("admin").unwrap();
            decode_document(&buffer).unwrap()
        };
        let api = ServerApi::new(ServerApiVersion::V1).with_deprecation_errors(true);
        assert_eq!(
            written(false, None),
            doc! { "isMaster": 1, "helloOk": true, "$db": "admin" }
        );
        assert_eq!(written(true, None), doc! { "hello": 1, "$db": "admin" });
        assert_eq!(
            written(false, Some(api)),
            doc! { "hello": 1, "apiVersion": "1", "apiDeprecationErrors": true, "$db": "admin" }
        );
    }
}
