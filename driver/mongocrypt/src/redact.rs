//! Removes secrets from the messages of the library: values that are to be encrypted, and keys in responses of key management
//! services. An error may be logged, or exported with a span.

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
/// The parts of messages with a JSON document that has no values of the application.
const HARMLESS: [&str; 2] = [BODY, "AutoEncryptionOpts"];
/// The fields of error responses with the type of the error: of AWS, of Azure, of Google Cloud, of OAuth.
const ERROR_TYPES: [&str; 4] = ["\"__type\"", "\"code\"", "\"status\"", "\"error\""];
/// The fields with the message.
const MESSAGES: [&str; 3] = ["\"message\"", "\"Message\"", "\"error_description\""];
/// The text before the body of a response.
const BODY: &str = "Response body=";

/// The message without secrets.
pub(crate) fn redacted(mut message: String) -> String {
    if let Some(position) = message.find(BODY) {
        let kept = position + BODY.len();
        // A successful response contains a key.
        let is_success = message.contains("HTTP status=200");
        let body = message.get(kept..).filter(|_| !is_success);
        let described = body.map(described).unwrap_or_default();
        message.truncate(kept);
        message.push_str(if described.is_empty() { HIDDEN } else { &described });
    }
    if !HARMLESS.iter().any(|part| message.contains(part))
        && let Some(position) = message.find(DOCUMENT)
    {
        message.truncate(position);
    }
    for (before, after) in VALUES {
        hide(&mut message, before, after);
    }
    message
}

/// The type and the message of the error in the body of a response, such as `AccessDeniedException`. The rest of the body can
/// repeat the request, or contain a key; in the message, this is what does not look like a word.
fn described(body: &str) -> String {
    let value_of = |name: &str| {
        let (_, rest) = body.split_once(name)?;
        let rest = rest
            .trim_start()
            .strip_prefix(':')?
            .trim_start()
            .strip_prefix('"')?;
        let (value, _) = rest.split_once('"')?;
        Some(value)
    };
    let is_name = |value: &&str| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "_-.#".contains(c);
        let starts_as_one = value.starts_with(|c: char| c.is_ascii_alphabetic());
        starts_as_one && value.len() <= 80 && value.chars().all(is_part)
    };
    let types = ERROR_TYPES
        .into_iter()
        .filter_map(|name| value_of(name).filter(is_name));
    let mut parts: Vec<String> = types.map(str::to_owned).collect();
    parts.dedup();
    let message = MESSAGES.into_iter().find_map(value_of);
    parts.extend(message.map(words_of).filter(|words| !words.is_empty()));
    parts.join(": ")
}

/// The words of a message, at most 40.
fn words_of(message: &str) -> String {
    let is_word = |word: &str| {
        word.len() <= 30
            && word
                .chars()
                .all(|c| c.is_ascii_alphabetic() || ".,:;()'-".contains(c))
    };
    let words = message.split_whitespace().take(40);
    let shown = words.map(|word| if is_word(word) { word } else { HIDDEN });
    shown.collect::<Vec<_>>().join(" ")
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
                "Error parsing JSON in KMS response. HTTP status=200. Response body=(not shown)",
            ),
            (
                "Error in KMS response. HTTP status=400. Response body=\n{\"__type\": \"AccessDeniedException\", \"Message\": \"7182\"}",
                "Error in KMS response. HTTP status=400. Response body=AccessDeniedException: (not shown)",
            ),
            (
                "Error in KMS response. HTTP status=403. Response body=\n{\"error\": {\"code\":\"Forbidden\",\"message\":\"7182\"}}",
                "Error in KMS response. HTTP status=403. Response body=Forbidden: (not shown)",
            ),
            (
                "Error in KMS response. HTTP status=400. Response body=\n{ \"code\": 400, \"status\": \"INVALID_ARGUMENT\", \"x\": 7182 }",
                "Error in KMS response. HTTP status=400. Response body=INVALID_ARGUMENT",
            ),
            (
                "Error in KMS response. HTTP status=400. Response body=\n{\"message\": \"The key arn:aws:7182 is disabled.\"}",
                "Error in KMS response. HTTP status=400. Response body=The key (not shown) is disabled.",
            ),
            (
                "Error in KMS response. HTTP status=400. Response body=\n{ \"status\": \"the value 7182\" }",
                "Error in KMS response. HTTP status=400. Response body=(not shown)",
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
