//! The server side of OCSP: DER-encoded responses, and a responder that serves them.

mod responder;

use std::time::{SystemTime, UNIX_EPOCH};

use rcgen::{
    CertificateParams, CustomExtension, ExtendedKeyUsagePurpose, KeyPair, PublicKeyData, SigningKey,
};
use sha1::{Digest, Sha1};
use sha2::Sha256;

use crate::tls::{Authority, Identity};
pub use responder::{Reply, Responder, UNREACHABLE};

/// The key type of the certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// P-256 keys, generated for each certificate.
    Ecdsa,
    /// RSA keys of 2048 bits, read from files.
    Rsa,
}

impl Keys {
    fn key(self, rsa: &str) -> KeyPair {
        let key = match self {
            Self::Ecdsa => KeyPair::generate(),
            Self::Rsa => KeyPair::from_pem(rsa),
        };
        key.expect("a key")
    }

    /// A new certificate authority.
    #[must_use]
    pub fn authority(self) -> Authority {
        Authority::with_key(self.key(include_str!("ocsp/keys/authority.pem")))
    }

    /// A server certificate for `localhost` with these OCSP responders.
    #[must_use]
    pub fn server(self, authority: &Authority, responders: &[&str], must_staple: bool) -> Identity {
        let key = self.key(include_str!("ocsp/keys/server.pem"));
        authority.issue_for_key(&["localhost"], key, |params| {
            add_responders(params, responders);
            if must_staple {
                require_staple(params);
            }
        })
    }

    /// A certificate issued by the authority for signing OCSP responses (RFC 6960: delegated
    /// responder).
    #[must_use]
    pub fn delegate(self, authority: &Authority) -> Identity {
        let key = self.key(include_str!("ocsp/keys/delegate.pem"));
        authority.issue_for_key(&["a responder"], key, allow_signing)
    }
}

/// Sets the extended key usage `id-kp-OCSPSigning` only.
pub fn allow_signing(params: &mut CertificateParams) {
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::OcspSigning];
}

/// Adds the extension Authority Information Access with `id-ad-ocsp`.
pub fn add_responders(params: &mut CertificateParams, responders: &[&str]) {
    let oid = tlv(OID, &[0x2b, 6, 1, 5, 5, 7, 48, 1]);
    let list: Vec<u8> = responders
        .iter()
        .flat_map(|url| tlv(SEQUENCE, &[oid.clone(), tlv(0x86, url.as_bytes())].concat()))
        .collect();
    if !list.is_empty() {
        let extension = CustomExtension::from_oid_content(&[1, 3, 6, 1, 5, 5, 7, 1, 1], tlv(SEQUENCE, &list));
        params.custom_extensions.push(extension);
    }
}

/// Adds the extension Must-Staple (RFC 7633).
pub fn require_staple(params: &mut CertificateParams) {
    let extension =
        CustomExtension::from_oid_content(&[1, 3, 6, 1, 5, 5, 7, 1, 24], tlv(SEQUENCE, &tlv(INTEGER, &[5])));
    params.custom_extensions.push(extension);
}

/// The certificate status (RFC 6960: `CertStatus`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// `good`.
    Good,
    /// `revoked` one hour ago with the reason `keyCompromise`.
    Revoked,
    /// `unknown`.
    Unknown,
}

/// An OCSP response for one certificate. By default `thisUpdate` is one minute ago, `nextUpdate` is
/// in one hour, and the issuing authority signs.
pub struct Response<'a> {
    /// The issuer of the certificate.
    pub authority: &'a Authority,
    /// The serial number of the certificate.
    pub serial: Vec<u8>,
    /// The reported status.
    pub status: Status,
    /// `thisUpdate`, in seconds from now.
    pub this_update: i64,
    /// `nextUpdate`, in seconds from now.
    pub next_update: Option<i64>,
    /// The key that signs, and the certificate that identifies it.
    pub signer: Signer<'a>,
    /// Whether the `CertID` uses SHA-256 instead of SHA-1.
    pub sha256: bool,
    /// Whether the `ResponderID` is `byKey` instead of `byName`.
    pub by_key: bool,
}

