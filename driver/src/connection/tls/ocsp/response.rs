//! OCSP responses: parsing (RFC 6960, section 4.2) and acceptance (section 3.2).

use std::fmt;

use der::TagNumber;

use super::{
    asn1::{Fields, Malformed, Tag, explicit, extensions, implicit, only_sequence, readable},
    signer::{self, Algorithms},
    subject::Subject,
};

/// Maximum length of a response, in bytes.
pub(super) const MAX_RESPONSE: usize = 64 * 1024;
/// `id-pkix-ocsp-basic`: 1.3.6.1.5.5.7.48.1.1
const ID_PKIX_OCSP_BASIC: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 48, 1, 1];
/// Maximum number of certificates considered in a response.
const MAX_CERTIFICATES: usize = 8;

/// `CertStatus`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Good,
    Revoked { at: u64, reason: Option<u8> },
    Unknown,
}

/// The relevant part of a valid `SingleResponse`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: Status,
    pub(super) this_update: u64,
    pub(super) next_update: Option<u64>,
}

/// Why a response is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Invalid {
    Malformed,
    TooLong,
    /// The `OCSPResponseStatus`, which is not `successful`.
    Unsuccessful(u8),
    /// Another response type than `id-pkix-ocsp-basic`.
    UnknownForm,
    /// A critical extension that is not supported.
    CriticalExtension,
    OtherCertificate,
    NotYetValid(u64),
    Expired(u64),
    /// Signed by neither the issuer nor a delegate whose certificate is included.
    WrongSigner,
    /// The signer's certificate is not issued for OCSP signing by the issuer, or is not valid at
    /// this time.
    UnauthorizedSigner,
    WrongSignature,
}

impl From<Malformed> for Invalid {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => f.write_str("is malformed"),
            Self::TooLong => write!(f, "is longer than {MAX_RESPONSE} bytes"),
            Self::Unsuccessful(status) => {
                let name = match status {
                    1 => "malformedRequest",
                    2 => "internalError",
                    3 => "tryLater",
                    5 => "sigRequired",
                    6 => "unauthorized",
                    other => return write!(f, "reports failure {other} of the responder"),
                };
                write!(f, "reports a failure of the responder: {name}")
            }
            Self::UnknownForm => f.write_str("is of an unknown type"),
            Self::CriticalExtension => f.write_str("has a critical extension that is not supported"),
            Self::OtherCertificate => f.write_str("is about another certificate"),
            Self::NotYetValid(since) => write!(f, "is valid only from {}", readable(*since)),
            Self::Expired(until) => write!(f, "has expired at {}", readable(*until)),
            Self::WrongSigner => f.write_str("is not signed by the certificate's issuer or its delegate"),
            Self::UnauthorizedSigner => {
                f.write_str("is signed with a certificate that was not issued for OCSP signing, or that is not valid at this time")
            }
            Self::WrongSignature => f.write_str("has a wrong signature"),
        }
    }
}

/// `BasicOCSPResponse`, not verified.
pub(super) struct Basic<'a> {
    /// The signed `ResponseData`, including tag and length.
    pub(super) signed: &'a [u8],
    pub(super) responder: ResponderId<'a>,
    singles: Fields<'a>,
    /// The content of `AlgorithmIdentifier`.
    pub(super) algorithm: &'a [u8],
    pub(super) signature: &'a [u8],
    /// Certificates of signers.
    pub(super) certificates: Vec<&'a [u8]>,
}

/// `ResponderID`.
pub(super) enum ResponderId<'a> {
    /// Distinguished name, DER.
    Name(&'a [u8]),
    /// SHA-1 of the bits of the public key.
    KeyHash(&'a [u8]),
}

struct Single<'a> {
    id: &'a [u8],
    answer: Answer,
}

/// Verifies a response and returns the status of the certificate. `now` is in seconds since 1970.
pub(super) fn verify(
    bytes: &[u8],
    subject: &Subject,
    now: u64,
    algorithms: Algorithms,
) -> Result<Answer, Invalid> {
    let basic = Basic::parse(bytes)?;
    let answers = basic.answers_for(subject)?;
    signer::check(&basic, &subject.issuer, now, algorithms)?;
    let mut found = Err(Invalid::OtherCertificate);
    for answer in answers {
        match check_validity(answer, now) {
            // Of several answers, a revocation takes precedence.
            Ok(answer) if matches!(answer.status, Status::Revoked { .. }) => return Ok(answer),
            current => found = found.or(current),
        }
    }
    found
}

/// The age at which a response without `nextUpdate` is no longer accepted, in seconds: responses are mostly valid for a
/// week. Without a limit, one that was recorded before a revocation would be valid indefinitely.
const MAX_AGE: u64 = 7 * 24 * 60 * 60;

