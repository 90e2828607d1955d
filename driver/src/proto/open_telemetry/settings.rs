//! Whether a client is traced ([OpenTelemetry], "Configuration").
//!
//! [OpenTelemetry]:
//! https://github.com/mongodb/specifications/blob/master/source/open-telemetry/open-telemetry.md

use crate::types::variables::Variables;

const ENABLED: &str = "OTEL_RUST_INSTRUMENTATION_MONGODB_ENABLED";
const QUERY_TEXT_MAX_LENGTH: &str = "OTEL_RUST_INSTRUMENTATION_MONGODB_QUERY_TEXT_MAX_LENGTH";

/// The settings of a client: its options, or else the environment variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TracingSettings {
    pub(crate) enabled: bool,
    /// The length in bytes after which `db.query.text` is truncated. 0: the attribute is absent.
    pub(crate) query_text_max_length: usize,
}

impl TracingSettings {
    /// `None` stands for an option that is not set.
    pub(crate) fn resolve(
        enabled: Option<bool>,
        query_text_max_length: Option<usize>,
        variables: Variables<'_>,
    ) -> Self {
        let is_on = |value: String| {
            ["1", "true", "yes"]
                .iter()
                .any(|on| on.eq_ignore_ascii_case(value.trim()))
        };
        let length = || variables(QUERY_TEXT_MAX_LENGTH)?.trim().parse().ok();
        Self {
            enabled: enabled.unwrap_or_else(|| variables(ENABLED).is_some_and(is_on)),
            query_text_max_length: query_text_max_length.or_else(length).unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(enabled: Option<bool>, length: Option<usize>, set: &[(&str, &str)]) -> (bool, usize) {
        let variable = |name: &str| {
            let (_, value) = set.iter().find(|(known, _)| *known == name)?;
            Some((*value).to_owned())
        };
        let settings = TracingSettings::resolve(enabled, length, &variable);
        (settings.enabled, settings.query_text_max_length)
    }

    #[test]
    fn options_take_precedence_over_variables() {
        assert_eq!(resolved(None, None, &[]), (false, 0));
        for (value, is_on) in [
            ("1", true),
            ("TRUE", true),
            ("Yes", true),
            ("0", false),
            ("on", false),
            ("", false),
        ] {
            assert_eq!(resolved(None, None, &[(ENABLED, value)]).0, is_on, "{value}");
        }
        let both = [(ENABLED, "true"), (QUERY_TEXT_MAX_LENGTH, "7")];
        assert_eq!(resolved(None, None, &both), (true, 7));
        assert_eq!(resolved(Some(false), Some(0), &both), (false, 0));
        assert_eq!(resolved(Some(true), Some(9), &[]), (true, 9));
        for value in ["-1", "many", "1.5"] {
            assert_eq!(resolved(None, None, &[(QUERY_TEXT_MAX_LENGTH, value)]).1, 0);
        }
    }
}
