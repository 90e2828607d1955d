//! Client certificates, and servers that require them.

use marula_driver_tests::{
    standalone,
    tls::{Authority, Files, Identity, KEY_PASSWORD, TerminatorOptions, TlsTerminator, expire},
};
use marula_test_server::TestServer;
use tokio_rustls::rustls::{
    SupportedProtocolVersion,
    version::{TLS12, TLS13},
};

use super::{Encrypted, selection_error, works};

static ONLY_TLS12: [&SupportedProtocolVersion; 1] = [&TLS12];
static ONLY_TLS13: [&SupportedProtocolVersion; 1] = [&TLS13];

/// A server that requires a client certificate of the authority `clients`.
struct RequiresCertificate {
    clients: Authority,
    terminator: TlsTerminator,
    files: Files,
    ca_file: String,
    _server: TestServer,
}

impl RequiresCertificate {
    async fn start(versions: &'static [&'static SupportedProtocolVersion]) -> Self {
        let (authority, clients) = (Authority::new(), Authority::new());
        let server = standalone().await.server;
        let options = TerminatorOptions {
            clients: Some(&clients),
            versions,
            ..TerminatorOptions::default()
        };
        let identity = authority.issue(&["localhost"]);
        let terminator = TlsTerminator::start_with(&identity, options, server.addresses()[0]).await;
        let files = Files::new();
        Self {
            clients,
            terminator,
            ca_file: files.write("ca.pem", &authority.pem()),
            files,
            _server: server,
        }
    }

    fn uri(&self, options: &str) -> String {
        let port = self.terminator.address.port();
        format!(
            "mongodb://localhost:{port}/?directConnection=true&tls=true&tlsCAFile={}&{options}",
            self.ca_file
        )
    }

    fn uri_with_certificate(&self, pem: &str) -> String {
        let file = self.files.write("client.pem", pem);
        self.uri(&format!("tlsCertificateKeyFile={file}"))
    }
}

#[tokio::test]
async fn a_client_key_may_be_encrypted() {
    let server = RequiresCertificate::start(&[]).await;
    let uri = server.uri_with_certificate(&Identity::pem_with_encrypted_key(&server.clients));
    works(&format!("{uri}&tlsCertificateKeyFilePassword={KEY_PASSWORD}")).await;
    assert!(server.terminator.counts().certificate);
}

#[tokio::test]
async fn errors_contain_the_tls_alert_of_the_server() {
    for versions in [&ONLY_TLS12, &ONLY_TLS13] {
        let server = RequiresCertificate::start(versions).await;
        works(&server.uri_with_certificate(&server.clients.issue(&["a client"]).pem())).await;

        let text = selection_error(&server.uri("")).await;
        assert!(
            text.contains("received fatal alert: CertificateRequired"),
            "{text}"
        );

        let expired = server.clients.issue_with(&["a client"], expire);
        let text = selection_error(&server.uri_with_certificate(&expired.pem())).await;
        assert!(text.contains("CertificateExpired"), "{text}");

        let untrusted = Authority::new().issue(&["a client"]);
        let text = selection_error(&server.uri_with_certificate(&untrusted.pem())).await;
        assert!(text.contains("UnknownCA"), "{text}");
    }
}

#[tokio::test]
async fn tls_1_2_and_1_3_are_supported() {
    for versions in [&ONLY_TLS12, &ONLY_TLS13] {
        let authority = Authority::new();
        let server = standalone().await.server;
        let options = TerminatorOptions {
            versions,
            ..TerminatorOptions::default()
        };
        let identity = authority.issue(&["localhost"]);
        let encrypted = Encrypted {
            terminator: TlsTerminator::start_with(&identity, options, server.addresses()[0]).await,
            ..Encrypted::valid().await
        };
        let ca_file = encrypted.files.write("own.pem", &authority.pem());
        works(&encrypted.uri("localhost", &format!("tlsCAFile={ca_file}"))).await;
        assert!(encrypted.terminator.counts().encrypted >= 2);
    }
}
