//! Certificates made on the spot, for trying things out.

use super::tls::TlsIdentity;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair,
};
use std::io;
use std::path::{Path, PathBuf};

/// An authority, and what it has certified: a server on this machine, and a client. Nobody else trusts it.
#[derive(Debug, Clone)]
pub struct SelfMadeCertificates {
    /// The authority's certificate in PEM.
    pub authority_pem: String,
    /// The certificate of a server named `localhost`, `127.0.0.1` and `::1`.
    pub server: TlsIdentity,
    /// The certificate of a client.
    pub client: TlsIdentity,
}

/// Where [`SelfMadeCertificates::write`] has put the files.
#[derive(Debug, Clone)]
pub struct CertificateFiles {
    /// For `tlsCAFile`.
    pub authority: PathBuf,
    /// For `tlsCertificateKeyFile`.
    pub client: PathBuf,
}

impl SelfMadeCertificates {
    /// Whom the client's certificate names.
    pub const CLIENT_SUBJECT: &'static str = "CN=client,OU=tests,O=Marula";

    /// New certificates with new keys.
    ///
    /// # Errors
    ///
    /// If the system has no random numbers.
    pub fn new() -> io::Result<SelfMadeCertificates> {
        let made = || -> Result<SelfMadeCertificates, rcgen::Error> {
            let key = KeyPair::generate()?;
            let mut params = CertificateParams::new(Vec::new())?;
            params.distinguished_name = named(&[(DnType::CommonName, "Marula test authority")]);
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            let authority_pem = params.self_signed(&key)?.pem();
            let issuer = Issuer::new(params, key);
            let hosts = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
            let server = issue(&issuer, &hosts, &[(DnType::CommonName, "localhost")])?;
            let client = [
                (DnType::OrganizationName, "Marula"),
                (DnType::OrganizationalUnitName, "tests"),
                (DnType::CommonName, "client"),
            ];
            Ok(SelfMadeCertificates {
                authority_pem,
                server,
                client: issue(&issuer, &[], &client)?,
            })
        };
        made().map_err(io::Error::other)
    }

    /// Writes `ca.pem` and `client.pem`, the latter with its key, into this folder, which is made if need be.
    ///
    /// # Errors
    ///
    /// What writing gives.
    pub fn write(&self, folder: &Path) -> io::Result<CertificateFiles> {
        std::fs::create_dir_all(folder)?;
        let files = CertificateFiles {
            authority: folder.join("ca.pem"),
            client: folder.join("client.pem"),
        };
        std::fs::write(&files.authority, &self.authority_pem)?;
        let client = format!("{}{}", self.client.certificate_pem, self.client.key_pem);
        std::fs::write(&files.client, client)?;
        Ok(files)
    }
}

fn named(parts: &[(DnType, &str)]) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    for (kind, value) in parts {
        name.push(kind.clone(), *value);
    }
    name
}

fn issue(
    issuer: &Issuer<'_, KeyPair>,
    hosts: &[String],
    subject: &[(DnType, &str)],
) -> Result<TlsIdentity, rcgen::Error> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(hosts)?;
    params.distinguished_name = named(subject);
    params.use_authority_key_identifier_extension = true;
    params.extended_key_usages = vec![
        ExtendedKeyUsagePurpose::ServerAuth,
        ExtendedKeyUsagePurpose::ClientAuth,
    ];
    Ok(TlsIdentity {
        certificate_pem: params.signed_by(&key, issuer)?.pem(),
        key_pem: key.serialize_pem(),
    })
}
