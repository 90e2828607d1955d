//! A `tracing` subscriber that records the log messages of one test.

use std::{
    fmt::Debug,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use marula_driver::bson::{Bson, Document};
use tracing::{
    Dispatch, Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

/// A recorded message.
#[derive(Clone, Debug)]
pub struct Message {
    /// The level of the message.
    pub level: Level,
    /// The target, which names the component.
    pub target: &'static str,
    /// The fields, including `message`.
    pub fields: Document,
}

/// Records the driver's messages of one thread, up to a level.
#[derive(Clone, Debug)]
pub struct Messages {
    level: Level,
    kept: Arc<Mutex<Vec<Message>>>,
}

impl Messages {
    /// Records the messages of this thread until the guard is dropped. The runtimes of the tests
    /// have one thread.
    #[must_use]
    pub fn listen(level: Level) -> (Self, tracing::subscriber::DefaultGuard) {
        LazyLock::force(&SECOND);
        let messages = Self {
            level,
            kept: Arc::default(),
        };
        let guard = tracing::subscriber::set_default(messages.clone());
        (messages, guard)
    }

    /// Removes and returns the recorded messages.
    #[must_use]
    pub fn take(&self) -> Vec<Message> {
        std::mem::take(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Removes all recorded messages, and returns the fields of the only one with this text about
    /// this command.
    ///
    /// # Panics
    /// If there is none, or more than one.
    #[must_use]
    pub fn only(&self, text: &str, command: &str) -> Document {
        let mut found: Vec<Document> = self.take().into_iter().map(|message| message.fields).collect();
        found.retain(|fields| {
            fields.get_str("message").ok() == Some(text)
                && fields.get_str("commandName").ok() == Some(command)
        });
        assert_eq!(found.len(), 1, "{text} of {command}: {found:?}");
        found.remove(0)
    }
}

/// A subscriber that no thread uses. While a process has only one subscriber, `tracing` asks only
/// the thread that reaches an event first whether the event is enabled, and a thread without a
/// subscriber would disable the event for all threads.
static SECOND: LazyLock<Dispatch> = LazyLock::new(|| {
    Dispatch::new(Messages {
        level: Level::TRACE,
        kept: Arc::default(),
    })
});

impl Subscriber for Messages {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("marula_driver::") && *metadata.level() <= self.level
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(Document::new());
        event.record(&mut fields);
        let message = Message {
            level: *event.metadata().level(),
            target: event.metadata().target(),
            fields: fields.0,
        };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(message);
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

struct Fields(Document);

impl Visit for Fields {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name(), value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        let value = i64::try_from(value).map_or(Bson::Double(value as f64), Bson::Int64);
        self.0.insert(field.name(), value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name(), value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}
