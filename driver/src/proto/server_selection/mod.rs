//! Which servers may run an operation (Server Selection specification).

use crate::{ServerAddress, types::read_preference::ReadPreference};

/// Where an operation may run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Criteria<'a> {
    /// A server that takes writes.
    Writable,
    /// A server that this preference allows.
    Read(&'a ReadPreference),
    /// This server, whatever it is.
    Address(&'a ServerAddress),
}
