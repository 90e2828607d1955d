//! Counts and durations of calls, for the recorder of the crate `metrics`.

use std::time::Instant;

use super::Boxed;
use super::outcome::kind;
use crate::base::error::Result;

/// The labels of a call.
#[derive(Clone)]
pub(super) struct Meter {
    model: &'static str,
    operation: &'static str,
}

/// A call that is measured. A call without a result when it is dropped has the outcome `dropped`.
pub(crate) struct Running {
    meter: Meter,
    started: Instant,
    is_recorded: bool,
}

impl Meter {
    pub(super) fn new(model: &'static str, operation: &'static str) -> Self {
        Meter { model, operation }
    }

    pub(super) fn start(&self) -> Running {
        Running {
            meter: self.clone(),
            started: Instant::now(),
            is_recorded: false,
        }
    }

    /// Boxed, since the futures of applications would otherwise contain the call several times.
    pub(super) fn observe<'a, T: 'a>(
        self,
        future: impl Future<Output = Result<T>> + Send + 'a,
    ) -> Boxed<'a, T> {
        self.observe_boxed(Box::pin(future))
    }

    pub(super) fn observe_boxed<'a, T: 'a>(self, future: Boxed<'a, T>) -> Boxed<'a, T> {
        Box::pin(async move {
            let mut running = self.start();
            let result = future.await;
            running.end(&result);
            result
        })
    }
}

impl Running {
    pub(super) fn end<T>(&mut self, result: &Result<T>) {
        self.record(match result {
            Ok(_) => "ok",
            Err(error) => kind(error),
        });
    }

    fn record(&mut self, outcome: &'static str) {
        if std::mem::replace(&mut self.is_recorded, true) {
            return;
        }
        let Meter { model, operation } = self.meter;
        metrics::counter!(
            "marula_calls_total",
            "model" => model,
            "operation" => operation,
            "outcome" => outcome,
        )
        .increment(1);
        metrics::histogram!(
            "marula_call_duration_seconds",
            "model" => model,
            "operation" => operation,
        )
        .record(self.started.elapsed());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.record("dropped");
    }
}
