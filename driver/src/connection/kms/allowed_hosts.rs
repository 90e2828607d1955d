//! The hosts that requests to key management services may be sent to.

use std::collections::BTreeSet;

use super::split;
use crate::{
    options::encryption::EncryptionSettings,
    types::{host_pattern, lock::Inner},
};

/// By the kind of provider: the name of a provider before a colon.
const DEFAULTS: [(&str, &[&str]); 4] = [
    ("aws", &["*.amazonaws.com", "*.amazonaws.com.cn", "*.api.aws"]),
    (
        "azure",
        &[
            "*.vault.azure.net",
            "*.vault.azure.cn",
            "*.vault.usgovcloudapi.net",
            "*.managedhsm.azure.net",
            "login.microsoftonline.com",
            "login.microsoftonline.us",
            "login.partner.microsoftonline.cn",
        ],
    ),
    ("gcp", &["*.googleapis.com"]),
    ("kmip", &[]),
];

/// The key vault can name any host, so that the hosts are those that the application or this list has.
pub(super) struct AllowedHosts {
    /// By the name of the provider.
    patterns: Vec<(String, Vec<String>)>,
    /// Provider and host of the master keys that the application has given. One that a key in the key vault has too.
    given: Inner<BTreeSet<(String, String)>>,
}

impl AllowedHosts {
    pub(super) fn new(settings: &EncryptionSettings) -> Self {
        let of_provider = |name: &String| {
            let kind = name.split(':').next().unwrap_or_default();
            let configured = settings
                .allowed_hosts
                .iter()
                .find(|(provider, _)| provider == name);
            let mut patterns = match configured {
                Some((_, hosts)) => hosts.clone(),
                None => DEFAULTS
                    .iter()
                    .filter(|(provider, _)| *provider == kind)
                    .flat_map(|(_, hosts)| hosts.iter().map(|host| (*host).to_owned()))
                    .collect(),
            };
            let own = settings.providers.endpoints(name);
            patterns.extend(own.iter().map(|endpoint| host_of(endpoint).to_owned()));
            (name.clone(), patterns)
        };
        Self {
            patterns: settings.providers.names().iter().map(of_provider).collect(),
            given: Inner::default(),
        }
    }

    /// Permits the host of an endpoint.
    pub(super) fn permit(&self, provider: &str, endpoint: &str) {
        let entry = (provider.to_owned(), host_of(endpoint).to_ascii_lowercase());
        self.given.lock().insert(entry);
    }

    /// Whether a request may be sent to the endpoint.
    pub(super) fn contain(&self, provider: &str, endpoint: &str) -> bool {
        let host = host_of(endpoint);
        let patterns = self.patterns.iter().find(|(name, _)| name == provider);
        patterns.is_some_and(|(_, patterns)| host_pattern::matches(host, patterns))
            || self
                .given
                .lock()
                .contains(&(provider.to_owned(), host.to_ascii_lowercase()))
    }
}

/// The host of `host:port`, or of a host without a port.
fn host_of(endpoint: &str) -> &str {
    let without_scheme = endpoint.strip_prefix("https://").unwrap_or(endpoint);
    split(without_scheme).map_or(without_scheme, |(host, _)| host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bson::doc, options::encryption::KmsProviders};

    #[test]
    fn hosts_are_those_of_the_provider_its_document_and_the_given_keys() {
        let providers = KmsProviders::new()
            .with("aws", doc! {})
            .with(
                "azure:eu",
                doc! { "identityPlatformEndpoint": "login.example:443" },
            )
            .with("kmip", doc! { "endpoint": "kmip.example:5696" });
        let mut settings = EncryptionSettings::new("encryption.keys".to_owned(), providers);
        let allowed = AllowedHosts::new(&settings);
        for (provider, endpoint, expected) in [
            ("aws", "kms.us-east-1.amazonaws.com:443", true),
            ("aws", "KMS.US-EAST-1.AMAZONAWS.COM:443", true),
            ("aws", "kms.us-east-1.amazonaws.com.evil.example:443", false),
            ("aws", "evil.example:443", false),
            ("aws", "evilamazonaws.com:443", false),
            ("aws", "a@amazonaws.com.evil.example:443", false),
            ("aws", "key.vault.azure.net:443", false),
            ("aws", "127.0.0.1:443", false),
            ("azure:eu", "key.vault.azure.net:443", true),
            ("azure:eu", "vault.azure.net:443", false),
            ("azure:eu", "login.example:443", true),
            ("kmip", "kmip.example:1", true),
            ("kmip", "other.example:5696", false),
            ("gcp", "cloudkms.googleapis.com:443", false),
        ] {
            assert_eq!(
                allowed.contain(provider, endpoint),
                expected,
                "{provider} {endpoint}"
            );
        }
        allowed.permit("kmip", "Other.example:5696");
        assert!(allowed.contain("kmip", "other.example:5696"));
        assert!(!allowed.contain("aws", "other.example:5696"));
        settings.set_allowed_hosts("aws".to_owned(), vec!["kms.example".to_owned()]);
        let own = AllowedHosts::new(&settings);
        assert!(
            own.contain("aws", "kms.example:443") && !own.contain("aws", "kms.us-east-1.amazonaws.com:443")
        );
    }
}
