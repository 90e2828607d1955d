//! Connection pool events, and their form in the test files.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use marula_driver::event::{EventListener, PoolEvent, PoolOptions};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

/// In expected events: any value that is present.
const ANY: i64 = 42;
/// The time to wait for an event. It is far longer than any event takes.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The events of a pool, in order.
#[derive(Default)]
pub(super) struct Events {
    events: Mutex<Vec<Value>>,
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
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `count` events satisfy `is_relevant`.
    pub(super) async fn wait(&self, count: usize, is_relevant: impl Fn(&str) -> bool) -> Result<(), String> {
        let arrived = async {
            loop {
                let more = self.more.notified();
                tokio::pin!(more);
                more.as_mut().enable();
                if self.is_relevant(&is_relevant).len() >= count {
                    return;
                }
                more.await;
            }
        };
        tokio::time::timeout(TIMEOUT, arrived)
            .await
            .map_err(|_| format!("timed out waiting for {count} events, received {:?}", self.lock()))
    }

    fn is_relevant(&self, is_relevant: impl Fn(&str) -> bool) -> Vec<Value> {
        let mut events = self.lock().clone();
        events.retain(|event| event["type"].as_str().is_some_and(&is_relevant));
        events
    }

    /// Compares the events, without the ignored types, with the expected ones.
    pub(super) async fn check(&self, expected: &[Value], ignored: &[String]) -> Result<(), String> {
        let is_relevant = |name: &str| !ignored.iter().any(|ignored| ignored == name);
        self.wait(expected.len(), is_relevant).await?;
        matches(&self.is_relevant(is_relevant), expected)
    }
}

/// The events must begin with the expected ones, in order. Later events are not checked.
fn matches(actual: &[Value], expected: &[Value]) -> Result<(), String> {
    for (index, expected) in expected.iter().enumerate() {
        let fits = actual.get(index).is_some_and(|actual| fits(actual, expected));
        if !fits {
            return Err(format!(
                "event {index}: expected {expected}, received {}",
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

/// An event under its name in the specification.
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
    fn order_type_and_values_are_compared() {
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
