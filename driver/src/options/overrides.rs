//! Values of a client that tests replace through `internals`.

/// Replacements for random values and for logging.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Overrides {
    /// The random factor of the backoff before retries.
    pub(crate) jitter: Option<f64>,
    /// The field `clientTag` of each log message.
    pub(crate) log_tag: Option<String>,
}
