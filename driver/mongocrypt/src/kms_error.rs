//! The messages of errors of key management services.
//!
//! A response can contain a key or an access token, or repeat the request, and an error may be logged. So a message consists
//! of nothing that a service sent, except for the HTTP status: it is composed of texts of the library and of codes of the
//! services that are listed here. A code that is not listed is not shown, because anything could stand in its place.

use std::fmt::Write as _;

/// The starts of the library's messages about responses. The longer of two with the same start comes first.
const STARTS: [&str; 25] = [
    "KMS request failed after maximum of",
    "Unsupported HTTP code in KMS response",
    "Error in KMS response",
    "Error parsing JSON in KMS response. Response body exceeds maximum supported length",
    "Error parsing JSON in KMS response",
    "Invalid KMS response. KMS JSON response does not include field 'access_token'",
    "KMS JSON response does not include field 'CiphertextBlob'",
    "KMS JSON response does not include field 'Plaintext'",
    "KMS JSON response does not include field 'ciphertext'",
    "KMS JSON response does not include field 'plaintext'",
    "KMS JSON response does not include field 'value'",
    "KMS JSON response does not include field",
    "Failed to base64 decode response",
    "Empty KMS response",
    "KMS response parser error",
    "KMS response fed too much data",
    "Failed to get response from parser",
    "Error getting KMIP response",
    "Error getting UniqueIdentifer from KMIP Register response",
    "Error getting UniqueIdentifer from KMIP Create response",
    "Error getting SecretData from KMIP Get response",
    "Error getting data from KMIP Encrypt response",
    "Error getting IV from KMIP Encrypt response",
    "Error getting data from KMIP Decrypt response",
    "KMIP IV response has unexpected length",
];
/// What the library found in a response, each a complete text, or what precedes a part of the response.
const DETAILS: [&str; 34] = [
    "Got parse error",
    "Empty body",
    "Could not parse HTTP-Version",
    "Could not parse Status-Code",
    "Could not parse header, no colon found",
    "Could not parse Content-Length header",
    "Unexpected extra HTTP content",
    "Unexpected: exceeded content length",
    "Unsupported Transfer-Encoding",
    "Failed to parse hex chunk length",
    "KMS response too large",
    "KMS KMIP response too large",
    "KMIP parser was fed too much data",
    "KMIP parser does not have a complete message",
    "unable to find tag",
    "unable to read",
    "Operation Failed",
    "Operation Pending",
    "Operation Undone",
    "Item Not Found",
    "Response Too Large",
    "Authentication Not Successful",
    "Invalid Message",
    "Operation Not Supported",
    "Missing Data",
    "Invalid Field",
    "Feature Not Supported",
    "Operation Canceled By Requester",
    "Cryptographic Failure",
    "Illegal Operation",
    "Permission Denied",
    "Object archived",
    "Key Value Not Present",
    "General Failure",
];
/// The text before the message of a KMIP server.
const KMIP_MESSAGE: &str = "Result Message:";
/// The text before the body of a response.
const BODY: &str = "Response body=";
/// The fields of error responses with a code: of AWS, of Azure, of Google Cloud, of OAuth.
const FIELDS: [&str; 5] = ["\"__type\"", "\"code\"", "\"Code\"", "\"status\"", "\"error\""];
/// Their values, and what they mean.
const CODES: [(&str, &str); 73] = [
    // AWS.
    ("AccessDeniedException", "the identity may not use the key"),
    ("AccessDenied", "the identity may not use the key"),
    (
        "NotFoundException",
        "the key does not exist, or is in another region than the endpoint",
    ),
    ("DisabledException", "the key is disabled"),
    (
        "KMSInvalidStateException",
        "the state of the key does not allow the request",
    ),
    (
        "KeyUnavailableException",
        "the key is not available at the moment",
    ),
    (
        "InvalidCiphertextException",
        "the data key was changed, or encrypted with another key",
    ),
    (
        "IncorrectKeyException",
        "the data key was encrypted with another key",
    ),
    ("InvalidKeyUsageException", "the key is not for encryption"),
    ("InvalidArnException", "the ARN of the key is invalid"),
    ("InvalidGrantTokenException", ""),
    ("KMSInternalException", "the service failed"),
    ("DependencyTimeoutException", "the service failed"),
    ("InternalFailure", "the service failed"),
    ("InternalServiceError", "the service failed"),
    ("ServiceUnavailable", "the service is not available"),
    ("ServiceUnavailableException", "the service is not available"),
    ("ThrottlingException", "too many requests"),
    ("Throttling", "too many requests"),
    ("LimitExceededException", "a quota is exceeded"),
    (
        "UnrecognizedClientException",
        "the access key or the security token is not valid",
    ),
    (
        "InvalidClientTokenId",
        "the access key or the security token is not valid",
    ),
    ("ExpiredTokenException", "the security token has expired"),
    ("ExpiredToken", "the security token has expired"),
    (
        "InvalidSignatureException",
        "the secret access key is wrong, or the clock of this machine is",
    ),
    (
        "SignatureDoesNotMatch",
        "the secret access key is wrong, or the clock of this machine is",
    ),
    ("IncompleteSignatureException", ""),
    ("IncompleteSignature", ""),
    (
        "MissingAuthenticationTokenException",
        "the request has no credentials",
    ),
    ("MissingAuthenticationToken", "the request has no credentials"),
    ("RequestExpired", "the clock of this machine is wrong"),
    ("NotAuthorized", "the identity may not use the key"),
    ("OptInRequired", "the account is not subscribed to the service"),
    ("ValidationException", "a parameter of the master key is invalid"),
    ("ValidationError", "a parameter of the master key is invalid"),
    ("SerializationException", ""),
    ("UnknownOperationException", ""),
    // Azure Key Vault.
    ("Unauthorized", "the access token is not valid"),
    (
        "Forbidden",
        "the identity may not use the key, or the network is not allowed",
    ),
    (
        "ForbiddenByPolicy",
        "the access policy does not allow the identity to use the key",
    ),
    ("ForbiddenByRbac", "no role allows the identity to use the key"),
    (
        "ForbiddenByFirewall",
        "the firewall of the key vault does not allow this address",
    ),
    (
        "ForbiddenByConnection",
        "the key vault does not allow this network",
    ),
    ("KeyNotFound", "the key does not exist"),
    ("VaultNotFound", "the key vault does not exist"),
    ("NotFound", "the key does not exist"),
    ("BadParameter", "a parameter of the master key is invalid"),
    ("KeyDisabled", "the key is disabled"),
    ("KeyExpired", "the key has expired"),
    ("Throttled", "too many requests"),
    ("InternalServerError", "the service failed"),
    // Google Cloud (google.rpc.Code).
    ("INVALID_ARGUMENT", "a parameter of the master key is invalid"),
    ("NOT_FOUND", "the key does not exist"),
    ("PERMISSION_DENIED", "the identity may not use the key"),
    ("UNAUTHENTICATED", "the access token is not valid"),
    ("RESOURCE_EXHAUSTED", "a quota is exceeded"),
    (
        "FAILED_PRECONDITION",
        "the state of the key does not allow the request",
    ),
    ("UNAVAILABLE", "the service is not available"),
    ("DEADLINE_EXCEEDED", "the service failed"),
    ("INTERNAL", "the service failed"),
    ("UNKNOWN", "the service failed"),
    ("UNIMPLEMENTED", ""),
    ("ABORTED", ""),
    // OAuth 2.0 (RFC 6749, sections 4.1.2.1 and 5.2).
    ("invalid_request", "the request for an access token is invalid"),
    (
        "invalid_client",
        "the client id or its secret is wrong, or has expired",
    ),
    (
        "invalid_grant",
        "the account or its private key is not valid, or the clock of this machine is wrong",
    ),
    (
        "unauthorized_client",
        "the client may not request an access token",
    ),
    ("unsupported_grant_type", ""),
    ("invalid_scope", ""),
    ("invalid_resource", "the resource does not exist in the tenant"),
    ("access_denied", ""),
    ("temporarily_unavailable", "the service is not available"),
    ("server_error", "the service failed"),
];
/// The maximum number of codes in a message.
const MAX_CODES: usize = 3;

