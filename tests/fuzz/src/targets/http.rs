//! The fuzz target for HTTP responses, and for the credentials of AWS in their bodies.

use marula_driver::internals::untrusted::{aws_credentials, http_response};

use super::Target;

pub(super) const TARGET: Target = Target {
    name: "http",
    run,
    seeds,
};

/// The longest body that is accepted, in bytes.
const LIMIT: usize = 4096;
/// A secret in the seeds, which no error may show.
const SECRET: &str = "wJalrXUtnFEMI";

fn run(bytes: &[u8]) {
    let whole = http_response(bytes, usize::MAX, LIMIT).ok();
    if let Some((status, body)) = &whole {
        assert!((100..=999).contains(status), "status {status}");
        assert!(body.len() <= LIMIT, "{} bytes", body.len());
    }
    // The pieces in which a response arrives do not change what it means. One that ends with the
    // connection may be refused earlier in pieces than as a whole, but is never another one.
    for piece in [1, 7] {
        let pieces = http_response(bytes, piece, LIMIT).ok();
        assert!(
            pieces == whole || pieces.is_none() || whole.is_none(),
            "{pieces:?} in pieces of {piece} bytes, {whole:?} as a whole"
        );
    }
    let body = whole.map_or_else(|| bytes.to_vec(), |(_, body)| body);
    if let Ok(text) = str::from_utf8(&body) {
        for error in aws_credentials(text).into_iter().flatten() {
            assert!(!error.contains(SECRET), "{error}");
        }
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let json = format!(
        r#"{{"AccessKeyId": "AKID", "SecretAccessKey": "{SECRET}", "Token": "t", "Expiration": "2026-01-01T00:00:00Z"}}"#
    );
    let nested = format!(
        r#"{{"AssumeRoleWithWebIdentityResponse": {{"AssumeRoleWithWebIdentityResult": {{"Credentials":
        {{"AccessKeyId": "AKID", "SecretAccessKey": "{SECRET}", "SessionToken": "t", "Expiration": 1.7e9}}}}}}}}"#
    );
    [
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{json}", json.len()),
        format!("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{nested}"),
        format!(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{json}\r\n0\r\n\r\n",
            json.len()
        ),
        "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned(),
        json,
        nested,
    ]
    .map(String::into_bytes)
    .to_vec()
}
