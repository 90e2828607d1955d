//! The records of a fully qualified name, from given name servers.

use std::{fmt, net::IpAddr};

use super::exchange;
use crate::{
    connection::{address_families::ask_for_both, dns::LookupError},
    proto::dns::{Answer, Kind, Lookup, Name, NameServers, Record},
};

/// The records of this type. `read` returns `None` for a record of another type.
pub(super) async fn records<T>(
    name: &Name,
    kind: Kind,
    servers: &NameServers,
    read: fn(Record) -> Option<T>,
) -> Result<Vec<T>, LookupError> {
    let random = exchange::random().map_err(|error| failed(name, kind, &error))?;
    let lookup = Lookup::new(name.clone(), kind, servers.clone(), random);
    match exchange::run(lookup).await {
        Ok(Answer::Records(records)) => Ok(records.into_iter().filter_map(read).collect()),
        Ok(Answer::NoRecords(code)) => Err(LookupError::NoRecords(format!(
            "the {kind} record {name} does not exist ({code})"
        ))),
        Err(error) => Err(failed(name, kind, &error)),
    }
}

/// The IPv6 and IPv4 addresses of a host, in this order.
pub(super) async fn addresses(host: &Name, servers: &NameServers) -> Result<Vec<IpAddr>, LookupError> {
    let ask = |kind| {
        records(host, kind, servers, |record| match record {
            Record::Address(address) => Some(address),
            _ => None,
        })
    };
    ask_for_both(&host.to_string(), ask(Kind::Aaaa), ask(Kind::A)).await
}

/// The error of a lookup without an answer.
pub(super) fn failed(name: &dyn fmt::Display, kind: Kind, error: &dyn fmt::Display) -> LookupError {
    LookupError::Failed(format!("the {kind} records {name} cannot be looked up: {error}"))
}

/// Parses a fully qualified name, with or without the final dot.
pub(super) fn parse_name(name: &str) -> Result<Name, LookupError> {
    Name::parse(name).map_err(|reason| LookupError::Failed(format!("{name} is not a domain name: {reason}")))
}
