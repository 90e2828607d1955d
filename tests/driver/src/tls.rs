//! Certificates made on the spot, and a listener that takes off the encryption in front of a server without any.

mod front;

use std::{
    fs,
    path::PathBuf,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
};

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    SerialNumber, date_time_ymd,
};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

pub use front::{FrontOptions, Met, TlsFront};

/// A certificate authority of its own.
pub struct Authority {
    certificate: Certificate,
    issuer: Issuer<'static, KeyPair>,
    /// Certificates that lead from this authority to its root.
    chain: Vec<CertificateDer<'static>>,
    name: String,
}

/// A certificate with its key.
pub struct Identity {
    certificate: Certificate,
    key: KeyPair,
    chain: Vec<CertificateDer<'static>>,
    serial: Vec<u8>,
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

/// Opens the key of [`Identity::pem_with_encrypted_key`].
pub const KEY_PASSWORD: &str = "hunter2";

/// A number that no other certificate of this process has, and its bytes within the certificate.
fn serial() -> Vec<u8> {
    static NEXT: AtomicU64 = AtomicU64::new(0x0123_4567_0000_0000);
    NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes().to_vec()
}

fn authority_name() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    format!("Authority {}", NEXT.fetch_add(1, Ordering::Relaxed))
}

fn authority_params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::new(Vec::new()).expect("parameters");
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.serial_number = Some(SerialNumber::from(serial()));
    params
}

impl Authority {
    /// # Panics
    /// When no key can be made.
    #[must_use]
    pub fn new() -> Self {
        Self::with_key(KeyPair::generate().expect("a key"))
    }

    /// With a key from elsewhere.
    ///
    /// # Panics
    /// When the key cannot sign.
    #[must_use]
    pub fn with_key(key: KeyPair) -> Self {
        Self::named(authority_name(), key)
    }

    /// Another authority that goes by the name of this one.
    ///
    /// # Panics
    /// When no key can be made.
    #[must_use]
    pub fn impostor(&self) -> Self {
        Self::named(self.name.clone(), KeyPair::generate().expect("a key"))
    }

    fn named(name: String, key: KeyPair) -> Self {
        let params = authority_params(&name);
        let certificate = params.self_signed(&key).expect("a certificate");
        Self {
            certificate,
            issuer: Issuer::new(params, key),
            chain: Vec::new(),
            name,
        }
    }

    /// An authority that has its certificate from this one.
    ///
    /// # Panics
    /// When no key can be made.
    #[must_use]
    pub fn subordinate(&self) -> Self {
        let key = KeyPair::generate().expect("a key");
        let name = authority_name();
        let params = authority_params(&name);
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let chain = [vec![certificate.der().clone()], self.chain.clone()].concat();
        Self {
            certificate,
            issuer: Issuer::new(params, key),
            chain,
            name,
        }
    }

    /// The authority's own certificate, for `tlsCAFile`.
    #[must_use]
    pub fn pem(&self) -> String {
        self.certificate.pem()
    }

    /// The same in DER.
    #[must_use]
    pub fn der(&self) -> &CertificateDer<'static> {
        self.certificate.der()
    }

    /// Its key.
    #[must_use]
    pub fn key(&self) -> &KeyPair {
        self.issuer.key()
    }

    /// A certificate for these names or addresses.
    #[must_use]
    pub fn issue(&self, names: &[&str]) -> Identity {
        self.issue_with(names, |_| {})
    }

    /// A certificate that was in force long ago.
    #[must_use]
    pub fn issue_expired(&self, names: &[&str]) -> Identity {
        self.issue_with(names, expire)
    }

    /// A certificate with changes.
    ///
    /// # Panics
    /// When no key can be made.
    #[must_use]
    pub fn issue_with(&self, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Identity {
        self.issue_for_key(names, KeyPair::generate().expect("a key"), change)
    }

    /// The same for a key from elsewhere.
    ///
    /// # Panics
    /// When the names are none.
    #[must_use]
    pub fn issue_for_key(
        &self,
        names: &[&str],
        key: KeyPair,
        change: impl FnOnce(&mut CertificateParams),
    ) -> Identity {
        let (mut params, serial) = identity_params(names);
        change(&mut params);
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        Identity {
            certificate,
            key,
            chain: self.chain.clone(),
            serial,
        }
    }
}

/// Moves a certificate into the past.
pub fn expire(params: &mut CertificateParams) {
    params.not_before = date_time_ymd(2001, 1, 1);
    params.not_after = date_time_ymd(2002, 1, 1);
}

fn identity_params(names: &[&str]) -> (CertificateParams, Vec<u8>) {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let serial = serial();
    let mut params = CertificateParams::new(names).expect("names");
    params.serial_number = Some(SerialNumber::from(serial.clone()));
    params.extended_key_usages = vec![
        ExtendedKeyUsagePurpose::ServerAuth,
        ExtendedKeyUsagePurpose::ClientAuth,
    ];
    (params, serial)
}

impl Identity {
    /// A self-signed certificate.
    ///
    /// # Panics
    /// When no key can be made.
    #[must_use]
    pub fn self_signed(names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Self {
        let key = KeyPair::generate().expect("a key");
        let (mut params, serial) = identity_params(names);
        change(&mut params);
        let certificate = params.self_signed(&key).expect("a certificate");
        Self {
            certificate,
            key,
            chain: Vec::new(),
            serial,
        }
    }

    /// A client's certificate with its encrypted key, which [`KEY_PASSWORD`] opens.
    ///
    /// # Panics
    /// When the key cannot be read.
    #[must_use]
    pub fn pem_with_encrypted_key(clients: &Authority) -> String {
        let key = KeyPair::from_pem(include_str!("tls/keys/client_key.pem")).expect("a key");
        let identity = clients.issue_for_key(&["a client"], key, |_| {});
        identity.certificate_pem() + include_str!("tls/keys/client_key_encrypted.pem")
    }

    /// Certificate and key, for `tlsCertificateKeyFile`.
    #[must_use]
    pub fn pem(&self) -> String {
        self.certificate.pem() + &self.key.serialize_pem()
    }

    /// The certificate alone.
    #[must_use]
    pub fn certificate_pem(&self) -> String {
        self.certificate.pem()
    }

    /// The same in DER.
    #[must_use]
    pub fn der(&self) -> &CertificateDer<'static> {
        self.certificate.der()
    }

    /// The bytes of its number.
    #[must_use]
    pub fn serial(&self) -> &[u8] {
        &self.serial
    }

    /// Its key.
    #[must_use]
    pub fn key(&self) -> &KeyPair {
        &self.key
    }

    /// Without the certificates that lead to its root.
    #[must_use]
    pub fn alone(mut self) -> Self {
        self.chain.clear();
        self
    }

    fn shown(&self) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.serialize_der()));
        (
            [vec![self.certificate.der().clone()], self.chain.clone()].concat(),
            key,
        )
    }
}

/// Files that are gone when this value is.
#[derive(Debug)]
pub struct Files(PathBuf);

impl Default for Files {
    fn default() -> Self {
        Self::new()
    }
}

impl Files {
    /// # Panics
    /// When no folder can be made.
    #[must_use]
    pub fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("marula-tls-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    /// Writes a file and returns its path.
    ///
    /// # Panics
    /// When it cannot be written.
    #[must_use]
    pub fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::write(&path, text).expect("a file");
        path.to_str().expect("a readable path").to_owned()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
