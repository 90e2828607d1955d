//! Components, severities, and the environment variables that limit them (Logging, "Components" and
//! "Log Severity Levels").

use crate::types::variables::Variables;

/// A component of the Logging specification.
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

/// The most verbose level that is logged, or nothing.
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
    /// Parses a level of the specification. A level between two levels of `tracing` maps to the
    /// more severe one.
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

/// The least severe level that the variables allow. Default: all levels. An unknown level is
/// ignored.
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
    fn the_variable_of_the_component_takes_precedence() {
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
