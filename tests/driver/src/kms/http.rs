//! The services with HTTP: AWS, Azure and Google Cloud.

use base64::{
    Engine,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use serde_json::{Value, json};

use super::{State, take_one, unwrap, wrap};

/// The start of all data keys that AWS encrypted, in base64.
const AWS_BLOB_START: &str = "AQICAH";
/// The end of a data key in the specification's files that AWS encrypted, in base64.
const AWS_BLOB_END: &str = "6+oVNXT6p0Lo20nY5XC7jyCO";
/// Its plaintext, in base64 (public test data of libmongocrypt).
const AWS_KEY: &str = "TqhXy3tKckECjy4/ZNykMWG8amBF46isVPzeOgeusKrwheBmYaU8TMG5AHR/NeUDKukqo8hBGgogiQOVpLPkqBQHD8YkLsNbDmHoGOill5QAHnniF/Lz405bGucB5TfR";

/// The parts of a request.
struct Request<'a> {
    path: &'a str,
    host: String,
    target: String,
    /// `X-Amz-Security-Token`
    session: String,
    /// `Authorization`
    authorization: String,
    body: &'a [u8],
}

/// The response to a complete request.
pub(super) fn answer(received: &[u8], state: &State) -> Option<Vec<u8>> {
    let request = parse(received)?;
    let operation = if request.target.is_empty() {
        request.path
    } else {
        &request.target
    };
    state.record(&request.host, operation);
    if take_one(&state.http_failures) {
        return Some(response(503, &json!({ "message": "try again" })));
    }
    let (status, body) = respond(&request);
    Some(response(status, &body))
}

fn parse(received: &[u8]) -> Option<Request<'_>> {
    let end = received.windows(4).position(|window| window == b"\r\n\r\n")?;
    let (head, body) = (received.get(..end)?, received.get(end + 4..)?);
    let head = std::str::from_utf8(head).ok()?;
    let header = |wanted: &str| {
        head.lines().skip(1).find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case(wanted).then(|| value.trim().to_owned())
        })
    };
    let length: usize = header("Content-Length")
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    Some(Request {
        path: head.split(' ').nth(1)?,
        host: header("Host").unwrap_or_default(),
        target: header("X-Amz-Target").unwrap_or_default(),
        session: header("X-Amz-Security-Token").unwrap_or_default(),
        authorization: header("Authorization").unwrap_or_default(),
        body: body.get(..length)?,
    })
}

fn respond(request: &Request<'_>) -> (u16, Value) {
    let body: Value = serde_json::from_slice(request.body).unwrap_or_default();
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    match (request.target.as_str(), request.path) {
        (target, _) if !target.is_empty() && has_invalid_session(request) => {
            let message = "The security token included in the request is invalid.";
            (
                400,
                json!({ "__type": "UnrecognizedClientException", "message": message }),
            )
        }
        // The test key does not exist in this region.
        ("TrentService.Encrypt", _) if text("KeyId").contains("us-east-2:579766882180:key/89fcc2c4") => (
            400,
            json!({ "__type": "NotFoundException", "message": "the key does not exist" }),
        ),
        // A key of another region than that of the endpoint.
        ("TrentService.Encrypt", _) if is_elsewhere(&text("KeyId"), &request.host) => (
            400,
            json!({ "__type": "NotFoundException", "message": "Invalid arn: the key is in another region" }),
        ),
        ("TrentService.Encrypt", _) => {
            let blob = wrap(&decode(&text("Plaintext")));
            (
                200,
                json!({ "CiphertextBlob": BASE64_STANDARD.encode(blob), "KeyId": text("KeyId") }),
            )
        }
        ("TrentService.Decrypt", _) => {
            let blob = text("CiphertextBlob");
            if blob.starts_with(AWS_BLOB_START) && request.host.contains("us-east-2") {
                return (
                    400,
                    json!({ "__type": "NotFoundException", "message": "the key is in another region" }),
                );
            }
            let plaintext = if blob.ends_with(AWS_BLOB_END) {
                AWS_KEY.to_owned()
            } else {
                BASE64_STANDARD.encode(unwrap(&decode(&blob)))
            };
            (200, json!({ "Plaintext": plaintext, "KeyId": "key" }))
        }
        (_, path) if path.contains("/token") => (
            200,
            json!({ "access_token": "token", "expires_in": 3600, "token_type": "Bearer" }),
        ),
        (_, path) if path.contains("invalid") || request.host.starts_with("invalid") => (
            404,
            json!({ "error": { "code": 404, "message": "the key does not exist" } }),
        ),
        (_, path) if path.contains("/wrapkey") => {
            let value = BASE64_URL_SAFE_NO_PAD.encode(wrap(&decode_url(&text("value"))));
            (200, json!({ "kid": "key", "value": value }))
        }
        (_, path) if path.contains("/unwrapkey") => {
            let value = BASE64_URL_SAFE_NO_PAD.encode(unwrap(&decode_url(&text("value"))));
            (200, json!({ "kid": "key", "value": value }))
        }
        (_, path) if path.ends_with(":encrypt") => {
            let blob = wrap(&decode(&text("plaintext")));
            (
                200,
                json!({ "name": "key", "ciphertext": BASE64_STANDARD.encode(blob) }),
            )
        }
        (_, path) if path.ends_with(":decrypt") => {
            let plaintext = unwrap(&decode(&text("ciphertext")));
            (200, json!({ "plaintext": BASE64_STANDARD.encode(plaintext) }))
        }
        (_, path) => (404, json!({ "message": format!("unknown path {path}") })),
    }
}

/// Whether the session token is invalid. Temporary access keys, whose IDs begin with `ASIA`, require one.
fn has_invalid_session(request: &Request<'_>) -> bool {
    let is_temporary = request.authorization.contains("Credential=ASIA");
    request.session == "bad" || (is_temporary && request.session.is_empty())
}

/// Whether the region in an ARN, e.g. `arn:aws:kms:us-east-1:579766882180:key/…`, is not that of a host of AWS.
fn is_elsewhere(arn: &str, host: &str) -> bool {
    let region = host
        .strip_prefix("kms.")
        .and_then(|host| host.split_once(".amazonaws.com"));
    match (arn.split(':').nth(3), region) {
        (Some(of_key), Some((of_host, _))) => of_key != of_host,
        _ => false,
    }
}

fn decode(text: &str) -> Vec<u8> {
    BASE64_STANDARD.decode(text).unwrap_or_default()
}

fn decode_url(text: &str) -> Vec<u8> {
    BASE64_URL_SAFE_NO_PAD
        .decode(text.trim_end_matches('='))
        .unwrap_or_default()
}

fn response(status: u16, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    format!(
        "HTTP/1.1 {status} Status\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
