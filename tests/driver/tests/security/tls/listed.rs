//! Server certificates that are listed in `tlsCAFile` themselves.

use marula_driver_tests::{
    standalone,
    tls::{Authority, Files, Identity, TlsTerminator, expire},
};
use marula_test_server::TestServer;
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa};

use super::{selection_error, works};

struct Listed {
    terminator: TlsTerminator,
    files: Files,
    _server: TestServer,
}

impl Listed {
    async fn start(identity: &Identity) -> Self {
        let server = standalone().await.server;
        Self {
            terminator: TlsTerminator::start(identity, server.addresses()[0]).await,
            files: Files::new(),
            _server: server,
        }
    }

    /// A connection string that trusts the certificates in this text.
    fn trusting(&self, pem: &str, options: &str) -> String {
        let file = self.files.write("ca.pem", pem);
        let port = self.terminator.address.port();
        format!("mongodb://localhost:{port}/?directConnection=true&tls=true&tlsCAFile={file}&{options}")
    }
}

fn an_authority(params: &mut CertificateParams) {
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
}

#[tokio::test]
async fn a_listed_certificate_is_trusted_regardless_of_its_issuer() {
    for identity in [
        Identity::self_signed(&["localhost"], |_| {}),
        Identity::self_signed(&["localhost"], an_authority),
        Identity::self_signed(&["localhost"], |params| {
            an_authority(params);
            params.extended_key_usages.clear();
        }),
        Authority::new().issue(&["localhost"]),
    ] {
        let listed = Listed::start(&identity).await;
        works(&listed.trusting(&identity.certificate_pem(), "")).await;
        let among_others = Authority::new().pem() + &identity.certificate_pem();
        works(&listed.trusting(&among_others, "")).await;
    }
}

#[tokio::test]
async fn a_listed_certificate_must_be_valid_for_the_time_purpose_and_name() {
    for (identity, expected) in [
        (
            Identity::self_signed(&["localhost"], |params| {
                an_authority(params);
                expire(params);
            }),
            "expired",
        ),
        (
            Identity::self_signed(&["localhost"], |params| {
                an_authority(params);
                params.not_before = rcgen::date_time_ymd(3000, 1, 1);
                params.not_after = rcgen::date_time_ymd(3001, 1, 1);
            }),
            "notvalidyet",
        ),
        (
            Identity::self_signed(&["localhost"], |params| {
                an_authority(params);
                params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
            }),
            "purpose",
        ),
        (
            Identity::self_signed(&["other.example.com"], an_authority),
            "other.example.com",
        ),
    ] {
        let listed = Listed::start(&identity).await;
        let text = selection_error(&listed.trusting(&identity.certificate_pem(), "")).await;
        assert!(text.to_lowercase().contains(expected), "{expected}: {text}");
    }
    let elsewhere = Identity::self_signed(&["other.example.com"], an_authority);
    let listed = Listed::start(&elsewhere).await;
    let any_name = "tlsAllowInvalidHostnames=true";
    works(&listed.trusting(&elsewhere.certificate_pem(), any_name)).await;
}

#[tokio::test]
async fn another_certificate_with_the_same_name_is_not_trusted() {
    let shown = Identity::self_signed(&["localhost"], an_authority);
    let listed = Listed::start(&shown).await;
    let other = Identity::self_signed(&["localhost"], an_authority);
    for options in ["", "tlsAllowInvalidHostnames=true"] {
        let text = selection_error(&listed.trusting(&other.certificate_pem(), options)).await;
        assert!(text.contains("certificate"), "{text}");
    }
}
