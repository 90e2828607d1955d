//! The end of the runtime of the client.

use std::sync::{Arc, Weak};

use tokio::task::AbortHandle;

use super::shared::Shared;

/// Closes the deployment when it is dropped.
struct RuntimeEnd(Weak<Shared>);

impl Drop for RuntimeEnd {
    fn drop(&mut self) {
        if let Some(topology) = self.0.upgrade() {
            topology.end();
        }
    }
}

/// Starts a task that closes the deployment when its runtime is shut down: then no monitor finds a server, and the sockets do not
/// work, so that operations would wait for `serverSelectionTimeoutMS` without effect. The task is to be aborted when the
/// deployment is closed.
pub(super) fn watch(topology: &Arc<Shared>) -> AbortHandle {
    let end = RuntimeEnd(Arc::downgrade(topology));
    let watching = async move {
        let _end = end;
        std::future::pending::<()>().await;
    };
    topology.runtime.spawn(watching).abort_handle()
}
