//! Environment variables of the process.

/// Looks up an environment variable by name.
pub(crate) type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The same, for code that outlives the call.
pub(crate) type SharedVariables = std::sync::Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The value of an environment variable of the process. `None` if it is not set, empty, or not
/// UTF-8.
pub(crate) fn process_variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
