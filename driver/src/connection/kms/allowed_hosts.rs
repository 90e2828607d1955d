//! The hosts that requests to key management services may be sent to.

use std::collections::VecDeque;

use super::split;
use crate::{
    options::encryption::EncryptionSettings,
    types::{host_pattern, lock::Inner},
};

/// By the kind of provider: the name of a provider before a colon. `*` stands for one label, since other hosts below these
/// domains are those of customers.
const DEFAULTS: [(&str, &[&str]); 3] = [
    (
        "aws",
        &[
            "kms.*.amazonaws.com",
            "kms-fips.*.amazonaws.com",
            "*.kms.*.vpce.amazonaws.com",
            "*.kms-fips.*.vpce.amazonaws.com",
            "kms.*.amazonaws.com.cn",
            "*.kms.*.vpce.amazonaws.com.cn",
            "kms.*.api.aws",
            "kms-fips.*.api.aws",
            "kms.*.amazonaws.eu",
        ],
    ),
    (
        "azure",
        &[
            "*.vault.azure.net",
            "*.vault.azure.cn",
            "*.vault.usgovcloudapi.net",
            "*.managedhsm.azure.net",
            "*.managedhsm.azure.cn",
            "*.managedhsm.usgovcloudapi.net",
            "login.microsoftonline.com",
            "login.microsoftonline.us",
            "login.partner.microsoftonline.cn",
        ],
    ),
    (
        "gcp",
        &[
            "cloudkms.googleapis.com",
            "cloudkms.*.rep.googleapis.com",
            "*.p.googleapis.com",
            "oauth2.googleapis.com",
        ],
    ),
];

/// The key vault can name any host, so that the hosts are those that the application or this list has.
pub(super) struct AllowedHosts {
    hosts: Vec<Hosts>,
    /// Provider and host of the master keys that the application has given last, the newest at the end. One that a
    /// key in the key vault has too.
    given: Inner<VecDeque<(String, String)>>,
}

/// The most hosts of master keys that are kept: more than one application uses.
const MOST_GIVEN: usize = 1_000;

/// The hosts of one provider.
struct Hosts {
    provider: String,
    defaults: &'static [&'static str],
    /// Those of the application.
    patterns: Vec<String>,
}

impl AllowedHosts {
    pub(super) fn new(settings: &EncryptionSettings) -> Self {
        let of_provider = |name: &String| {
            let kind = name.split(':').next().unwrap_or_default();
            let configured = settings
                .allowed_hosts
                .iter()
                .find(|(provider, _)| provider == name);
            let defaults = match configured {
                Some(_) => &[],
                None => DEFAULTS
                    .iter()
                    .find(|(provider, _)| *provider == kind)
                    .map_or(&[][..], |(_, hosts)| hosts),
            };
            let own = settings.providers.endpoints(name);
            let configured = configured.map_or(&[][..], |(_, hosts)| hosts);
            let patterns = own.iter().chain(configured).map(|host| host_of(host).to_owned());
            Hosts {
                provider: name.clone(),
                defaults,
                patterns: patterns.collect(),
            }
        };
        Self {
            hosts: settings.providers.names().iter().map(of_provider).collect(),
            given: Inner::default(),
        }
    }

    /// Permits the host of an endpoint.
    pub(super) fn permit(&self, provider: &str, endpoint: &str) {
        let entry = (provider.to_owned(), host_of(endpoint).to_ascii_lowercase());
        let mut given = self.given.lock();
        if let Some(known) = given.iter().position(|known| *known == entry) {
            given.remove(known);
        } else if given.len() == MOST_GIVEN {
            given.pop_front();
        }
        given.push_back(entry);
    }

    /// Whether a request may be sent to the endpoint.
    pub(super) fn contain(&self, provider: &str, endpoint: &str) -> bool {
        let host = host_of(endpoint);
        let hosts = self.hosts.iter().find(|hosts| hosts.provider == provider);
        hosts.is_some_and(|hosts| {
            hosts.defaults.iter().any(|pattern| has_labels(host, pattern))
                || host_pattern::matches(host, &hosts.patterns)
        }) || self
            .given
            .lock()
            .contains(&(provider.to_owned(), host.to_ascii_lowercase()))
    }
}

/// Whether the host has the labels of the pattern.
fn has_labels(host: &str, pattern: &str) -> bool {
    let mut labels = host.split('.');
    let is_one = |label: &str| {
        !label.is_empty()
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    pattern.split('.').all(|expected| {
        labels.next().is_some_and(|label| match expected {
            "*" => is_one(label),
            _ => label.eq_ignore_ascii_case(expected),
        })
    }) && labels.next().is_none()
}

/// The host of `host:port`, or of a host without a port.
fn host_of(endpoint: &str) -> &str {
    let without_scheme = endpoint.strip_prefix("https://").unwrap_or(endpoint);
    let host = split(without_scheme).map_or(without_scheme, |(host, _)| host);
    host.strip_suffix('.').unwrap_or(host)
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
            ("aws", "id.execute-api.us-east-1.amazonaws.com:443", false),
            ("aws", "kms.a.b.amazonaws.com:443", false),
            ("aws", "kms..amazonaws.com:443", false),
            ("aws", "kms.us-east-1.amazonaws.com.:443", true),
            ("aws", "vpce-1.kms.us-east-1.vpce.amazonaws.com:443", true),
            ("aws", "kms-fips.us-gov-west-1.amazonaws.com:443", true),
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
        for number in 0..MOST_GIVEN {
            allowed.permit("kmip", &format!("host{number}.example:5696"));
            allowed.permit("kmip", "host0.example:5696");
        }
        assert_eq!(allowed.given.lock().len(), MOST_GIVEN);
        assert!(allowed.contain("kmip", "host0.example:5696"));
        assert!(!allowed.contain("kmip", "other.example:5696"), "the oldest");
        let own = ["kms.example:443", "*.internal.example."].map(str::to_owned);
        settings.set_allowed_hosts("aws".to_owned(), own.to_vec());
        let own = AllowedHosts::new(&settings);
        assert!(own.contain("aws", "kms.example:443") && own.contain("aws", "a.internal.example:443"));
        assert!(!own.contain("aws", "kms.us-east-1.amazonaws.com:443"));
    }
}
