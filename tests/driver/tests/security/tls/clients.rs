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

use super::{Encrypted, refusal, works};

static ONLY_TLS12: [&SupportedProtocolVersion; 1] = [&TLS12];
static ONLY_TLS13: [&SupportedProtocolVersion; 1] = [&TLS13];

/// A server that wants to see a certificate of `clients`.
struct Demanding {
    clients: Authority,
    terminator: TlsTerminator,
    files: Files,
    ca_file: String,
    _server: TestServer,
}

impl Demanding {
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

    fn showing(&self, pem: &str) -> String {
        let file = self.files.write("client.pem", pem);
        self.uri(&format!("tlsCertificateKeyFile={file}"))
    }
}

#[tokio::test]
async fn a_key_may_be_encrypted() {
    let demanding = Demanding::start(&[]).await;
    let uri = demanding.showing(&Identity::pem_with_encrypted_key(&demanding.clients));
    works(&format!("{uri}&tlsCertificateKeyFilePassword={KEY_PASSWORD}")).await;
    assert!(demanding.terminator.counts().certificate);
}

#[tokio::test]
async fn a_server_says_what_it_has_against_the_client() {
    for versions in [&ONLY_TLS12, &ONLY_TLS13] {
        let demanding = Demanding::start(versions).await;
        works(&demanding.showing(&demanding.clients.issue(&["a client"]).pem())).await;

        let text = refusal(&demanding.uri("")).await;
        assert!(
            text.contains("received fatal alert: CertificateRequired"),
            "{text}"
        );

        let expired = demanding.clients.issue_with(&["a client"], expire);
        let text = refusal(&demanding.showing(&expired.pem())).await;
        assert!(text.contains("CertificateExpired"), "{text}");

        let stranger = Authority::new().issue(&["a client"]);
        let text = refusal(&demanding.showing(&stranger.pem())).await;
        assert!(text.contains("UnknownCA"), "{text}");
    }
}

#[tokio::test]
async fn both_versions_of_tls_are_spoken() {
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
            ..Encrypted::well().await
        };
        let ca_file = encrypted.files.write("own.pem", &authority.pem());
        works(&encrypted.uri("localhost", &format!("tlsCAFile={ca_file}"))).await;
        assert!(encrypted.terminator.counts().encrypted >= 2);
    }
}
