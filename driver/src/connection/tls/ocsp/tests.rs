//! Responses made by OpenSSL for this test, with a certificate authority and a certificate issued
//! by it.

use proptest::prelude::*;
use tokio_rustls::rustls::crypto::ring::default_provider;

use super::{
    asn1::{Tag, encode},
    cache::Cache,
    certificate::Certificate,
    response::{Answer, Invalid, Status, verify},
    *,
};

const AUTHORITY: &[u8] = include_bytes!("samples/authority.der");
const LEAF: &[u8] = include_bytes!("samples/leaf.der");
const REQUEST: &[u8] = include_bytes!("samples/request.der");
const GOOD: &[u8] = include_bytes!("samples/good.der");
const GOOD_SHA256: &[u8] = include_bytes!("samples/good_sha256.der");
const GOOD_BY_DELEGATE: &[u8] = include_bytes!("samples/good_by_delegate.der");
const REVOKED: &[u8] = include_bytes!("samples/revoked.der");
const UNKNOWN: &[u8] = include_bytes!("samples/unknown.der");
const SAMPLES: [&[u8]; 5] = [GOOD, GOOD_SHA256, GOOD_BY_DELEGATE, REVOKED, UNKNOWN];

/// 2026-11-21T15:54:21Z, `thisUpdate` of all of them; they hold for thirty days.
const MADE: u64 = 1_795_276_461;
const DAY: u64 = 24 * 60 * 60;

fn algorithms() -> Algorithms {
    default_provider().signature_verification_algorithms.all
}

fn revocation() -> Revocation {
    Revocation::new(algorithms(), true)
}

fn roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(AUTHORITY)).unwrap();
    roots
}

fn subject() -> Subject {
    let time = UnixTime::since_unix_epoch(Duration::from_secs(MADE));
    revocation()
        .subject(&CertificateDer::from(LEAF), &[], &roots(), time)
        .unwrap()
}

fn examine(staple: &[u8], now: u64) -> Result<(), RevocationError> {
    let time = UnixTime::since_unix_epoch(Duration::from_secs(now));
    revocation().examine(&CertificateDer::from(LEAF), &[], &roots(), staple, time)
}

fn verified(bytes: &[u8], now: u64) -> Result<Answer, Invalid> {
    verify(bytes, &subject(), now, algorithms())
}

#[test]
fn a_certificate_is_read() {
    let certificate = Certificate::parse(LEAF).unwrap();
    assert_eq!(
        certificate.serial,
        [0, 0x80, 0xab, 0xcd, 0xef, 1, 0x23, 0x45, 0x67, 0x89]
    );
    assert_eq!(
        certificate.responders,
        ["http://first.example.com:8080/ocsp", "http://second.example.com"]
    );
    assert!(certificate.must_staple && certificate.for_servers);
    assert!((certificate.not_before..certificate.not_after).contains(&MADE));
    let authority = Certificate::parse(AUTHORITY).unwrap();
    assert!(!authority.must_staple && authority.responders.is_empty() && authority.for_servers);
}

#[test]
fn the_request_is_the_one_that_openssl_makes() {
    assert_eq!(subject().request().unwrap(), REQUEST);
}

#[test]
fn responses_state_the_status() {
    for response in [GOOD, GOOD_SHA256, GOOD_BY_DELEGATE] {
        let answer = verified(response, MADE).unwrap();
        assert_eq!(answer.status, Status::Good);
        assert_eq!(answer.this_update, MADE);
        assert_eq!(answer.next_update, Some(MADE + 30 * DAY));
    }
    let revoked = Status::Revoked {
        at: 1_767_323_045,
        reason: Some(1),
    };
    assert_eq!(verified(REVOKED, MADE).unwrap().status, revoked);
    assert_eq!(verified(UNKNOWN, MADE).unwrap().status, Status::Unknown);
}

#[test]
fn a_response_holds_from_this_update_and_ends_with_next_update() {
    assert_eq!(verified(GOOD, MADE - 1), Err(Invalid::NotYetValid(MADE)));
    assert!(verified(GOOD, MADE + 30 * DAY - 1).is_ok());
    assert_eq!(
        verified(GOOD, MADE + 30 * DAY),
        Err(Invalid::Expired(MADE + 30 * DAY))
    );
}

#[test]
fn unsigned_and_malformed_responses_are_invalid() {
    assert_eq!(verified(b"", MADE), Err(Invalid::Malformed));
    assert_eq!(
        verified(&[0x30, 3, 0x0a, 1, 3], MADE),
        Err(Invalid::Unsuccessful(3))
    );
    assert_eq!(verified(&[0; 70_000], MADE), Err(Invalid::TooLong));
    assert_eq!(verified(&[GOOD, &[0]].concat(), MADE), Err(Invalid::Malformed));

    // The status of one response with the signature of another.
    let signed = |bytes: &[u8]| {
        bytes
            .windows(4)
            .position(|four| four == [0x30, 10, 6, 8])
            .unwrap()
    };
    let forged = [&GOOD[..signed(GOOD)], &UNKNOWN[signed(UNKNOWN)..]].concat();
    assert_eq!(verified(&forged, MADE), Err(Invalid::WrongSignature));

    let mut other = subject();
    other.issuer.name = encode(Tag::Sequence, b"").unwrap();
    let verified = verify(GOOD, &other, MADE, algorithms());
    assert_eq!(verified, Err(Invalid::WrongSigner));
}

