//! Parses a CMAP test file. Unknown keys are errors.

use std::time::Duration;

use serde_json::Value;

use crate::fields::Fields;

#[derive(Debug)]
pub(super) struct Test {
    pub(super) run_on: Vec<Requirement>,
    pub(super) fail_point: Option<Value>,
    pub(super) pool: PoolOptions,
    pub(super) operations: Vec<Operation>,
    pub(super) error: Option<ExpectedError>,
    pub(super) events: Vec<Value>,
    pub(super) ignore: Vec<String>,
}

/// The server requirements of an integration test.
#[derive(Debug, Default)]
pub(super) struct Requirement {
    pub(super) min_server_version: Option<String>,
    pub(super) max_server_version: Option<String>,
    pub(super) topologies: Option<Vec<String>>,
}

#[derive(Debug, Default)]
pub(super) struct PoolOptions {
    pub(super) max_pool_size: Option<u32>,
    pub(super) min_pool_size: Option<u32>,
    pub(super) max_connecting: Option<u32>,
    pub(super) max_idle_time: Option<Duration>,
    pub(super) wait_queue_timeout: Option<Duration>,
    /// In milliseconds; -1 means never.
    pub(super) background_interval: Option<i64>,
    pub(super) app_name: Option<String>,
}

#[derive(Clone, Debug)]
pub(super) struct Operation {
    /// `None`: the main thread.
    pub(super) thread: Option<String>,
    pub(super) step: Step,
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    Start(String),
    Wait(Duration),
    WaitForThread(String),
    WaitForEvent { event: String, count: usize },
    CheckOut { label: Option<String> },
    CheckIn { connection: String },
    Clear { interrupt: bool },
    Close,
    Ready,
}

#[derive(Debug)]
pub(super) struct ExpectedError {
    pub(super) kind: String,
}

pub(super) fn read(content: &Value) -> Result<Test, String> {
    let file = Fields::new("file", content)?;
    match file.count("version")? {
        Some(1) => {}
        other => return Err(format!("unsupported version {other:?}, expected 1")),
    }
    let style = file.need_text("style")?;
    file.need_text("description")?;
    let run_on = file
        .list("runOn")?
        .unwrap_or_default()
        .iter()
        .map(requirement)
        .collect::<Result<_, _>>()?;
    let fail_point = file.given("failPoint").cloned();
    match style {
        "unit" if fail_point.is_some() => return Err("failPoint in a unit test".to_owned()),
        "unit" | "integration" => {}
        other => return Err(format!("unknown style {other}")),
    }
    let pool = match file.object("poolOptions")? {
        Some(options) => pool_options(options)?,
        None => PoolOptions::default(),
    };
    let operations = file
        .need_list("operations")?
        .iter()
        .map(operation)
        .collect::<Result<_, _>>()?;
    let error = file.object("error")?.map(expected_error).transpose()?;
    let events = file.list("events")?.unwrap_or_default().to_vec();
    let ignore = file
        .list("ignore")?
        .unwrap_or_default()
        .iter()
        .map(|name| {
            name.as_str()
                .map(str::to_owned)
                .ok_or("ignore must contain strings".to_owned())
        })
        .collect::<Result<_, _>>()?;
    file.finish()?;
    Ok(Test {
        run_on,
        fail_point,
        pool,
        operations,
        error,
        events,
        ignore,
    })
}

fn requirement(value: &Value) -> Result<Requirement, String> {
    let fields = Fields::new("runOn", value)?;
    let own = |text: Option<&str>| text.map(str::to_owned);
    let topologies = fields.list("topology")?.map(|list| {
        list.iter()
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect()
    });
    let requirement = Requirement {
        min_server_version: own(fields.text("minServerVersion")?),
        max_server_version: own(fields.text("maxServerVersion")?),
        topologies,
    };
    fields.finish()?;
    Ok(requirement)
}

fn pool_options(fields: Fields<'_>) -> Result<PoolOptions, String> {
    let size = |key| -> Result<Option<u32>, String> {
        fields
            .count(key)?
            .map(|n| u32::try_from(n).map_err(|error| format!("{key}: {error}")))
            .transpose()
    };
    let time = |key| Ok::<_, String>(fields.count(key)?.map(Duration::from_millis));
    let options = PoolOptions {
        max_pool_size: size("maxPoolSize")?,
        min_pool_size: size("minPoolSize")?,
        max_connecting: size("maxConnecting")?,
        max_idle_time: time("maxIdleTimeMS")?,
        wait_queue_timeout: time("waitQueueTimeoutMS")?,
        background_interval: fields.integer("backgroundThreadIntervalMS")?,
        app_name: fields.text("appName")?.map(str::to_owned),
    };
    fields.finish()?;
    Ok(options)
}

fn operation(value: &Value) -> Result<Operation, String> {
    let fields = Fields::new("operation", value)?;
    let step = match fields.need_text("name")? {
        "start" => Step::Start(fields.need_text("target")?.to_owned()),
        "wait" => Step::Wait(Duration::from_millis(
            fields.count("ms")?.ok_or("wait requires ms")?,
        )),
        "waitForThread" => Step::WaitForThread(fields.need_text("target")?.to_owned()),
        "waitForEvent" => {
            // The timeout is not used: the time to an event depends on the machine.
            fields.count("timeout")?;
            let count = fields.count("count")?.ok_or("waitForEvent requires count")?;
            Step::WaitForEvent {
                event: fields.need_text("event")?.to_owned(),
                count: usize::try_from(count).map_err(|error| error.to_string())?,
            }
        }
        "checkOut" => Step::CheckOut {
            label: fields.text("label")?.map(str::to_owned),
        },
        "checkIn" => Step::CheckIn {
            connection: fields.need_text("connection")?.to_owned(),
        },
        "clear" => Step::Clear {
            interrupt: fields.flag("interruptInUseConnections")?.unwrap_or_default(),
        },
        "close" => Step::Close,
        "ready" => Step::Ready,
        other => return Err(format!("unknown operation {other}")),
    };
    let operation = Operation {
        thread: fields.text("thread")?.map(str::to_owned),
        step,
    };
    fields.finish()?;
    Ok(operation)
}

fn expected_error(fields: Fields<'_>) -> Result<ExpectedError, String> {
    let error = ExpectedError {
        kind: fields.need_text("type")?.to_owned(),
    };
    // Messages differ between drivers, addresses between runs.
    fields.text("message")?;
    fields.get("address");
    fields.finish()?;
    Ok(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn unknown_keys_and_values_are_rejected() {
        let test = json!({ "version": 1, "style": "unit", "description": "d", "poolOptions": { "maxPoolSize": 1 },
            "operations": [{ "name": "checkOut", "label": "c", "thread": "t" }], "events": [], "ignore": [] });
        assert!(read(&test).is_ok());
        for (place, value) in [
            ("/version", json!(2)),
            ("/style", json!("other")),
            ("/operations/0/name", json!("sleep")),
            ("/operations/0", json!({ "name": "close", "connection": "c" })),
            ("/poolOptions", json!({ "maxSize": 1 })),
            ("/poolOptions/maxPoolSize", json!(-1)),
            ("/ignore", json!([1])),
        ] {
            let mut test = test.clone();
            *test.pointer_mut(place).unwrap() = value;
            assert!(read(&test).is_err(), "{place}");
        }
    }
}
