//! Options of the client and of its operations.

mod client;
mod connection_string;
mod credential;
mod error;
#[cfg(feature = "internals")]
mod overrides;
mod proxy;
mod resolve;
mod tls;

pub use crate::types::{
    collation::Collation,
    compressor::Compressor,
    concern::{Acknowledgment, ReadConcern, ReadConcernLevel, WriteConcern},
    driver_info::DriverInfo,
    hint::Hint,
    read_preference::{ReadPreference, ReadPreferenceMode, TagSet},
    return_document::ReturnDocument,
    server_api::{ServerApi, ServerApiVersion},
};
pub(crate) use client::SrvOrigin;
pub use client::{ClientOptions, ServerMonitoringMode};
pub use credential::{AuthMechanism, Credential};
pub use proxy::Proxy;
pub use tls::TlsOptions;