/// The signer of a response.
#[derive(Clone, Copy)]
pub enum Signer<'a> {
    /// A certificate authority; the response contains no certificate.
    Authority(&'a Authority),
    /// A delegated responder; the response contains its certificate.
    Delegate(&'a Identity),
}

impl<'a> Response<'a> {
    /// A response for a certificate of this authority, signed by the authority.
    #[must_use]
    pub fn new(authority: &'a Authority, identity: &Identity, status: Status) -> Self {
        Self {
            authority,
            serial: identity.serial().to_vec(),
            status,
            this_update: -60,
            next_update: Some(3600),
            signer: Signer::Authority(authority),
            sha256: false,
            by_key: false,
        }
    }

    /// The `OCSPResponse` in DER.
    #[must_use]
    pub fn der(&self) -> Vec<u8> {
        let signed = self.response_data();
        let (key, certificates) = match self.signer {
            Signer::Authority(authority) => (authority.key(), Vec::new()),
            Signer::Delegate(identity) => (identity.key(), tlv(0xa0, &tlv(SEQUENCE, identity.der()))),
        };
        let algorithm = if key.is_compatible(&rcgen::PKCS_RSA_SHA256) {
            let oid = tlv(OID, &[0x2a, 0x86, 0x48, 0x86, 0xf7, 13, 1, 1, 11]);
            tlv(SEQUENCE, &[oid, tlv(NULL, &[])].concat())
        } else {
            tlv(SEQUENCE, &tlv(OID, &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2]))
        };
        let signature = key.sign(&signed).expect("a signature");
        let signature = tlv(BIT_STRING, &[vec![0], signature].concat());
        let basic = tlv(SEQUENCE, &[signed, algorithm, signature, certificates].concat());
        let form = tlv(OID, &[0x2b, 6, 1, 5, 5, 7, 48, 1, 1]);
        let bytes = tlv(SEQUENCE, &[form, tlv(OCTET_STRING, &basic)].concat());
        tlv(SEQUENCE, &[tlv(ENUMERATED, &[0]), tlv(0xa0, &bytes)].concat())
    }

    fn response_data(&self) -> Vec<u8> {
        let (der, key): (&[u8], _) = match self.signer {
            Signer::Authority(authority) => (authority.der(), authority.key()),
            Signer::Delegate(identity) => (identity.der(), identity.key()),
        };
        let responder = if self.by_key {
            tlv(0xa2, &tlv(OCTET_STRING, &Sha1::digest(key.der_bytes())))
        } else {
            tlv(0xa1, subject_of(der))
        };
        let mut single = vec![self.id()];
        single.push(match self.status {
            Status::Good => tlv(0x80, &[]),
            Status::Revoked => tlv(0xa1, &[time(-3600), tlv(0xa0, &tlv(ENUMERATED, &[1]))].concat()),
            Status::Unknown => tlv(0x82, &[]),
        });
        single.push(time(self.this_update));
        single.extend(self.next_update.map(|next| tlv(0xa0, &time(next))));
        let singles = tlv(SEQUENCE, &tlv(SEQUENCE, &single.concat()));
        tlv(SEQUENCE, &[responder, time(self.this_update), singles].concat())
    }

    fn id(&self) -> Vec<u8> {
        let (name, key) = (subject_of(self.authority.der()), self.authority.key().der_bytes());
        let (oid, name, key): (&[u8], _, _) = if self.sha256 {
            (
                &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1],
                Sha256::digest(name).to_vec(),
                Sha256::digest(key).to_vec(),
            )
        } else {
            (
                &[0x2b, 14, 3, 2, 26],
                Sha1::digest(name).to_vec(),
                Sha1::digest(key).to_vec(),
            )
        };
        let algorithm = tlv(SEQUENCE, &[tlv(OID, oid), tlv(NULL, &[])].concat());
        let parts = [
            algorithm,
            tlv(OCTET_STRING, &name),
            tlv(OCTET_STRING, &key),
            tlv(INTEGER, &self.serial),
        ];
        tlv(SEQUENCE, &parts.concat())
    }
}

/// A response with this `OCSPResponseStatus` and without `responseBytes`.
#[must_use]
pub fn failure(status: u8) -> Vec<u8> {
    tlv(SEQUENCE, &tlv(ENUMERATED, &[status]))
}

const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const NULL: u8 = 0x05;
const OID: u8 = 0x06;
const ENUMERATED: u8 = 0x0a;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;

fn tlv(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let head = match length {
        0..0x80 => vec![tag, length as u8],
        0x80..0x100 => vec![tag, 0x81, length as u8],
        _ => vec![tag, 0x82, (length >> 8) as u8, length as u8],
    };
    [&head, content].concat()
}

/// A `GeneralizedTime` this many seconds from now.
fn time(offset: i64) -> Vec<u8> {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a clock")
        .as_secs();
    let second = now.checked_add_signed(offset).expect("a time after 1970");
    let (mut day, second) = (second / 86_400, second % 86_400);
    let mut year = 1970;
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    while day >= 365 + u64::from(is_leap(year)) {
        day -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let day = day + 1;
    let text = format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}Z");
    tlv(GENERALIZED_TIME, text.as_bytes())
}

/// The DER encoding of the subject of a certificate.
fn subject_of(certificate: &[u8]) -> &[u8] {
    let tbs = content(content(certificate));
    let mut rest = tbs;
    // Version, serial number, algorithm, issuer, validity.
    for _ in 0..5 {
        rest = &rest[whole_length(rest)..];
    }
    &rest[..whole_length(rest)]
}

fn head_length(der: &[u8]) -> (usize, usize) {
    match der[1] {
        short if short < 0x80 => (2, usize::from(short)),
        0x81 => (3, usize::from(der[2])),
        0x82 => (4, usize::from(der[2]) << 8 | usize::from(der[3])),
        other => panic!("unsupported length in DER: {other:#x}"),
    }
}

fn whole_length(der: &[u8]) -> usize {
    let (head, content) = head_length(der);
    head + content
}

fn content(der: &[u8]) -> &[u8] {
    let (head, length) = head_length(der);
    &der[head..head + length]
}
