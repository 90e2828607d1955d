//! Features that the driver does not support yet, and features that it omits deliberately.
//!
//! A test that requires an unsupported feature is pending, with the name given here. An operation
//! or argument that is neither listed here nor implemented by the runner is a failure.

/// The reason why an operation is omitted deliberately.
pub(crate) fn omitted_operation(name: &str) -> Option<&'static str> {
    Some(match name {
        "mapReduce" => "the deprecated helper mapReduce is omitted in favor of aggregate",
        "listDatabaseObjects" => "databases are listed as specifications or names, not as handles",
        "listCollectionObjects" => "collections are listed as specifications or names, not as handles",
        _ => return None,
    })
}

/// The reason why a connection string option is omitted deliberately.
pub(crate) fn omitted_uri_option(name: &str) -> Option<&'static str> {
    (name == "waitqueuesize").then_some(
        "waitQueueSize is deprecated: a driver that does not have it must not add it (Connection Monitoring and Pooling)",
    )
}
