//! [`KmsProviders`].

use std::fmt;

use marula_mongocrypt::Zeroizing;

use crate::{
    Result,
    bson::{DocumentWriter, EncodeError, IntoDocument, RawDocument, find_element, spec::BinarySubtype},
};

/// The key management services, each with its credentials (`kmsProviders`).
///
/// A provider is one of `aws`, `azure`, `gcp`, `kmip` and `local`, or such a name with a suffix, e.g. `aws:second`, so that
/// several accounts can be used. libmongocrypt checks the names and the documents when a client is created.
///
/// | provider | document |
/// |---|---|
/// | `aws` | `accessKeyId`, `secretAccessKey`, and `sessionToken` of temporary credentials |
/// | `azure` | `tenantId`, `clientId`, `clientSecret`, optional `identityPlatformEndpoint`; or `accessToken` |
/// | `gcp` | `email`, `privateKey` (PKCS #8), optional `endpoint`; or `accessToken` |
/// | `kmip` | `endpoint`: host and optional port |
/// | `local` | `key`: 96 bytes |
///
/// An empty document for `aws`, `azure` or `gcp` means that the credentials are obtained from the environment when they are
/// needed: for AWS the environment variables, a web identity (`AWS_WEB_IDENTITY_TOKEN_FILE` and `AWS_ROLE_ARN`), the endpoint
/// of a container (`AWS_CONTAINER_CREDENTIALS_RELATIVE_URI` or `_FULL_URI`, as for
/// [`MONGODB-AWS`](crate::options::Credential#aws)) and the EC2 endpoint, for Azure and Google Cloud the metadata service of the virtual machine. Each request to one of these
/// services has a time limit of 10 s.
///
/// `Debug` prints the names. The bytes are zeroed when they are dropped; documents of the application are not.
///
/// ```
/// use marula_driver::{bson::doc, encryption::KmsProviders};
/// let providers = KmsProviders::new()
///     .local(&[7; 96])
///     .with("aws", doc! {})
///     .with("kmip:archive", doc! { "endpoint": "kmip.example.com:5696" });
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct KmsProviders {
    providers: Vec<Provider>,
    error: Option<EncodeError>,
}

#[derive(Clone)]
struct Provider {
    name: String,
    document: Zeroizing<Vec<u8>>,
}

/// The length of an empty document.
const EMPTY: usize = 5;

impl KmsProviders {
    /// No provider.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a provider, or replaces the one with this name. An error of the document is returned when the options are used.
    pub fn with(mut self, name: impl Into<String>, document: impl IntoDocument) -> Self {
        match document.into_raw_document() {
            Ok(document) => self.set(name.into(), Zeroizing::new(document.into_bytes())),
            Err(error) => {
                self.error.get_or_insert(error);
            }
        }
        self
    }

    /// Adds the provider `local` with this key.
    pub fn local(mut self, key: &[u8; 96]) -> Self {
        let mut bytes = Zeroizing::new(Vec::with_capacity(128));
        let mut writer = DocumentWriter::new(&mut bytes);
        let document = writer.begin();
        writer.binary("key", BinarySubtype::Generic, key);
        writer.end(document);
        if let Err(error) = writer.finish() {
            self.error.get_or_insert(error);
        }
        self.set("local".to_owned(), bytes);
        self
    }

    fn set(&mut self, name: String, document: Zeroizing<Vec<u8>>) {
        self.providers.retain(|provider| provider.name != name);
        self.providers.push(Provider { name, document });
    }

    /// The first error of a document.
    pub(crate) fn check(&self) -> Result<()> {
        self.error.clone().map_or(Ok(()), |error| Err(error.into()))
    }

    /// The names of the providers.
    pub(crate) fn names(&self) -> Vec<String> {
        self.providers
            .iter()
            .map(|provider| provider.name.clone())
            .collect()
    }

    /// Whether the credentials of this provider are obtained when they are needed.
    pub(crate) fn is_on_demand(&self, name: &str) -> bool {
        self.providers
            .iter()
            .any(|provider| provider.name == name && provider.document.len() == EMPTY)
    }

    /// The endpoints of this provider in its document.
    pub(crate) fn endpoints(&self, name: &str) -> Vec<String> {
        let of_provider = self.providers.iter().filter(|provider| provider.name == name);
        of_provider
            .flat_map(|provider| {
                ["endpoint", "identityPlatformEndpoint"]
                    .into_iter()
                    .filter_map(|field| {
                        let element = find_element(&provider.document, field).ok()??;
                        element.value.str().ok().map(str::to_owned)
                    })
            })
            .collect()
    }

    /// All providers as one document.
    pub(crate) fn document(&self) -> Result<Zeroizing<Vec<u8>>> {
        let size: usize = self
            .providers
            .iter()
            .map(|p| p.name.len() + p.document.len() + 2)
            .sum();
        // Not reallocated, which would leave a copy.
        let mut bytes = Zeroizing::new(Vec::with_capacity(size + EMPTY));
        let mut writer = DocumentWriter::new(&mut bytes);
        let document = writer.begin();
        for provider in &self.providers {
            if let Ok(credentials) = RawDocument::from_bytes(&provider.document) {
                writer.document(&provider.name, credentials);
            }
        }
        writer.end(document);
        writer.finish()?;
        Ok(bytes)
    }
}

impl fmt::Debug for KmsProviders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(self.providers.iter().map(|provider| &provider.name))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bson::{decode_document, doc};

    #[test]
    fn providers_are_one_document_and_are_replaced_by_name() {
        let providers = KmsProviders::new()
            .with("aws", doc! { "accessKeyId": "a", "secretAccessKey": "secret" })
            .with("gcp", doc! {})
            .with("aws", doc! {})
            .local(&[1; 96]);
        let document = decode_document(&providers.document().unwrap()).unwrap();
        let names: Vec<&String> = document.keys().collect();
        assert_eq!(names, ["gcp", "aws", "local"]);
        assert!(providers.is_on_demand("aws") && providers.is_on_demand("gcp"));
        assert!(!providers.is_on_demand("local") && !providers.is_on_demand("azure"));
    }

    #[test]
    fn debug_prints_names_only() {
        let providers = KmsProviders::new()
            .with("aws", doc! { "accessKeyId": "id", "secretAccessKey": "secret" })
            .local(&[1; 96]);
        assert_eq!(format!("{providers:?}"), r#"{"aws", "local"}"#);
    }
}
