//! DNS records as a seed list (Initial DNS Seedlist Discovery and Polling SRV Records for mongos Discovery specifications).
//!
//! [`SrvName`] knows what to ask for and which hosts may be in the answer, [`seeds`] makes a seed list of the first answer,
//! [`txt_options`] the default options, and [`SrvPolling`] decides what later answers change. Texts of errors name the host or
//! the record that is at fault.

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
pub use record::{SrvRecord, TxtRecord, seeds, txt_options};
