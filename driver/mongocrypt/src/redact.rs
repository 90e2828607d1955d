//! Removes secrets from the messages of the library: values that are to be encrypted, and, by `kms_error`, responses of key
//! management services. An error may be logged, or exported with a span.

use crate::kms_error::described;

/// What is shown in place of a secret.
const HIDDEN: &str = "(not shown)";
/// The texts before a value of the application or a bound of its query, and the character after it.
const VALUES: [(&str, Option<char>); 6] = [
    (", value: ", None),
    ("Lower bound (", Some(')')),
    ("Upper bound (", Some(')')),
    ("Range min (", Some(')')),
    ("Range max (", Some(')')),
    ("range max (", Some(')')),
];
/// The start of a document in Extended JSON, e.g. of the expression of a query.
const DOCUMENT: &str = ": { \"";
/// A part of messages with a JSON document that has no values of the application.
const HARMLESS: &str = "AutoEncryptionOpts";

/// The message without secrets.
pub(crate) fn redacted(mut message: String) -> String {
    if let Some(described) = described(&message) {
        return described;
    }
    if !message.contains(HARMLESS)
        && let Some(position) = message.find(DOCUMENT)
    {
        message.truncate(position);
    }
    for (before, after) in VALUES {
        hide(&mut message, before, after);
    }
    message
}

/// Replaces what follows a text, until a character or the end.
fn hide(message: &mut String, before: &str, after: Option<char>) {
    let Some(start) = message.find(before).map(|position| position + before.len()) else {
        return;
    };
    let rest = message.get(start..).unwrap_or_default();
    let length = after.and_then(|after| rest.find(after)).unwrap_or(rest.len());
    message.replace_range(start..start + length, HIDDEN);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_keys_are_not_shown() {
        for (message, expected) in [
            (
                "Value must be greater than or equal to the minimum value, got min: 0, max: 10, value: 7182",
                "Value must be greater than or equal to the minimum value, got min: 0, max: 10, value: (not shown)",
            ),
            (
                "Lower bound (7182) must be less than or equal to the range maximum (10)",
                "Lower bound ((not shown)) must be less than or equal to the range maximum (10)",
            ),
            (
                "Upper bound (7.182) must be greater than the range minimum (10) if upper bound is excluded",
                "Upper bound ((not shown)) must be greater than the range minimum (10) if upper bound is excluded",
            ),
            (
                "Range min (7182) must be less than or equal to range max (7181) for range search",
                "Range min ((not shown)) must be less than or equal to range max ((not shown)) for range search",
            ),
            (
                "expected 2 elements in operand $gt, got 1: { \"0\" : \"7182\" }",
                "expected 2 elements in operand $gt, got 1",
            ),
            (
                "unexpected field mismatch. Expected all fields to be a, but got b: { \"$and\" : [ 7182 ] }",
                "unexpected field mismatch. Expected all fields to be a, but got b",
            ),
            (
                "unsupported operator: $mod: { \"$and\" : [ { \"a\" : { \"$mod\" : 7182 } } ] }",
                "unsupported operator: $mod",
            ),
            (
                "Error parsing JSON in KMS response. HTTP status=200. Response body=\n{\"Plaintext\": \"7182\"",
                "Error parsing JSON in KMS response. HTTP status=200. The response is not shown",
            ),
        ] {
            assert_eq!(redacted(message.to_owned()), expected);
            assert!(!expected.contains("718"), "{expected}");
        }
        for message in [
            "To ignore the JSON schema, add an empty entry to AutoEncryptionOpts.encryptedFieldsMap: { \"fields\": [] }",
            "HMAC validation failure",
            "",
        ] {
            assert_eq!(redacted(message.to_owned()), message);
        }
    }
}
