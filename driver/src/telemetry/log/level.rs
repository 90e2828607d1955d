//! Components, their levels, and the environment variables that limit them.

use crate::types::variables::Variables;

/// What messages are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Component {
    Command,
    Topology,
    ServerSelection,
    Connection,
}

impl Component {
    fn variable(self) -> &'static str {
        match self {
            Self::Command => "MONGODB_LOG_COMMAND",
            Self::Topology => "MONGODB_LOG_TOPOLOGY",
            Self::ServerSelection => "MONGODB_LOG_SERVER_SELECTION",
            Self::Connection => "MONGODB_LOG_CONNECTION",
        }
    }
}

/// How much is logged: the levels of `tracing`, and nothing at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Severity {
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl Severity {
    /// The specification's levels; a limit between two levels of `tracing` allows the more severe one.
    fn parse(text: &str) -> Option<Self> {
        Some(match text.to_ascii_lowercase().as_str() {
            "off" => Self::Off,
            "emergency" | "alert" | "critical" | "error" => Self::Error,
            "warn" | "notice" => Self::Warn,
            "info" => Self::Info,
            "debug" => Self::Debug,
            "trace" => Self::Trace,
            _ => return None,
        })
    }
}

/// The least severe level that the variables allow. Default: all. An unknown level is ignored.
pub(super) fn limit(variables: Variables<'_>, component: Component) -> Severity {
    let read = |name: &str| Severity::parse(&variables(name)?);
    read(component.variable())
        .or_else(|| read("MONGODB_LOG_ALL"))
        .unwrap_or(Severity::Trace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_of_the_component_counts_before_that_of_all() {
        let variables = |name: &str| {
            let value = match name {
                "MONGODB_LOG_ALL" => "Notice",
                "MONGODB_LOG_COMMAND" => "DEBUG",
                "MONGODB_LOG_TOPOLOGY" => "loud",
                "MONGODB_LOG_CONNECTION" => "off",
                _ => return None,
            };
            Some(value.to_owned())
        };
        assert_eq!(limit(&variables, Component::Command), Severity::Debug);
        assert_eq!(limit(&variables, Component::Topology), Severity::Warn);
        assert_eq!(limit(&variables, Component::ServerSelection), Severity::Warn);
        assert_eq!(limit(&variables, Component::Connection), Severity::Off);
        assert_eq!(limit(&|_| None, Component::Command), Severity::Trace);
    }
}