/// The message for an error about a response. `None` if the message is about something else.
pub(crate) fn described(message: &str) -> Option<String> {
    let (position, start) = first_start(message)?;
    let rest = message.get(position + start.len()..).unwrap_or_default();
    if start == STARTS[0] {
        // The number of retries, and the message of the last response.
        let last = described(rest);
        let last = last.as_deref().unwrap_or("the response is not shown");
        return Some(format!("KMS request failed after all retries: {last}"));
    }
    let (head, body) = match rest.split_once(BODY) {
        Some((head, body)) => (head, body.trim()),
        None => (rest, ""),
    };
    // What follows is the message of a KMIP server.
    let own = head.split(KMIP_MESSAGE).next().unwrap_or_default();
    let mut text = start.to_owned();
    let status = status(own);
    if let Some(status) = status {
        let _ = write!(text, ". HTTP status={status}");
    }
    for detail in DETAILS.iter().filter(|detail| own.contains(**detail)) {
        let _ = write!(text, ". {detail}");
    }
    // A successful response contains a key.
    let mut codes = codes(if status == Some(200) { "" } else { body });
    codes.truncate(MAX_CODES);
    for (code, meaning) in &codes {
        let _ = match *meaning {
            "" => write!(text, ". {code}"),
            meaning => write!(text, ". {code}: {meaning}"),
        };
    }
    if codes.is_empty() && !body.is_empty() {
        text.push_str(". The response is not shown");
    }
    Some(text)
}

