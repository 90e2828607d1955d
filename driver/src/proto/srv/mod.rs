//! Seed lists from DNS records ([Initial DNS Seedlist Discovery], [Polling SRV Records for mongos
//! Discovery]).
//!
//! [`SrvName`] returns the names to query and verifies the hosts in the answer. [`seeds`] returns
//! the seed list of the first answer, [`txt_options`] the options of the TXT record, and
//! [`SrvPolling`] applies later answers.
//!
//! [Initial DNS Seedlist Discovery]:
//! https://github.com/mongodb/specifications/blob/master/source/initial-dns-seedlist-discovery/initial-dns-seedlist-discovery.md
//! [Polling SRV Records for mongos Discovery]:
//! https://github.com/mongodb/specifications/blob/master/source/polling-srv-records-for-mongos-discovery/polling-srv-records-for-mongos-discovery.md

mod choice;
mod error;
mod name;
mod polling;
mod record;
#[cfg(test)]
mod tests;

pub use choice::choose;
pub use error::{NameProblem, SrvError};
pub use name::SrvName;
pub use polling::{MIN_RESCAN_INTERVAL, SrvPolling};
pub use record::{Seeds, SrvRecord, TxtRecord, seeds, txt_options};