#[test]
fn the_delegate_must_be_in_force_as_well() {
    // A hundred years later its certificate has expired, and that is found out before the age of
    // the response.
    let later = MADE + 99 * 365 * DAY;
    assert_eq!(
        verified(GOOD_BY_DELEGATE, later),
        Err(Invalid::UnauthorizedSigner)
    );
}

#[test]
fn stapled_responses_decide_the_handshake() {
    assert_eq!(examine(GOOD, MADE), Ok(()));
    assert_eq!(examine(b"", MADE), Err(RevocationError::NothingStapled));
    assert_eq!(examine(UNKNOWN, MADE), Err(RevocationError::NothingSettled));
    assert_eq!(
        examine(b"x", MADE),
        Err(RevocationError::Stapled(Invalid::Malformed))
    );
    let text = examine(REVOKED, MADE).unwrap_err().to_string();
    assert!(
        text.contains("2026-01-02T03:04:05Z (key compromise)") && text.contains("stapled"),
        "{text}"
    );
}

#[test]
fn the_response_that_holds_longer_is_remembered_and_unknown_ones_are_not() {
    let id = subject().id;
    let mut cache = Cache::default();
    let answer = |status, this_update, next_update| Answer {
        status,
        this_update,
        next_update,
    };
    let revoked = Status::Revoked { at: 1, reason: None };
    cache.insert(&id, &answer(Status::Unknown, 0, Some(100)), &Source::Staple, 0);
    cache.insert(&id, &answer(Status::Good, 0, None), &Source::Staple, 0);
    assert_eq!(cache.get(&id, 0), None);

    cache.insert(&id, &answer(Status::Good, 10, Some(100)), &Source::Staple, 10);
    cache.insert(&id, &answer(Status::Good, 10, Some(50)), &Source::Staple, 10);
    assert_eq!(cache.get(&id, 9), None);
    assert_eq!(cache.get(&id, 99), Some(Ok(())));
    assert_eq!(cache.get(&id, 100), None);

    cache.insert(&id, &answer(revoked, 5, Some(60)), &Source::Staple, 10);
    assert_eq!(cache.get(&id, 20), Some(Ok(())), "an older response");
    cache.insert(&id, &answer(revoked, 15, Some(60)), &Source::Staple, 15);
    assert!(matches!(cache.get(&id, 20), Some(Err(_))));
    cache.insert(&id, &answer(Status::Good, 16, Some(200)), &Source::Staple, 16);
    assert_eq!(cache.get(&id, 20), Some(Ok(())), "released again");
}

#[test]
fn failures_are_kept_for_a_minute() {
    let id = subject().id;
    let mut cache = Cache::default();
    cache.insert_failure(&id, 1000);
    assert!(!cache.has_recent_failure(&id, 999), "the clock was set back");
    assert!(cache.has_recent_failure(&id, 1000) && cache.has_recent_failure(&id, 1059));
    assert!(!cache.has_recent_failure(&id, 1060));
}

#[test]
fn the_cache_is_bounded() {
    let mut cache = Cache::default();
    let mut first = None;
    for number in 0..3000_u64 {
        let mut leaf = LEAF.to_vec();
        let serial = leaf.windows(2).position(|two| two == [0x80, 0xab]).unwrap();
        leaf[serial + 1..serial + 9].copy_from_slice(&number.to_be_bytes());
        let mut subject = subject_with(&leaf);
        let answer = Answer {
            status: Status::Good,
            this_update: 0,
            next_update: Some(1000 + number),
        };
        cache.insert(&subject.id, &answer, &Source::Staple, 0);
        cache.insert_failure(&subject.id, 0);
        first.get_or_insert_with(|| std::mem::replace(&mut subject.id, subject_with(LEAF).id));
    }
    assert_eq!((cache.answers.len(), cache.failures.len()), (1024, 1024));
    assert_eq!(cache.get(&first.unwrap(), 0), None, "the soonest to expire goes");
}

/// A certificate with another serial number. Its signature is not verified.
fn subject_with(leaf: &[u8]) -> Subject {
    let genuine = CertificateDer::from(LEAF);
    let certificate = EndEntityCert::try_from(&genuine).unwrap();
    let roots = roots();
    let time = UnixTime::since_unix_epoch(Duration::from_secs(MADE));
    let path = certificate
        .verify_for_usage(
            algorithms(),
            &roots.roots,
            &[],
            time,
            KeyUsage::server_auth(),
            None,
            None,
        )
        .unwrap();
    Subject::of_path(leaf, &path).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_bytes_do_harm(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(verified(&bytes, MADE).is_err());
        let _ = Certificate::parse(&bytes);
    }

    #[test]
    fn no_damaged_response_counts_for_the_certificate(
        sample in 0..SAMPLES.len(),
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<Option<prop::sample::Index>>(),
    ) {
        let genuine = SAMPLES[sample];
        let mut bytes = genuine.to_vec();
        let place = place.index(bytes.len());
        bytes[place] = byte;
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        // Some bytes carry nothing: an answer survives only as it was.
        if let Ok(answer) = verified(&bytes, MADE) {
            prop_assert_eq!(answer, verified(genuine, MADE).unwrap());
        }
    }

    #[test]
    fn no_damaged_certificate_does_harm(place in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>()) {
        let cut = cut.index(LEAF.len());
        prop_assert!(Certificate::parse(&LEAF[..cut]).is_err());
        let mut bytes = LEAF.to_vec();
        let place = place.index(bytes.len());
        bytes[place] = byte;
        let _ = Certificate::parse(&bytes);
        // A damaged length can state that of the rest.
        let _ = Certificate::parse(&bytes[..cut]);
    }
}
