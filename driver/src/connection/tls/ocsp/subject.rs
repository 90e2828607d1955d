//! The certificate whose status is checked: its `CertID` (RFC 6960, section 4.1.1) and the request
//! for its status.

use sha1::Sha1;
use sha2::{Digest, Sha256};
use tokio_rustls::rustls::pki_types::{Der, SubjectPublicKeyInfoDer, TrustAnchor};
use webpki::{EndEntityCert, VerifiedPath};

use super::{
    asn1::{Fields, Result, Tag, encode, only_sequence},
    certificate::Certificate,
};
use crate::connection::http::Url;

/// `AlgorithmIdentifier` of SHA-1 with NULL parameters, which all responders support (RFC 5019,
/// section 2.1.1).
const SHA_1: &[u8] = &[0x30, 9, 6, 5, 0x2b, 14, 3, 2, 26, 5, 0];
/// SHA-1: 1.3.14.3.2.26
const SHA_1_OID: &[u8] = &[0x2b, 14, 3, 2, 26];
/// SHA-256: 2.16.840.1.101.3.4.2.1
const SHA_256_OID: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1];

/// The issuer of the certificate.
#[derive(Debug)]
pub(super) struct Issuer {
    /// Name and key as a trust anchor, to verify certificates of delegates.
    pub(super) anchor: TrustAnchor<'static>,
    /// Public key.
    pub(super) key: SubjectPublicKeyInfoDer<'static>,
    /// Distinguished name, DER.
    pub(super) name: Vec<u8>,
    /// SHA-1 of the bits of the public key.
    pub(super) key_sha1: [u8; 20],
}

/// `CertID` with the hashes of both algorithms that responses may use.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct CertId {
    name_sha1: [u8; 20],
    name_sha256: [u8; 32],
    key_sha1: [u8; 20],
    key_sha256: [u8; 32],
    serial: Vec<u8>,
}

/// A certificate that is valid except for its revocation status.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) id: CertId,
    pub(super) issuer: Issuer,
    pub(super) must_staple: bool,
    pub(super) responders: Vec<Url>,
}

impl Issuer {
    /// Makes an issuer from the contents of name and public key, without their tags.
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
            key: SubjectPublicKeyInfoDer::from(encode(Tag::Sequence, key)?),
            name: encode(Tag::Sequence, name)?,
            key_sha1: Sha1::digest(bits).into(),
        };
        Ok((issuer, bits))
    }
}

impl Subject {
    /// The end-entity certificate of a verified path. Responders with other schemes than `http` are
    /// ignored.
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

    /// `OCSPRequest` for this certificate: unsigned, without a nonce (RFC 6960, section 4.1.1).
    pub(super) fn request(&self) -> Result<Vec<u8>> {
        let id = [
            SHA_1,
            &encode(Tag::OctetString, &self.id.name_sha1)?,
            &encode(Tag::OctetString, &self.id.key_sha1)?,
            &encode(Tag::Integer, &self.id.serial)?,
        ]
        .concat();
        // OCSPRequest, TBSRequest, requestList, Request, CertID.
        (0..5).try_fold(id, |content, _| encode(Tag::Sequence, &content))
    }
}

impl CertId {
    /// Whether this encoded `CertID` identifies the certificate. Other hash algorithms than SHA-1
    /// and SHA-256 never match.
    pub(super) fn matches(&self, bytes: &[u8]) -> Result<bool> {
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

/// Name and SHA-1 of the public key of a certificate: the two forms of `ResponderID` (RFC 6960,
/// section 4.2.1).
pub(super) fn signer_names(certificate: &EndEntityCert<'_>) -> Result<(Vec<u8>, [u8; 20])> {
    let key = certificate.subject_public_key_info();
    let mut fields = only_sequence(key.as_ref())?;
    fields.sequence()?;
    let hash = Sha1::digest(fields.bits()?).into();
    Ok((encode(Tag::Sequence, certificate.subject())?, hash))
}
