//! What tests replace in one client, through `internals`.

/// Values that take the place of random or shared ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Overrides {
    /// The random factor of the pauses before retries.
    pub(crate) jitter: Option<f64>,
    /// The field `clientTag` of each log message.
    pub(crate) log_tag: Option<String>,
}
