//! Options of the client and of its operations.

mod client;
mod credential;
mod tls;

pub use crate::{
    operation::hint::Hint,
    types::{
        collation::Collation,
        concern::{Acknowledgment, ReadConcern, ReadConcernLevel, WriteConcern},
        read_preference::{ReadPreference, ReadPreferenceMode, TagSet},
    },
};
pub use client::{ClientOptions, Compressor, Proxy, ServerMonitoringMode};
pub use credential::{AuthMechanism, Credential};
pub use tls::TlsOptions;
