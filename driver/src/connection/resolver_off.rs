//! In place of `resolver` where the driver is built without the feature `dns`.

use super::dns::{DnsLookup, Lookup, LookupError};
use crate::proto::srv::{SrvRecord, TxtRecord};

/// Asks nobody for SRV and TXT records, and the system alone for addresses.
#[derive(Clone, Debug, Default)]
pub struct Resolver {}

impl DnsLookup for Resolver {
    fn srv<'a>(&'a self, _: &'a str) -> Lookup<'a, SrvRecord> {
        Box::pin(std::future::ready(Err(refusal())))
    }

    fn txt<'a>(&'a self, _: &'a str) -> Lookup<'a, TxtRecord> {
        Box::pin(std::future::ready(Err(refusal())))
    }
}

fn refusal() -> LookupError {
    LookupError::Unavailable("mongodb+srv: marula-driver was built without its feature dns".into())
}
