//! Who may sign a response (RFC 6960, 4.2.2.2): the issuer of the certificate, or a delegate to whom the issuer itself gave a
//! certificate for that.

use std::time::Duration;

use tokio_rustls::rustls::pki_types::{
    CertificateDer, SignatureVerificationAlgorithm, SubjectPublicKeyInfoDer, UnixTime,
};
use webpki::{EndEntityCert, KeyUsage, RawPublicKeyEntity};

use super::{
    response::{Basic, Invalid, ResponderId},
    subject::{Issuer, signer_names},
};

/// The signatures that can be checked.
pub(super) type Algorithms = &'static [&'static dyn SignatureVerificationAlgorithm];

/// 1.3.6.1.5.5.7.3.9, `id-kp-OCSPSigning`
const OCSP_SIGNING: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 9];

/// The response is signed by whom it names, and that one may sign it.
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

/// Directly issued by the issuer, for signing responses, and in force.
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
    // Several algorithms share an identifier and differ in the curve of the key.
    algorithms
        .iter()
        .filter(|algorithm| algorithm.signature_alg_id().as_ref() == basic.algorithm)
        .any(|algorithm| {
            key.verify_signature(*algorithm, basic.signed, basic.signature)
                .is_ok()
        })
}
