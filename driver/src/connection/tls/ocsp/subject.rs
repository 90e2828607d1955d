//! Whose status is in question: a certificate, known by its issuer and its number (`CertID`, RFC 6960, 4.1.1), and the
//! request that asks for it.

use sha1::Sha1;
use sha2::{Digest, Sha256};
use tokio_rustls::rustls::pki_types::{Der, SubjectPublicKeyInfoDer, TrustAnchor};
use webpki::{EndEntityCert, VerifiedPath};

use super::{
    asn1::{Fields, INTEGER, OCTET_STRING, Result, SEQUENCE, Tag, only_sequence, tlv},
    certificate::Certificate,
};
use crate::connection::http::Url;

/// 1.3.14.3.2.26 without parameters but NULL, with tag and length: what responders expect in a request.
const SHA_1: &[u8] = &[0x30, 9, 6, 5, 0x2b, 14, 3, 2, 26, 5, 0];
/// 1.3.14.3.2.26
const SHA_1_OID: &[u8] = &[0x2b, 14, 3, 2, 26];
/// 2.16.840.1.101.3.4.2.1
const SHA_256_OID: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1];

/// Who issued the certificate.
#[derive(Debug)]
pub(super) struct Issuer {
    /// Its name and key, as the root of other certificates.
    pub(super) anchor: TrustAnchor<'static>,
    /// Its key.
    pub(super) key: SubjectPublicKeyInfoDer<'static>,
    /// Its name with tag and length.
    pub(super) name: Vec<u8>,
    /// The key's bits alone, hashed.
    pub(super) key_sha1: [u8; 20],
}

/// `CertID` with both hashes, so that a response in terms of either is recognised.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct CertId {
    name_sha1: [u8; 20],
    name_sha256: [u8; 32],
    key_sha1: [u8; 20],
    key_sha256: [u8; 32],
    serial: Vec<u8>,
}

/// A certificate that was found good but for its status.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) id: CertId,
    pub(super) issuer: Issuer,
    pub(super) must_staple: bool,
    pub(super) responders: Vec<Url>,
}

impl Issuer {
    /// From the contents of name and key, without their tags.
    fn new<'a>(name: &[u8], key: &'a [u8]) -> Result<(Self, &'a [u8])> {
        let mut fields = Fields::new(key)?;
        fields.sequence()?;
        let bits = fields.bits()?;
        let issuer = Self {
            anchor: TrustAnchor {
                subject: Der::from(name.to_vec()),
                subject_public_key_info: Der::from(key.to_vec()),
                name_constraints: None,
            },
            key: SubjectPublicKeyInfoDer::from(tlv(SEQUENCE, key)),
            name: tlv(SEQUENCE, name),
            key_sha1: Sha1::digest(bits).into(),
        };
        Ok((issuer, bits))
    }
}

impl Subject {
    /// The certificate at the end of a path that was verified. Responders that cannot be asked (`ldap:`, `https:`) are left
    /// out.
    pub(super) fn of_path(der: &[u8], path: &VerifiedPath<'_>) -> Result<Self> {
        match path.intermediate_certificates().next() {
            Some(issuer) => {
                let key = issuer.subject_public_key_info();
                let mut fields = Fields::new(key.as_ref())?;
                let content = fields.value(Tag::Sequence)?;
                Self::new(der, issuer.subject(), content)
            }
            None => Self::new(
                der,
                path.anchor().subject.as_ref(),
                path.anchor().subject_public_key_info.as_ref(),
            ),
        }
    }

    fn new(der: &[u8], issuer_name: &[u8], issuer_key: &[u8]) -> Result<Self> {
        let certificate = Certificate::parse(der)?;
        let (issuer, key_bits) = Issuer::new(issuer_name, issuer_key)?;
        Ok(Self {
            id: CertId {
                name_sha1: Sha1::digest(&issuer.name).into(),
                name_sha256: Sha256::digest(&issuer.name).into(),
                key_sha1: issuer.key_sha1,
                key_sha256: Sha256::digest(key_bits).into(),
                serial: certificate.serial.to_vec(),
            },
            issuer,
            must_staple: certificate.must_staple,
            responders: certificate
                .responders
                .iter()
                .filter_map(|text| Url::parse(text))
                .collect(),
        })
    }

    /// `OCSPRequest` for this one certificate: unsigned, without a nonce.
    pub(super) fn request(&self) -> Vec<u8> {
        let id = [
            SHA_1,
            &tlv(OCTET_STRING, &self.id.name_sha1),
            &tlv(OCTET_STRING, &self.id.key_sha1),
            &tlv(INTEGER, &self.id.serial),
        ]
        .concat();
        // OCSPRequest, TBSRequest, requestList, Request, CertID.
        (0..5).fold(id, |content, _| tlv(SEQUENCE, &content))
    }
}

impl CertId {
    /// Whether a response that names this `CertID` speaks of this certificate. Other hashes than SHA-1 and SHA-256 name none.
    pub(super) fn is_named_by(&self, bytes: &[u8]) -> Result<bool> {
        let mut fields = only_sequence(bytes)?;
        let algorithm = fields.sequence()?.value(Tag::ObjectIdentifier)?;
        let (name, key) = (fields.value(Tag::OctetString)?, fields.value(Tag::OctetString)?);
        let same_number = fields.value(Tag::Integer)? == self.serial;
        fields.end()?;
        Ok(same_number
            && match algorithm {
                SHA_1_OID => name == self.name_sha1 && key == self.key_sha1,
                SHA_256_OID => name == self.name_sha256 && key == self.key_sha256,
                _ => false,
            })
    }
}

/// Name (with tag and length) and hashed key of a certificate: the two ways in which a response names its signer.
pub(super) fn signer_names(certificate: &EndEntityCert<'_>) -> Result<(Vec<u8>, [u8; 20])> {
    let key = certificate.subject_public_key_info();
    let mut fields = only_sequence(key.as_ref())?;
    fields.sequence()?;
    let hash = Sha1::digest(fields.bits()?).into();
    Ok((tlv(SEQUENCE, certificate.subject()), hash))
}
