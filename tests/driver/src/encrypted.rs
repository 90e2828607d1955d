//! An in-process deployment with TLS, and the certificate files of its clients.

use marula_driver::Client;
use marula_test_server::{TestCertificates, TestServer, TestServerBuilder};

use crate::tls::Files;

/// A running deployment that accepts only TLS connections.
#[derive(Debug)]
pub struct Encrypted {
    /// The server; it stops when this value is dropped.
    pub server: TestServer,
    /// The certificate of the certificate authority, for `tlsCAFile`.
    pub authority: String,
    /// The certificate and private key of the client, for `tlsCertificateKeyFile`.
    pub client_key: String,
    _files: Files,
}

impl Encrypted {
    /// The subject of the client certificate.
    pub const CLIENT_SUBJECT: &'static str = TestCertificates::CLIENT_SUBJECT;

    /// Starts the deployment with its own certificate authority. Client certificates are optional.
    ///
    /// # Panics
    /// If it cannot start.
    pub async fn start(builder: TestServerBuilder) -> Self {
        Self::start_with(builder.tls_allow_connections_without_certificates()).await
    }

    /// As [`start`](Self::start), but clients must present a certificate.
    ///
    /// # Panics
    /// If it cannot start.
    pub async fn with_client_certificates(builder: TestServerBuilder) -> Self {
        Self::start_with(builder).await
    }

    async fn start_with(builder: TestServerBuilder) -> Self {
        let made = TestCertificates::generate().expect("certificates");
        let files = Files::new();
        let authority = files.write("ca.pem", &made.ca_pem);
        let client_key = format!("{}{}", made.client.certificate_pem, made.client.key_pem);
        let client_key = files.write("client.pem", &client_key);
        let builder = builder.tls(made.server).tls_client_ca(made.ca_pem);
        Self {
            server: builder.start().await.expect("the deployment starts"),
            authority,
            client_key,
            _files: files,
        }
    }

    /// A connection string with the certificate authority of the deployment, and options such as
    /// `maxPoolSize=1`.
    #[must_use]
    pub fn uri(&self, options: &str) -> String {
        format!("{}&tlsCAFile={}&{options}", self.server.uri(), self.authority)
    }

    /// As [`uri`](Self::uri), with the client certificate.
    #[must_use]
    pub fn uri_with_certificate(&self, options: &str) -> String {
        self.uri(&format!("tlsCertificateKeyFile={}&{options}", self.client_key))
    }

    /// A client that trusts the certificate authority of the deployment.
    ///
    /// # Panics
    /// If the options are refused.
    pub async fn client_with(&self, options: &str) -> Client {
        Client::connect(self.uri(options))
            .await
            .expect("a valid connection string")
    }
}
