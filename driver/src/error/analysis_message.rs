//! Messages of the analysis of commands, which can repeat values that are to be encrypted.

/// The most characters of a message.
const LONGEST_MESSAGE: usize = 400;
/// What surrounds the message of `crypt_shared` in that of libmongocrypt: `[crypt_shared 8.2.0] "analyze_query" failed: ` and
/// ` [Error 2, code 51092]`.
const BEFORE: &str = "failed: ";
const AFTER: &str = " [Error ";

/// As [`without_values`], for an error of `crypt_shared` that libmongocrypt reports.
pub(super) fn of_crypt_shared(message: &str) -> String {
    let around = message
        .find(BEFORE)
        .map(|at| at + BEFORE.len())
        .zip(message.rfind(AFTER));
    match around.and_then(|(start, end)| Some((start, message.get(start..end)?, end))) {
        Some((start, own, end)) => {
            let (before, after) = (&message[..start], &message[end..]);
            format!("{before}{}{after}", without_values(own))
        }
        None => without_values(message),
    }
}

/// A message that repeats no value of the command: neither documents, nor strings in double quotes, nor numbers.
pub(crate) fn without_values(message: &str) -> String {
    const HIDDEN: &str = "(not shown)";
    let mut shown = String::new();
    let mut rest = message;
    while let Some(first) = rest.chars().next() {
        let is_start = !shown.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.' || c == '$');
        if shown.chars().count() >= LONGEST_MESSAGE {
            shown.push('…');
            break;
        }
        if matches!(first, '{' | '[') {
            shown.push_str(HIDDEN);
            break;
        }
        let is_zero = |rest: &str| {
            let next = rest.chars().nth(1);
            first == '0' && !next.is_some_and(|c| c.is_alphanumeric() || c == '.')
        };
        let hidden = if first == '"' {
            Some(
                rest.get(1..)
                    .and_then(|text| text.find('"'))
                    .map_or(rest.len(), |end| end + 2),
            )
        } else if is_start && first.is_ascii_digit() && !is_zero(rest) {
            Some(
                rest.find(|c: char| !c.is_alphanumeric() && c != '.')
                    .unwrap_or(rest.len()),
            )
        } else {
            None
        };
        match hidden {
            Some(length) => {
                shown.push_str(HIDDEN);
                rest = rest.get(length..).unwrap_or_default();
            }
            None => {
                shown.push(first);
                rest = rest.get(first.len_utf8()..).unwrap_or_default();
            }
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_no_values() {
        for (message, expected) in [
            (
                "Invalid match expression operator on encrypted field 'ssn': $gt",
                "Invalid match expression operator on encrypted field 'ssn': $gt",
            ),
            (
                "unknown operator: { ssn: \"457\" }",
                "unknown operator: (not shown)",
            ),
            (
                "Value 7182.5 must be less than the range maximum",
                "Value (not shown) must be less than the range maximum",
            ),
            (
                "expected \"7182\" in address.0.street",
                "expected (not shown) in address.0.street",
            ),
            ("cannot supply Timestamp(0, 0)", "cannot supply Timestamp(0, 0)"),
            ("0.5 of 07", "(not shown) of (not shown)"),
            ("unfinished \"7182", "unfinished (not shown)"),
            ("ärger mit \"ä7182\" 5é", "ärger mit (not shown) (not shown)"),
        ] {
            assert_eq!(without_values(message), expected);
        }
        assert_eq!(
            without_values(&"x".repeat(1000)).chars().count(),
            LONGEST_MESSAGE + 1
        );
    }

    #[test]
    fn messages_of_crypt_shared_keep_their_codes() {
        for (message, expected) in [
            (
                "[crypt_shared 8.2.0] \"analyze_query\" failed: unknown operator: { ssn: \"457\" } [Error 2, code 7]",
                "[crypt_shared 8.2.0] \"analyze_query\" failed: unknown operator: (not shown) [Error 2, code 7]",
            ),
            (
                "[crypt_shared 8.2.0] \"analyze_query\" failed: failed: 457 [Error 457] [Error 2, code 7]",
                "[crypt_shared 8.2.0] \"analyze_query\" failed: failed: (not shown) (not shown) [Error 2, code 7]",
            ),
            ("a value: \"457\"", "a value: (not shown)"),
            ("457 [Error 457 failed: 457", "(not shown) (not shown)"),
        ] {
            assert_eq!(of_crypt_shared(message), expected);
        }
    }
}
