//! The `tracing` subscriber of the process, which passes the driver's log messages to the
//! collectors of the clients.

use std::{
    collections::HashMap,
    fmt::Debug,
    sync::{
        Arc, LazyLock, Mutex, MutexGuard, Once, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
};

use marula_driver::bson::{Bson, Document};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
    subscriber::Interest,
};

use super::{COMPONENTS, Collector, Message};

static COLLECTORS: LazyLock<Mutex<HashMap<String, Weak<Collector>>>> = LazyLock::new(Mutex::default);
/// The number of collectors. With none, all log messages are disabled.
static COUNT: AtomicUsize = AtomicUsize::new(0);

fn collectors() -> MutexGuard<'static, HashMap<String, Weak<Collector>>> {
    COLLECTORS.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn register(collector: &Arc<Collector>) {
    static SUBSCRIBE: Once = Once::new();
    SUBSCRIBE.call_once(|| {
        tracing::subscriber::set_global_default(Dispatcher).expect("no other subscriber in this process");
    });
    let mut collectors = collectors();
    collectors.insert(collector.tag().to_owned(), Arc::downgrade(collector));
    COUNT.store(collectors.len(), Ordering::SeqCst);
}

pub(super) fn unregister(tag: &str) {
    let mut collectors = collectors();
    collectors.remove(tag);
    COUNT.store(collectors.len(), Ordering::SeqCst);
}

struct Dispatcher;

fn component(metadata: &Metadata<'_>) -> Option<&'static str> {
    let found = COMPONENTS
        .into_iter()
        .find(|(target, _)| *target == metadata.target());
    found.map(|(_, component)| component)
}

impl Subscriber for Dispatcher {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        match component(metadata) {
            Some(_) => Interest::sometimes(),
            None => Interest::never(),
        }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        COUNT.load(Ordering::SeqCst) > 0 && component(metadata).is_some()
    }

    fn event(&self, event: &Event<'_>) {
        let Some(component) = component(event.metadata()) else {
            return;
        };
        let mut data = Data(Document::new());
        event.record(&mut data);
        let Ok(tag) = data.0.get_str("clientTag") else {
            return;
        };
        let collector = collectors().get(tag).and_then(Weak::upgrade);
        if let Some(collector) = collector {
            data.0.remove("clientTag");
            collector.collect(Message {
                level: *event.metadata().level(),
                component,
                data: data.0,
            });
        }
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// The fields of a log message as a document.
struct Data(Document);

impl Visit for Data {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.insert(field.name(), value);
    }

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
