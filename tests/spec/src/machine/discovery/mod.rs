//! Server Discovery and Monitoring: applies hello replies and errors, and checks topology, pools
//! and events.

mod events;
mod outcome;
mod simulation;

use std::path::Path;

use marula_driver::{
    BulkWriteError, Error, ErrorKind,
    bson::{Document, RawDocumentBuf, append_document, from_extended_json},
    internals::{
        command::{Reply, write_concern_error, write_errors},
        errors, handshake,
        sdam::Phase,
    },
    options::ClientOptions,
};
use serde_json::Value;

use crate::{
    case::Case,
    fields::Fields,
    files,
    machine::{case_of_file, selection::description::address},
};
use simulation::Simulation;

/// Collects the cases, one per file.
pub fn collect(root: &Path) -> Vec<Case> {
    let mut cases = Vec::new();
    for folder in ["rs", "sharded", "single", "load-balanced", "errors", "monitoring"] {
        for file in files::below(root, &format!("server-discovery-and-monitoring/tests/{folder}")) {
            cases.push(case_of_file(root, "sdam", &file, check));
        }
    }
    cases
}

fn check(test: &Value) -> Result<(), String> {
    let test = Fields::new("test", test)?;
    test.text("description")?;
    let options = ClientOptions::parse(test.need_text("uri")?).map_err(|error| error.to_string())?;
    let phases = test.need_list("phases")?;
    test.finish()?;
    let mut simulation = Simulation::new(&options);
    for (index, phase) in phases.iter().enumerate() {
        run(&mut simulation, phase).map_err(|why| format!("phase {}: {why}", index + 1))?;
    }
    Ok(())
}

fn run(simulation: &mut Simulation, phase: &Value) -> Result<(), String> {
    let phase = Fields::new("phase", phase)?;
    phase.text("description")?;
    for response in phase.list("responses")?.unwrap_or_default() {
        respond(simulation, response)?;
    }
    for error in phase.list("applicationErrors")?.unwrap_or_default() {
        fail(simulation, &Fields::new("applicationErrors", error)?)?;
    }
    if let Some(outcome) = phase.object("outcome")? {
        outcome::check(simulation, outcome)?;
    }
    phase.finish()
}

/// Applies `[address, hello reply]`. An empty reply represents a network error.
fn respond(simulation: &mut Simulation, response: &Value) -> Result<(), String> {
    let (server, reply) = match response.as_array().map(Vec::as_slice) {
        Some([server, reply]) => (server.as_str().ok_or("the address must be a string")?, reply),
        _ => {
            return Err(format!("expected [address, reply], found {response}"));
        }
    };
    let server = address(server)?;
    let reply = document(reply)?;
    if reply.is_empty() {
        simulation.check_failed(&server, &errors::lost_connection());
        return Ok(());
    }
    match handshake::parse_hello(raw(&reply)?.as_bytes()) {
        Ok(hello) => simulation.check_succeeded(&server, hello),
        Err(error) => simulation.check_failed(&server, &error),
    }
    Ok(())
}

fn fail(simulation: &mut Simulation, fields: &Fields<'_>) -> Result<(), String> {
    let server = address(fields.need_text("address")?)?;
    let generation = fields.count("generation")?;
    // The version is ignored: the driver has no rules for servers older than 4.2.
    fields.count("maxWireVersion")?;
    let phase = match fields.need_text("when")? {
        "beforeHandshakeCompletes" => Phase::BeforeHandshakeCompletes,
        "afterHandshakeCompletes" => Phase::AfterHandshakeCompletes,
        other => return Err(format!("unknown value of when: {other}")),
    };
    let response = fields.given("response");
    let error = match (fields.need_text("type")?, response) {
        ("command", Some(response)) => command_error(response)?,
        ("network", None) => errors::lost_connection(),
        ("timeout", None) => errors::slow_reply(),
        (kind, response) => {
            return Err(format!(
                "unsupported error type {kind} with response {response:?}"
            ));
        }
    };
    let error = match phase {
        Phase::BeforeHandshakeCompletes => errors::while_establishing(error),
        Phase::AfterHandshakeCompletes => error,
    };
    fields.unknown()?;
    simulation.operation_failed(&server, generation, phase, &error);
    Ok(())
}

/// Creates the error of an operation from a reply.
fn command_error(response: &Value) -> Result<Error, String> {
    let body = raw(&document(response)?)?;
    let reply = Reply::scan(body.as_bytes()).map_err(|error| error.to_string())?;
    if let Some(error) = reply.command_error() {
        return Ok(error);
    }
    let mut failure = BulkWriteError::default();
    failure.write_errors = write_errors(&reply).map_err(|error| error.to_string())?;
    failure.write_concern_error = write_concern_error(&reply);
    if failure.write_errors.is_empty() && failure.write_concern_error.is_none() {
        return Err(format!("{response} is not an error"));
    }
    let error = errors::of_kind(ErrorKind::BulkWrite(Box::new(failure)));
    Ok(reply.annotate(error))
}

fn document(value: &Value) -> Result<Document, String> {
    from_extended_json(&value.to_string()).map_err(|error| error.to_string())
}

fn raw(document: &Document) -> Result<RawDocumentBuf, String> {
    let mut bytes = Vec::new();
    append_document(document, &mut bytes).map_err(|error| error.to_string())?;
    RawDocumentBuf::from_bytes(bytes).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