/// `thisUpdate` ⩽ now < `nextUpdate`.
fn check_validity(answer: Answer, now: u64) -> Result<Answer, Invalid> {
    if now < answer.this_update {
        return Err(Invalid::NotYetValid(answer.this_update));
    }
    let end = answer
        .next_update
        .unwrap_or(answer.this_update.saturating_add(MAX_AGE));
    if end <= now {
        Err(Invalid::Expired(end))
    } else {
        Ok(answer)
    }
}

impl<'a> Basic<'a> {
    /// Parses a response.
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, Invalid> {
        if bytes.len() > MAX_RESPONSE {
            return Err(Invalid::TooLong);
        }
        let mut response = only_sequence(bytes)?;
        match response.value(Tag::Enumerated)? {
            [0] => {}
            [status] => return Err(Invalid::Unsuccessful(*status)),
            _ => return Err(Invalid::Malformed),
        }
        let bytes = response.value(explicit(TagNumber::N0))?;
        response.end()?;
        let mut fields = only_sequence(bytes)?;
        if fields.value(Tag::ObjectIdentifier)? != ID_PKIX_OCSP_BASIC {
            return Err(Invalid::UnknownForm);
        }
        let basic = fields.value(Tag::OctetString)?;
        fields.end()?;
        Self::parse_basic(basic)
    }

    fn parse_basic(bytes: &'a [u8]) -> Result<Self, Invalid> {
        let mut fields = only_sequence(bytes)?;
        let signed = fields.whole()?;
        let algorithm = fields.value(Tag::Sequence)?;
        let signature = fields.bits()?;
        let mut certificates = Vec::new();
        if let Some(list) = fields.optional(explicit(TagNumber::N0))? {
            let mut list = only_sequence(list)?;
            while !list.is_empty() && certificates.len() < MAX_CERTIFICATES {
                certificates.push(list.whole()?);
            }
        }
        fields.end()?;

        let mut data = only_sequence(signed)?;
        if let Some(version) = data.optional(explicit(TagNumber::N0))?
            && Fields::new(version)?.value(Tag::Integer)? != [0]
        {
            return Err(Invalid::UnknownForm);
        }
        let (tag, id) = data.any()?;
        let responder = if tag == explicit(TagNumber::N1) {
            ResponderId::Name(id)
        } else if tag == explicit(TagNumber::N2) {
            ResponderId::KeyHash(Fields::new(id)?.value(Tag::OctetString)?)
        } else {
            return Err(Invalid::Malformed);
        };
        data.time()?;
        let singles = data.sequence()?;
        reject_critical(data.optional(explicit(TagNumber::N1))?)?;
        data.end()?;
        Ok(Self {
            signed,
            responder,
            singles,
            algorithm,
            signature,
            certificates,
        })
    }

    fn answers_for(&self, subject: &Subject) -> Result<Vec<Answer>, Invalid> {
        let mut answers = Vec::new();
        let mut singles = self.singles.clone();
        while !singles.is_empty() {
            let single = Single::parse(singles.sequence()?)?;
            if subject.id.matches(single.id)? {
                answers.push(single.answer);
            }
        }
        if answers.is_empty() {
            Err(Invalid::OtherCertificate)
        } else {
            Ok(answers)
        }
    }
}

impl<'a> Single<'a> {
    fn parse(mut fields: Fields<'a>) -> Result<Self, Invalid> {
        let id = fields.whole()?;
        let (tag, content) = fields.any()?;
        let status = if tag == implicit(TagNumber::N0) {
            Status::Good
        } else if tag == explicit(TagNumber::N1) {
            let mut revoked = Fields::new(content)?;
            let at = revoked.time()?;
            let reason = match revoked.optional(explicit(TagNumber::N0))? {
                Some(reason) => Fields::new(reason)?.value(Tag::Enumerated)?.first().copied(),
                None => None,
            };
            revoked.end()?;
            Status::Revoked { at, reason }
        } else if tag == implicit(TagNumber::N2) {
            Status::Unknown
        } else {
            return Err(Invalid::Malformed);
        };
        let this_update = fields.time()?;
        let next_update = match fields.optional(explicit(TagNumber::N0))? {
            Some(time) => Some(Fields::new(time)?.time()?),
            None => None,
        };
        reject_critical(fields.optional(explicit(TagNumber::N1))?)?;
        fields.end()?;
        let answer = Answer {
            status,
            this_update,
            next_update,
        };
        Ok(Self { id, answer })
    }
}

/// Rejects critical extensions. None is supported, since none of the known ones changes the meaning
/// of a response.
fn reject_critical(list: Option<&[u8]>) -> Result<(), Invalid> {
    let Some(list) = list else { return Ok(()) };
    if extensions(list)?.iter().any(|extension| extension.critical) {
        Err(Invalid::CriticalExtension)
    } else {
        Ok(())
    }
}
