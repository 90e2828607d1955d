//! Tests of the bytes of the negotiation.

use proptest::prelude::*;

use super::*;
use crate::types::secret::Secret;

fn ada() -> Option<Credentials> {
    Credentials::new("ada", &Secret::new("s3cr3t"))
}

fn exchange(send: &[u8], read: usize) -> Step {
    Step::Exchange {
        send: send.to_vec(),
        read,
    }
}

/// A negotiation after the method "no authentication" was selected, and its request.
fn requested(host: &str, port: u16) -> (Negotiation, Vec<u8>) {
    let (mut negotiation, first) = Negotiation::begin(host, port, None).unwrap();
    assert_eq!(first, exchange(&[5, 1, 0], 2));
    match negotiation.handle(&[5, 0]).unwrap() {
        Step::Exchange { send, read: 2 } => (negotiation, send),
        other => panic!("{other:?}"),
    }
}

#[test]
fn names_are_sent_as_text_and_addresses_as_bytes() {
    let request = |host| requested(host, 0x6989).1;
    assert_eq!(request("db1.example"), *b"\x05\x01\0\x03\x0bdb1.example\x69\x89");
    assert_eq!(request("localhost"), *b"\x05\x01\0\x03\x09localhost\x69\x89");
    assert_eq!(request("192.0.2.7"), *b"\x05\x01\0\x01\xc0\0\x02\x07\x69\x89");
    let v6 = request("::1");
    assert_eq!(v6[..4], [5, 1, 0, 4]);
    assert_eq!(
        v6[4..],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0x69, 0x89]
    );
    assert!(Negotiation::begin(&"x".repeat(255), 1, None).is_ok());
    for bad in [String::new(), "x".repeat(256)] {
        let error = Negotiation::begin(&bad, 1, None).unwrap_err();
        assert_eq!(error, Socks5Error::HostName);
    }
}

#[test]
fn credentials_are_sent_only_if_the_proxy_selects_them() {
    let (mut negotiation, first) = Negotiation::begin("h", 1, ada()).unwrap();
    assert_eq!(first, exchange(&[5, 2, 0, 2], 2));
    let login = negotiation.handle(&[5, 2]).unwrap();
    assert_eq!(login, exchange(b"\x01\x03ada\x06s3cr3t", 2));
    let request = negotiation.handle(&[1, 0]).unwrap();
    assert_eq!(request, exchange(b"\x05\x01\0\x03\x01h\0\x01", 2));

    let (mut negotiation, _) = Negotiation::begin("h", 1, ada()).unwrap();
    let request = negotiation.handle(&[5, 0]).unwrap();
    assert_eq!(
        request,
        exchange(b"\x05\x01\0\x03\x01h\0\x01", 2),
        "no authentication is requested"
    );
}

#[test]
fn every_type_of_address_is_read_completely() {
    for (kind, first, rest) in [(1, 127, 5), (4, 0x20, 17), (3, 0, 2), (3, 9, 11), (3, 255, 257)] {
        let (mut negotiation, _) = requested("h", 1);
        assert_eq!(negotiation.handle(&[5, 0]).unwrap(), exchange(&[], 3));
        assert_eq!(
            negotiation.handle(&[0, kind, first]).unwrap(),
            exchange(&[], rest)
        );
        assert_eq!(negotiation.handle(&vec![7; rest]).unwrap(), Step::Done);
    }
    let (mut negotiation, _) = requested("h", 1);
    negotiation.handle(&[5, 0]).unwrap();
    assert_eq!(
        negotiation.handle(&[0, 2, 0]).unwrap_err(),
        Socks5Error::AddressType(2)
    );
}

#[test]
fn every_reply_code_has_a_text_and_an_error_kind() {
    use std::io::ErrorKind;
    for (code, words, kind) in [
        (1, "general failure", ErrorKind::Other),
        (2, "not allowed", ErrorKind::PermissionDenied),
        (3, "network unreachable", ErrorKind::NetworkUnreachable),
        (4, "host unreachable", ErrorKind::HostUnreachable),
        (5, "connection refused", ErrorKind::ConnectionRefused),
        (6, "time to live", ErrorKind::HostUnreachable),
        (7, "command", ErrorKind::Unsupported),
        (8, "address type", ErrorKind::Unsupported),
        (9, "unknown reason (9)", ErrorKind::Other),
        (255, "unknown reason (255)", ErrorKind::Other),
    ] {
        let (mut negotiation, _) = requested("h", 1);
        let error = negotiation.handle(&[5, code]).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(std::io::Error::from(error).kind(), kind, "{error}");
    }
}

#[test]
fn malformed_replies_are_rejected() {
    let answer = |credentials, answer: &[u8]| {
        let (mut negotiation, _) = Negotiation::begin("h", 1, credentials).unwrap();
        negotiation.handle(answer).unwrap_err()
    };
    assert_eq!(answer(None, &[4, 0]), Socks5Error::Version(4));
    assert_eq!(answer(None, b"HT"), Socks5Error::Version(b'H'));
    assert_eq!(answer(None, &[5, 2]), Socks5Error::UnofferedMethod(2));
    assert_eq!(answer(ada(), &[5, 1]), Socks5Error::UnofferedMethod(1));
    let none = |login_offered| Socks5Error::NoMethod { login_offered };
    assert_eq!(answer(None, &[5, 255]), none(false));
    assert_eq!(answer(ada(), &[5, 255]), none(true));
    assert!(none(false).to_string().contains("proxyUsername"));

    let (mut negotiation, _) = Negotiation::begin("h", 1, ada()).unwrap();
    negotiation.handle(&[5, 2]).unwrap();
    assert_eq!(
        negotiation.handle(&[1, 1]).unwrap_err(),
        Socks5Error::LoginRefused
    );
    let (mut negotiation, _) = requested("h", 1);
    assert_eq!(negotiation.handle(&[0, 0]).unwrap_err(), Socks5Error::Version(0));
}

#[test]
fn credentials_have_a_length_limit_and_are_not_printed() {
    let of = |name: usize, password: usize| {
        Credentials::new(&"n".repeat(name), &Secret::new("p".repeat(password)))
    };
    assert!(of(255, 255).is_some() && of(1, 1).is_some());
    for (name, password) in [(256, 1), (1, 256), (0, 1), (1, 0)] {
        assert_eq!(of(name, password), None);
    }
    let (negotiation, _) = Negotiation::begin("h", 1, ada()).unwrap();
    assert!(!format!("{negotiation:?}").contains("s3cr3t"));
}

proptest! {
    /// For any bytes from the proxy, the negotiation ends after a bounded number of bytes.
    #[test]
    fn any_bytes_end_it(bytes in prop::collection::vec(any::<u8>(), 0..600), login: bool) {
        let (mut negotiation, mut step) = Negotiation::begin("h", 1, ada().filter(|_| login)).unwrap();
        let (mut bytes, mut total) = (bytes.into_iter().cycle(), 0);
        while let Step::Exchange { read, .. } = step {
            prop_assert!((1..=257).contains(&read));
            total += read;
            prop_assert!(total <= 2 + 2 + 2 + 3 + 257);
            let answer: Vec<u8> = bytes.by_ref().take(read).collect();
            match negotiation.handle(&answer) {
                Ok(next) => step = next,
                Err(_) => break,
            }
        }
    }
}
