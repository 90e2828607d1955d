//! The pool's events, and how a file states them.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use marula_driver::event::{EventListener, PoolEvent, PoolOptions};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

/// In expectations: any value, as long as there is one.
const ANY: i64 = 42;
/// So long nobody has to wait for an event that comes at all.
const PATIENCE: Duration = Duration::from_secs(60);

/// Everything a pool told, in order.
#[derive(Default)]
pub(super) struct Events {
    told: Mutex<Vec<Value>>,
    more: Notify,
}

impl Events {
    pub(super) fn listener(self: &Arc<Self>) -> EventListener<PoolEvent> {
        let own = Arc::clone(self);
        EventListener::new(move |event| {
            own.lock().push(to_json(event));
            own.more.notify_waiters();
        })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Value>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there are so many events that `of_interest` takes.
    pub(super) async fn wait(&self, count: usize, of_interest: impl Fn(&str) -> bool) -> Result<(), String> {
        let arrived = async {
            loop {
                let more = self.more.notified();
                tokio::pin!(more);
                more.as_mut().enable();
                if self.of_interest(&of_interest).len() >= count {
                    return;
                }
                more.await;
            }
        };
        tokio::time::timeout(PATIENCE, arrived)
            .await
            .map_err(|_| format!("waited in vain for {count} events; there were {:?}", self.lock()))
    }

    fn of_interest(&self, of_interest: impl Fn(&str) -> bool) -> Vec<Value> {
        let mut events = self.lock().clone();
        events.retain(|event| event["type"].as_str().is_some_and(&of_interest));
        events
    }

    /// Compares what was told, without the ignored types, with what the file expects.
    pub(super) async fn check(&self, expected: &[Value], ignored: &[String]) -> Result<(), String> {
        let of_interest = |name: &str| !ignored.iter().any(|ignored| ignored == name);
        self.wait(expected.len(), of_interest).await?;
        matches(&self.of_interest(of_interest), expected)
    }
}

/// The expected events must come first, in order. What the pool goes on to do is not theirs to say.
fn matches(actual: &[Value], expected: &[Value]) -> Result<(), String> {
    for (index, expected) in expected.iter().enumerate() {
        let fits = actual.get(index).is_some_and(|actual| fits(actual, expected));
        if !fits {
            return Err(format!(
                "event {index} should be {expected}; events were {}",
                Value::from(actual.to_vec())
            ));
        }
    }
    Ok(())
}

fn fits(actual: &Value, expected: &Value) -> bool {
    match (actual, expected) {
        (actual, Value::Number(number)) if number.as_i64() == Some(ANY) => !actual.is_null(),
        (Value::Object(actual), Value::Object(expected)) => expected
            .iter()
            .all(|(key, value)| actual.get(key).is_some_and(|actual| fits(actual, value))),
        (actual, expected) => actual == expected,
    }
}

/// An event under the names of the specification.
fn to_json(event: &PoolEvent) -> Value {
    let mut fields = Map::new();
    fields.insert("address".to_owned(), json!(event.address().to_string()));
    let mut set = |key: &str, value: Value| {
        fields.insert(key.to_owned(), value);
    };
    let name = match event {
        PoolEvent::PoolCreated { options, .. } => {
            set("options", options_to_json(options));
            "ConnectionPoolCreated"
        }
        PoolEvent::PoolReady { .. } => "ConnectionPoolReady",
        PoolEvent::PoolCleared {
            service_id,
            interrupt_in_use_connections,
            ..
        } => {
            set("interruptInUseConnections", json!(interrupt_in_use_connections));
            if let Some(service) = service_id {
                set("serviceId", json!(service.to_hex()));
            }
            "ConnectionPoolCleared"
        }
        PoolEvent::PoolClosed { .. } => "ConnectionPoolClosed",
        PoolEvent::ConnectionCreated { connection_id, .. } => {
            set("connectionId", json!(connection_id));
            "ConnectionCreated"
        }
        PoolEvent::ConnectionReady {
            connection_id,
            duration,
            ..
        } => {
            set("connectionId", json!(connection_id));
            set("duration", json!(duration.as_secs_f64()));
            "ConnectionReady"
        }
        PoolEvent::ConnectionClosed {
            connection_id,
            reason,
            ..
        } => {
            set("connectionId", json!(connection_id));
            set("reason", json!(reason.to_string()));
            "ConnectionClosed"
        }
        PoolEvent::ConnectionCheckOutStarted { .. } => "ConnectionCheckOutStarted",
        PoolEvent::ConnectionCheckOutFailed { reason, duration, .. } => {
            set("reason", json!(reason.to_string()));
            set("duration", json!(duration.as_secs_f64()));
            "ConnectionCheckOutFailed"
        }
        PoolEvent::ConnectionCheckedOut {
            connection_id,
            duration,
            ..
        } => {
            set("connectionId", json!(connection_id));
            set("duration", json!(duration.as_secs_f64()));
            "ConnectionCheckedOut"
        }
        PoolEvent::ConnectionCheckedIn { connection_id, .. } => {
            set("connectionId", json!(connection_id));
            "ConnectionCheckedIn"
        }
        other => return json!({ "type": format!("{other:?}") }),
    };
    set("type", json!(name));
    Value::Object(fields)
}

fn options_to_json(options: &PoolOptions) -> Value {
    let millis =
        |time: Option<Duration>| time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    let mut fields = Map::new();
    for (key, value) in [
        ("maxPoolSize", options.max_pool_size.map(u64::from)),
        ("minPoolSize", options.min_pool_size.map(u64::from)),
        ("maxConnecting", options.max_connecting.map(u64::from)),
        ("maxIdleTimeMS", millis(options.max_idle_time)),
        ("waitQueueTimeoutMS", millis(options.wait_queue_timeout)),
    ] {
        if let Some(value) = value {
            fields.insert(key.to_owned(), json!(value));
        }
    }
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_kind_and_values_count() {
        let actual = [
            json!({ "type": "A", "connectionId": 1, "options": { "maxPoolSize": 5 } }),
            json!({ "type": "B", "reason": "stale" }),
        ];
        let ok = |expected: Value| matches(&actual, expected.as_array().unwrap()).is_ok();
        assert!(ok(json!([])));
        assert!(ok(json!([{ "type": "A" }])));
        assert!(ok(
            json!([{ "type": "A", "connectionId": 42 }, { "type": "B", "reason": "stale" }])
        ));
        assert!(ok(json!([{ "type": "A", "options": { "maxPoolSize": 5 } }])));
        assert!(!ok(json!([{ "type": "B" }, { "type": "A" }])));
        assert!(!ok(json!([{ "type": "A", "connectionId": 2 }])));
        assert!(!ok(json!([{ "type": "A", "options": { "maxPoolSize": 6 } }])));
        assert!(!ok(json!([{ "type": "A", "duration": 42 }])));
        assert!(!ok(json!([{ "type": "A" }, { "type": "B", "reason": "idle" }])));
        assert!(!ok(json!([{ "type": "A" }, { "type": "B" }, { "type": "B" }])));
    }
}
