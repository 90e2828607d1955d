//! The metadata that all connections of a client send, and that can grow while it runs.

use std::sync::Arc;

use crate::{
    Result,
    bson::RawDocumentBuf,
    proto::handshake::ClientMetadata,
    types::{driver_info::DriverInfo, lock::Inner},
};

/// Shared by a client and all that opens connections for it.
#[derive(Clone, Debug)]
pub struct SharedMetadata(Arc<Inner<ClientMetadata>>);

impl SharedMetadata {
    /// For connections made from now on. See [`ClientMetadata::append`].
    pub fn append(&self, info: DriverInfo) -> Result<()> {
        self.0.lock().append(info)
    }

    /// What a connection sends now.
    pub(super) fn document(&self) -> RawDocumentBuf {
        let metadata = self.0.lock();
        metadata.document().clone()
    }
}

impl From<ClientMetadata> for SharedMetadata {
    fn from(metadata: ClientMetadata) -> Self {
        Self(Arc::new(Inner::new(metadata)))
    }
}
