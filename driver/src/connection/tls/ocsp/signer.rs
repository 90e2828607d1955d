//! The authorized responders (RFC 6960, section 4.2.2.2): the issuer of the certificate, or a
//! delegate with a certificate for OCSP signing that the issuer itself issued.

use std::time::Duration;

use tokio_rustls::rustls::pki_types::{
    CertificateDer, SignatureVerificationAlgorithm, SubjectPublicKeyInfoDer, UnixTime,
};
use webpki::{EndEntityCert, KeyUsage, RawPublicKeyEntity};

use super::{
    response::{Basic, Invalid, ResponderId},
    subject::{Issuer, signer_names},
};

/// The supported signature algorithms.
pub(super) type Algorithms = &'static [&'static dyn SignatureVerificationAlgorithm];

/// `id-kp-OCSPSigning`: 1.3.6.1.5.5.7.3.9
const OCSP_SIGNING: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 9];

/// Verifies that the response is signed by its `ResponderID`, and that this is an authorized
/// responder.
pub(super) fn check(
    basic: &Basic<'_>,
    issuer: &Issuer,
    now: u64,
    algorithms: Algorithms,
) -> Result<(), Invalid> {
    let mut failure = Invalid::WrongSigner;
    if is_named(basic, &issuer.name, &issuer.key_sha1) {
        if is_signed(basic, &issuer.key, algorithms) {
            return Ok(());
        }
        failure = Invalid::WrongSignature;
    }
    for der in &basic.certificates {
        let der = CertificateDer::from(*der);
        let Ok(delegate) = EndEntityCert::try_from(&der) else {
            continue;
        };
        let (name, key_sha1) = signer_names(&delegate)?;
        if !is_named(basic, &name, &key_sha1) {
            continue;
        }
        if !is_delegate(&delegate, issuer, now, algorithms) {
            failure = Invalid::UnauthorizedSigner;
            continue;
        }
        if is_signed(basic, &delegate.subject_public_key_info(), algorithms) {
            return Ok(());
        }
        failure = Invalid::WrongSignature;
    }
    Err(failure)
}

fn is_named(basic: &Basic<'_>, name: &[u8], key_sha1: &[u8; 20]) -> bool {
    match basic.responder {
        ResponderId::Name(id) => id == name,
        ResponderId::KeyHash(id) => id == key_sha1,
    }
}

/// Whether the certificate is issued directly by the issuer, for OCSP signing, and valid at this
/// time.
fn is_delegate(delegate: &EndEntityCert<'_>, issuer: &Issuer, now: u64, algorithms: Algorithms) -> bool {
    delegate
        .verify_for_usage(
            algorithms,
            std::slice::from_ref(&issuer.anchor),
            &[],
            UnixTime::since_unix_epoch(Duration::from_secs(now)),
            KeyUsage::required(OCSP_SIGNING),
            None,
            None,
        )
        .is_ok()
}

fn is_signed(basic: &Basic<'_>, key: &SubjectPublicKeyInfoDer<'_>, algorithms: Algorithms) -> bool {
    let Ok(key) = RawPublicKeyEntity::try_from(key) else {
        return false;
    };
    // Algorithms with the same identifier differ in the curve of the key.
    algorithms
        .iter()
        .filter(|algorithm| algorithm.signature_alg_id().as_ref() == basic.algorithm)
        .any(|algorithm| {
            key.verify_signature(*algorithm, basic.signed, basic.signature)
                .is_ok()
        })
}
