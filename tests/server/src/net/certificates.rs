//! Generated certificates for tests.

use super::tls::TlsIdentity;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair,
};
use std::io;
use std::path::{Path, PathBuf};

/// A certificate authority, generated for tests, with a server certificate and a client certificate
/// that it has issued.
///
/// ```
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use marula_test_server::{TestCertificates, TestServer};
///
/// let certificates = TestCertificates::generate()?;
/// let directory = std::env::temp_dir().join(format!("marula-test-server-{}", std::process::id()));
/// let files = certificates.write(&directory)?;
/// let server = TestServer::builder()
///     .tls(certificates.server)
///     .tls_client_ca(certificates.ca_pem)
///     .start()
///     .await?;
/// let uri = format!(
///     "{}&tlsCAFile={}&tlsCertificateKeyFile={}",
///     server.uri(),
///     files.ca.display(),
///     files.client_certificate_key.display()
/// );
/// # std::fs::remove_dir_all(directory)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TestCertificates {
    /// The certificate of the certificate authority in PEM.
    pub ca_pem: String,
    /// The server certificate, valid for `localhost`, `127.0.0.1` and `::1`.
    pub server: TlsIdentity,
    /// The client certificate; its subject is [`CLIENT_SUBJECT`](Self::CLIENT_SUBJECT).
    pub client: TlsIdentity,
}

/// The files written by [`TestCertificates::write`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CertificateFiles {
    /// The certificate of the certificate authority, for `tlsCAFile`.
    pub ca: PathBuf,
    /// The client certificate and its private key, for `tlsCertificateKeyFile`.
    pub client_certificate_key: PathBuf,
}

impl TestCertificates {
    /// The subject of the client certificate (RFC 2253), as the user name for `MONGODB-X509`.
    pub const CLIENT_SUBJECT: &'static str = "CN=client,OU=tests,O=Marula";

    /// Generates the authority and the certificates, each with a new private key.
    ///
    /// # Errors
    ///
    /// If the system's random number generator fails.
    pub fn generate() -> io::Result<TestCertificates> {
        let generate = || -> Result<TestCertificates, rcgen::Error> {
            let key = KeyPair::generate()?;
            let mut params = CertificateParams::new(Vec::new())?;
            params.distinguished_name = named(&[(DnType::CommonName, "Marula test authority")]);
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            let ca_pem = params.self_signed(&key)?.pem();
            let issuer = Issuer::new(params, key);
            let hosts = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
            let server = issue(&issuer, &hosts, &[(DnType::CommonName, "localhost")])?;
            let client = [
                (DnType::OrganizationName, "Marula"),
                (DnType::OrganizationalUnitName, "tests"),
                (DnType::CommonName, "client"),
            ];
            Ok(TestCertificates {
                ca_pem,
                server,
                client: issue(&issuer, &[], &client)?,
            })
        };
        generate().map_err(io::Error::other)
    }

    /// Writes `ca.pem` and `client.pem`, the client certificate with its private key, into a
    /// directory, which is created if it does not exist.
    ///
    /// # Errors
    ///
    /// The error of creating the directory or writing a file.
    pub fn write(&self, directory: &Path) -> io::Result<CertificateFiles> {
        std::fs::create_dir_all(directory)?;
        let files = CertificateFiles {
            ca: directory.join("ca.pem"),
            client_certificate_key: directory.join("client.pem"),
        };
        std::fs::write(&files.ca, &self.ca_pem)?;
        let client = format!("{}{}", self.client.certificate_pem, self.client.key_pem);
        std::fs::write(&files.client_certificate_key, client)?;
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