/// As [`described`], for an error that can only be about a response.
pub(crate) fn of_response(message: &str) -> String {
    described(message).unwrap_or_else(|| "the response is invalid; it is not shown".to_owned())
}

/// The first text of [`STARTS`] in the message, and its position.
fn first_start(message: &str) -> Option<(usize, &'static str)> {
    let found = STARTS
        .into_iter()
        .filter_map(|start| Some((message.find(start)?, start)));
    // Of those at the same position, the first one.
    found.min_by_key(|(position, _)| *position)
}

/// The HTTP status. Texts of the service may stand before the first form, and after the second.
fn status(message: &str) -> Option<u16> {
    let found = message.rsplit_once("HTTP status=");
    let (_, rest) = found.or_else(|| message.split_once("with status "))?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    rest.get(..digits)?.parse().ok().filter(|status| *status < 1000)
}

/// The known codes in the body of an error.
fn codes(body: &str) -> Vec<(&'static str, &'static str)> {
    let mut codes = Vec::new();
    for field in FIELDS {
        for (position, _) in body.match_indices(field) {
            let rest = body.get(position + field.len()..).unwrap_or_default();
            if let Some(code) = value(rest).and_then(known)
                && !codes.contains(&code)
            {
                codes.push(code);
            }
        }
    }
    codes
}

/// The string after the name of a field.
fn value(rest: &str) -> Option<&str> {
    let rest = rest.trim_start().strip_prefix(':')?.trim_start();
    Some(rest.strip_prefix('"')?.split_once('"')?.0)
}

