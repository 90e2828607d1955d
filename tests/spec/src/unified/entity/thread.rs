//! Thread entities: tasks that run operations in order.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use marula_driver::bson::Document;
use tokio::{sync::mpsc, task::JoinHandle};

use crate::unified::{
    operation,
    run::TestRun,
    stop::{Step, failed},
};

/// The time limit of `waitForThread`.
const LIMIT: Duration = Duration::from_secs(10);

/// A task with a queue of operations.
#[derive(Debug)]
pub(crate) struct ThreadEntity {
    queue: Mutex<Option<mpsc::UnboundedSender<Document>>>,
    task: Mutex<Option<JoinHandle<Step>>>,
}

impl ThreadEntity {
    pub(super) fn new(run: &Arc<TestRun>) -> Self {
        let (queue, mut operations) = mpsc::unbounded_channel::<Document>();
        let run = Arc::clone(run);
        let task = tokio::spawn(async move {
            while let Some(operation) = operations.recv().await {
                operation::run_boxed(Arc::clone(&run), operation).await?;
            }
            Ok(())
        });
        Self {
            queue: Mutex::new(Some(queue)),
            task: Mutex::new(Some(task)),
        }
    }

    /// Queues an operation.
    pub(crate) fn run(&self, operation: Document) -> Step {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        match queue.as_ref().map(|queue| queue.send(operation)) {
            Some(Ok(())) => Ok(()),
            // The task has ended with an error, which `wait` returns.
            Some(Err(_)) => Ok(()),
            None => failed("the thread has already ended"),
        }
    }

    /// Waits until the queued operations have run, and returns the first error.
    pub(crate) async fn wait(&self) -> Step {
        drop(self.queue.lock().unwrap_or_else(PoisonError::into_inner).take());
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut task) = task else {
            return Ok(());
        };
        match tokio::time::timeout(LIMIT, &mut task).await {
            Ok(Ok(result)) => result.map_err(|stop| stop.within("on a thread")),
            Ok(Err(error)) => failed(format!("a thread panicked: {error}")),
            Err(_) => {
                task.abort();
                failed(format!("a thread did not end within {LIMIT:?}"))
            }
        }
    }
}
