//! A `tracing` subscriber that records the spans of calls, and in which span each event occurs.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use tracing::field::{Field, Visit};
use tracing::subscriber::DefaultGuard;
use tracing::{Dispatch, Event, Level, Metadata, Subscriber, span};

/// A span, and what occurred in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorded {
    /// The target, the level and the name.
    pub(crate) metadata: String,
    /// The fields.
    pub(crate) fields: BTreeMap<&'static str, String>,
    /// The messages of events about commands inside of the span.
    pub(crate) messages: Vec<String>,
}

/// Records spans of calls on one thread. The runtimes of the tests have one thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spans(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    spans: Vec<Recorded>,
    entered: Vec<u64>,
}

/// A subscriber that no thread uses. While a process has only one subscriber, `tracing` asks only
/// the thread that reaches a span first whether it is enabled.
static SECOND: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(Spans::default()));

impl Spans {
    /// Records the spans of this thread until the guard is dropped.
    pub(crate) fn listen() -> (Self, DefaultGuard) {
        LazyLock::force(&SECOND);
        let spans = Self::default();
        let guard = tracing::subscriber::set_default(spans.clone());
        (spans, guard)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The recorded spans of calls, in the order in which they began.
    pub(crate) fn calls(&self) -> Vec<Recorded> {
        self.state().spans.clone()
    }

    /// The last span of this operation.
    pub(crate) fn last(&self, operation: &str) -> Recorded {
        let mut calls = self.calls();
        calls.retain(|call| call.fields.get("operation").is_some_and(|o| o == operation));
        calls.pop().unwrap_or_else(|| panic!("no span of {operation}"))
    }
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::DEBUG
    }

    fn new_span(&self, attributes: &span::Attributes<'_>) -> span::Id {
        let metadata = attributes.metadata();
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let mut state = self.state();
        state.spans.push(Recorded {
            metadata: format!("{} {} {}", metadata.target(), metadata.level(), metadata.name()),
            fields: fields.0,
            messages: Vec::new(),
        });
        span::Id::from_u64(state.spans.len() as u64)
    }

    fn record(&self, span: &span::Id, values: &span::Record<'_>) {
        let mut fields = Fields::default();
        values.record(&mut fields);
        let mut state = self.state();
        let index = span.into_u64() as usize - 1;
        state.spans[index].fields.append(&mut fields.0);
    }

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let mut state = self.state();
        let Some(id) = state.entered.last().copied() else {
            return;
        };
        let message = fields.0.remove("message").unwrap_or_default();
        let Some(command) = fields.0.remove("commandName") else {
            return;
        };
        state.spans[id as usize - 1]
            .messages
            .push(format!("{message}: {command}"));
    }

    fn enter(&self, span: &span::Id) {
        self.state().entered.push(span.into_u64());
    }

    fn exit(&self, _: &span::Id) {
        self.state().entered.pop();
    }
}

#[derive(Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}