/// The entry of a code. AWS sends types with a namespace, e.g. `com.amazonaws.kms#NotFoundException`, and with a URL.
fn known(value: &str) -> Option<(&'static str, &'static str)> {
    let value = value.split(':').next().unwrap_or(value);
    let code = value.rsplit('#').next().unwrap_or(value);
    CODES.into_iter().find(|(known, _)| *known == code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_codes_are_shown_with_their_meaning() {
        for (message, expected) in [
            (
                "Error in KMS response. HTTP status=400. Response body=\n{\"__type\": \"AccessDeniedException\", \"Message\": \"7182\"}",
                "Error in KMS response. HTTP status=400. AccessDeniedException: the identity may not use the key",
            ),
            (
                "Error in KMS response. HTTP status=400. Response body=\n{\"__type\":\"com.amazonaws.kms#NotFoundException:http://7182\"}",
                "Error in KMS response. HTTP status=400. NotFoundException: the key does not exist, or is in another region than \
                 the endpoint",
            ),
            (
                "Error in KMS response. HTTP status=403. Response body=\n{\"error\": {\"code\":\"Forbidden\",\"message\":\"7182\",\
                 \"innererror\":{\"code\":\"ForbiddenByRbac\"}}}",
                "Error in KMS response. HTTP status=403. Forbidden: the identity may not use the key, or the network is not \
                 allowed. ForbiddenByRbac: no role allows the identity to use the key",
            ),
            (
                "Error in KMS response. HTTP status=400. Response body=\n{ \"code\": 400, \"status\": \"INVALID_ARGUMENT\", \"x\": 7182 }",
                "Error in KMS response. HTTP status=400. INVALID_ARGUMENT: a parameter of the master key is invalid",
            ),
            (
                "Error in KMS response. HTTP status=401. Response body=\n{\"error\":\"invalid_client\",\"error_description\":\"7182\"}",
                "Error in KMS response. HTTP status=401. invalid_client: the client id or its secret is wrong, or has expired",
            ),
            (
                "Error in KMS response. HTTP status=502. Empty body.",
                "Error in KMS response. HTTP status=502. Empty body",
            ),
            (
                "KMS request failed after maximum of 3 retries: Error in KMS response. HTTP status=503. Response body=\n7182",
                "KMS request failed after all retries: Error in KMS response. HTTP status=503. The response is not shown",
            ),
            (
                "Error getting KMIP response: KMIP response error. Result Status (1): Operation Failed. Result Reason (1): Item Not \
                 Found. Result Message: 7182 Permission Denied",
                "Error getting KMIP response. Operation Failed. Item Not Found",
            ),
            (
                "KMS response parser error with status 0, error: 'Unsupported Transfer-Encoding: 7182'",
                "KMS response parser error. HTTP status=0. Unsupported Transfer-Encoding",
            ),
            (
                "Empty KMS response. HTTP status=200",
                "Empty KMS response. HTTP status=200",
            ),
        ] {
            let shown = described(message).unwrap();
            assert_eq!(shown, expected);
            assert!(!shown.contains("718"), "{shown}");
        }
    }

    /// Each place of a response that the library or a service quotes contains a secret.
    #[test]
    fn nothing_of_a_response_is_shown() {
        // Also secrets that look like words, names of exceptions, or a known code with more text.
        for secret in [
            "c2VjcmV0LWtleS1tYXRlcmlhbA",
            "ya29.a0AfB-token",
            "correct horse battery staple",
            "SecretKeyMaterialException",
            "SECRET_KEY",
            "AccessDeniedException c2VjcmV0",
            "secret#Forbiddenx",
        ] {
            let bodies = [
                secret.to_owned(),
                format!("<html>{secret}</html>"),
                format!(r#"{{"__type":"{secret}","message":"{secret}"}}"#),
                format!(r#"{{"__type":"NotFoundException","Message":"{secret}","__type":"{secret}"}}"#),
                format!(
                    r#"{{"error":{{"code":"{secret}","status":"{secret}","message":"the word {secret}"}}}}"#
                ),
                format!(r#"{{"error":"{secret}","error_description":"{secret}","access_token":"{secret}"}}"#),
                format!(r#"{{"code":"Forbidden{secret}","status":"{secret}"}} HTTP status=77182"#),
                format!(r#"{{"Plaintext":"{secret}"}}"#),
                format!("Response body={secret} Result Message:{secret}"),
            ];
            for body in &bodies {
                for message in [
                    format!("Error in KMS response. HTTP status=400. Response body=\n{body}"),
                    format!("Unsupported HTTP code in KMS response. HTTP status=302. Response body=\n{body}"),
                    format!(
                        "Error parsing JSON in KMS response 'Invalid input string \"{secret}\", looking for INT32'. HTTP status=200. \
                         Response body=\n{body}"
                    ),
                    format!(
                        "KMS JSON response does not include field 'Plaintext'. HTTP status=200. Response body=\n{body}"
                    ),
                    format!("Failed to base64 decode response. HTTP status=200. Response body=\n{body}"),
                    format!("KMS request failed after maximum of 3 retries: {body}"),
                    format!("KMS response parser error with status 400, error: '{body}'"),
                    format!("Error getting KMIP response: {body}"),
                    format!("Error getting SecretData from KMIP Get response: unable to find tag: {body}"),
                    body.clone(),
                ] {
                    let shown = of_response(&message);
                    assert!(!shown.contains(secret), "{message}: {shown}");
                    for part in ["c2Vj", "ya29", "horse", "SecretKey", "SECRET", "secret", "7718"] {
                        assert!(!shown.contains(part), "{message}: {shown}");
                    }
                }
            }
        }
    }

    #[test]
    fn other_messages_are_not_about_responses() {
        for message in [
            "HMAC validation failure",
            "keyId required for KMIP",
            "expected UTF-8 key",
            "",
        ] {
            assert_eq!(described(message), None, "{message}");
        }
    }
}
