//! The tokio runtime of one server instance. It has its own threads, so the server neither depends
//! on the caller's runtime nor uses its threads.

use std::io;
use tokio::runtime::{Builder, Handle, Runtime};

/// The owner of the runtime. Dropping it shuts the runtime down without blocking, so that a server
/// can be dropped in asynchronous code.
#[derive(Debug)]
pub(crate) struct ServerRuntime(Option<Runtime>);

impl ServerRuntime {
    /// Starts a runtime with two threads. The handle spawns tasks on it.
    ///
    /// # Errors
    /// The operating system created no thread or I/O driver.
    pub(crate) fn new() -> io::Result<(ServerRuntime, Handle)> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("marula-test-server")
            // Filters and expressions are evaluated recursively, up to the maximum nesting depth of
            // documents.
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
