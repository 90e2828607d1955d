//! Collects the log messages of one client.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use marula_driver::{bson::Document, internals::tag_logs, options::ClientOptions};
use tracing::Level;

use super::{Message, level, subscriber};
use crate::unified::stop::{Step, failed};

/// Longer than the documents of all tests.
const MAX_DOCUMENT_LENGTH: usize = 1_000_000;

/// The log messages of one client that the test observes.
#[derive(Debug)]
pub(crate) struct Collector {
    tag: String,
    /// Per component, the least severe level that is collected.
    levels: HashMap<String, Level>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    messages: Vec<Message>,
    closed: bool,
}

impl Collector {
    /// Creates a collector for `observeLogMessages` and configures the client's options for it.
    pub(crate) fn new(observed: &Document, options: &mut ClientOptions) -> Step<Arc<Self>> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let mut levels = HashMap::new();
        for (component, name) in observed {
            let Some(level) = name.as_str().and_then(level) else {
                return failed(format!("observeLogMessages.{component}: unknown level {name}"));
            };
            levels.insert(component.clone(), level);
        }
        let collector = Arc::new(Self {
            tag: format!("client {}", NEXT.fetch_add(1, Ordering::Relaxed)),
            levels,
            state: Mutex::default(),
        });
        // Tests parse the documents in log messages, so they must not be truncated.
        options.max_log_document_length = Some(MAX_DOCUMENT_LENGTH);
        tag_logs(options, &collector.tag);
        subscriber::register(&collector);
        Ok(collector)
    }

    pub(super) fn tag(&self) -> &str {
        &self.tag
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn collect(&self, message: Message) {
        let wanted = self.levels.get(message.component);
        let mut state = self.state();
        if !state.closed && wanted.is_some_and(|least| message.level <= *least) {
            state.messages.push(message);
        }
    }

    /// Stops collecting.
    pub(crate) fn close(&self) {
        self.state().closed = true;
    }

    /// Removes the messages about connections and the topology.
    pub(crate) fn remove_setup_messages(&self) {
        let about_setup = |message: &Message| matches!(message.component, "connection" | "topology");
        self.state().messages.retain(|message| !about_setup(message));
    }

    pub(super) fn messages(&self) -> Vec<Message> {
        self.state().messages.clone()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        subscriber::unregister(&self.tag);
    }
}
