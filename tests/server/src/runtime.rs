//! The tokio runtime of one server instance. It is the server's own, so the server neither depends
//! on the caller's executor nor competes with it.

use std::io;
use tokio::runtime::{Builder, Handle, Runtime};

/// Owns the runtime; dropping it does not block, so that a server can be dropped in asynchronous
/// code.
#[derive(Debug)]
pub(crate) struct ServerRuntime(Option<Runtime>);

impl ServerRuntime {
    /// Returns the owner, and the handle to spawn tasks with.
    pub(crate) fn new() -> io::Result<(ServerRuntime, Handle)> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("marula-test-server")
            // Filters and expressions are evaluated recursively, as deep as documents may be
            // nested.
            .thread_stack_size(16 * 1024 * 1024)
            .enable_all()
            .build()?;
        let handle = runtime.handle().clone();
        Ok((ServerRuntime(Some(runtime)), handle))
    }
}

impl Drop for ServerRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
