//! Replaces `resolver` in builds without the feature `dns`.

use super::dns::{DnsLookup, Lookup, LookupError};
use crate::proto::srv::{SrvRecord, TxtRecord};

/// Fails to look up SRV and TXT records; looks up addresses by the system.
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
