//! Options of the client and of its operations.

pub use crate::{
    operation::hint::Hint,
    types::{
        collation::Collation,
        concern::{Acknowledgment, ReadConcern, ReadConcernLevel, WriteConcern},
        read_preference::{ReadPreference, ReadPreferenceMode, TagSet},
    },
};
use crate::Result;
use std::time::Duration;
/// TEMPORARY
#[derive(Clone, Debug, Default)]
pub struct ClientOptions {
    /// x
    pub app_name: Option<String>,
    /// x
    pub connect_timeout: Duration,
    /// x
    pub socket_timeout: Option<Duration>,
    /// x
    pub retry_reads: bool,
    /// x
    pub retry_writes: bool,
    /// x
    pub default_database: Option<String>,
    /// x
    pub read_concern: ReadConcern,
    /// x
    pub write_concern: WriteConcern,
    /// x
    pub read_preference: ReadPreference,
}
impl ClientOptions {
    /// x
    pub fn parse(_: &str) -> Result<Self> { todo!() }
    pub(crate) fn validate(&self) -> Result<()> { todo!() }
    pub(crate) fn check_supported(&self) -> Result<()> { todo!() }
}
