//! `MONGODB-OIDC`: the payloads, and which token a conversation sends next ([Authentication],
//! "MONGODB-OIDC").
//!
//! [Authentication]: https://github.com/mongodb/specifications/blob/master/source/auth/auth.md

use crate::{
    bson::{DocumentWriter, find_element},
    error::{AuthenticationFailure, code},
    types::secret::Secret,
};

/// The number of tokens that the server may reject before a conversation fails. The human flow needs
/// two: the cached access token, and the one that a refresh token yields. A third covers a token of
/// another connection.
const MAX_REJECTIONS: u8 = 3;

/// Who obtains the access token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OidcFlow {
    /// The application or its environment.
    Machine,
    /// A person, with the identity provider that the server names.
    Human,
}

/// The identity provider that the server names in the human flow (`IdPInfo`).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IdpInfo {
    /// `issuer`: the URL of the authorization server.
    pub issuer: String,
    /// `clientId`: the identifier of the client that is registered with the identity provider.
    pub client_id: Option<String>,
    /// `requestScopes`: scopes to request in addition to the default ones.
    pub request_scopes: Option<Vec<String>>,
}

impl IdpInfo {
    /// Parses the reply to the first message of the human flow.
    pub(crate) fn parse(payload: &[u8]) -> Result<Self, AuthenticationFailure> {
        let invalid = |why: &str| AuthenticationFailure::Conversation(why.to_owned());
        let malformed = |_| invalid("the server's description of the identity provider is malformed");
        let text = |name| {
            let found = find_element(payload, name).map_err(malformed)?;
            let value = found
                .map(|element| element.value)
                .filter(|value| !value.is_null());
            value.map(|value| value.str()).transpose().map_err(malformed)
        };
        let issuer =
            text("issuer")?.ok_or_else(|| invalid("the server names no identity provider (issuer)"))?;
        let scopes = find_element(payload, "requestScopes").map_err(malformed)?;
        let scopes = scopes
            .map(|element| element.value)
            .filter(|value| !value.is_null());
        let request_scopes = match scopes {
            Some(array) => {
                let names = array.array().map_err(malformed)?;
                let names = names.map(|name| name?.value.str().map(str::to_owned));
                Some(names.collect::<Result<Vec<_>, _>>().map_err(malformed)?)
            }
            None => None,
        };
        Ok(Self {
            issuer: issuer.to_owned(),
            client_id: text("clientId")?.map(str::to_owned),
            request_scopes,
        })
    }
}

/// The origin of an access token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenSource {
    /// The cache of the client.
    Cache,
    /// The callback, called with a refresh token.
    Refresh,
    /// The callback or the environment.
    New,
}

/// An access token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub(crate) text: Secret,
    pub(crate) source: TokenSource,
}

/// The token that a conversation needs next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenRequest {
    /// The cached token or, in the machine flow, a new one. In the human flow one that a cached
    /// refresh token yields, or none.
    Stored,
    /// The same, after this token was rejected.
    Replace(Token),
    /// A token of this identity provider.
    Ask(IdpInfo),
}

/// The state of a conversation between its messages.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    pub(super) flow: OidcFlow,
    rejections: u8,
}

impl Progress {
    pub(super) fn new(flow: OidcFlow) -> Self {
        Self { flow, rejections: 0 }
    }

    /// Whether another token is sent after the server replied with this code to `token`
    /// ("Credential Caching").
    pub(super) fn reject(mut self, token: &Token, error_code: i32) -> Option<Self> {
        self.rejections += 1;
        let is_repeated = match self.flow {
            OidcFlow::Machine => token.source == TokenSource::Cache && self.rejections == 1,
            OidcFlow::Human => token.source != TokenSource::New && self.rejections <= MAX_REJECTIONS,
        };
        (error_code == code::AUTHENTICATION_FAILED && is_repeated).then_some(self)
    }
}

/// The payload with an access token: `{jwt: …}`.
pub(super) fn token_payload(token: &Secret) -> Vec<u8> {
    payload(|writer| writer.str("jwt", token.expose()))
}

/// The payload of the first message of the human flow: `{n: …}`, or an empty document.
pub(super) fn principal_payload(username: Option<&str>) -> Vec<u8> {
    payload(|writer| {
        if let Some(name) = username {
            writer.str("n", name);
        }
    })
}

fn payload(write: impl FnOnce(&mut DocumentWriter<'_>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = DocumentWriter::new(&mut bytes);
    let document = writer.begin();
    write(&mut writer);
    writer.end(document);
    // A document too long for BSON is left incomplete, and the server rejects it.
    let _ = writer.finish();
    bytes
}

#[cfg(test)]
mod tests {
    use base64::engine::{Engine as _, general_purpose::STANDARD};
    use proptest::prelude::*;

    use super::*;
    use crate::bson::{doc, to_vec};

    fn token(source: TokenSource) -> Token {
        Token {
            text: Secret::new("abcd1234"),
            source,
        }
    }

    #[test]
    fn payloads_are_documents() {
        let payload = token_payload(&Secret::new("abcd1234"));
        assert_eq!(STANDARD.encode(payload), "FwAAAAJqd3QACQAAAGFiY2QxMjM0AAA=");
        assert_eq!(principal_payload(None), to_vec(&doc! {}).unwrap());
        assert_eq!(
            principal_payload(Some("ada")),
            to_vec(&doc! { "n": "ada" }).unwrap()
        );
    }

    #[test]
    fn the_description_of_the_identity_provider_is_parsed() {
        let parse = |document| IdpInfo::parse(&to_vec(&document).unwrap());
        let info =
            parse(doc! { "issuer": "https://a", "clientId": "b", "requestScopes": ["c", "d"] }).unwrap();
        assert_eq!(
            (info.issuer.as_str(), info.client_id.as_deref()),
            ("https://a", Some("b"))
        );
        assert_eq!(info.request_scopes, Some(vec!["c".to_owned(), "d".to_owned()]));
        let info = parse(doc! { "issuer": "https://a", "clientId": null }).unwrap();
        assert_eq!((info.client_id, info.request_scopes), (None, None));
        for (document, why) in [
            (doc! {}, "issuer"),
            (doc! { "issuer": 1 }, "malformed"),
            (doc! { "issuer": "a", "requestScopes": "b" }, "malformed"),
            (doc! { "issuer": "a", "requestScopes": [1] }, "malformed"),
        ] {
            let error = AuthenticationFailure::to_string(&parse(document).unwrap_err());
            assert!(error.contains(why), "{error}");
        }
        for bytes in [&b""[..], b"\x05\0\0\0", b"\x09\0\0\0\x02a"] {
            assert!(IdpInfo::parse(bytes).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn only_a_cached_token_is_replaced_in_the_machine_flow() {
        let new = || Progress::new(OidcFlow::Machine);
        let again = new().reject(&token(TokenSource::Cache), 18).unwrap();
        assert!(again.reject(&token(TokenSource::Cache), 18).is_none());
        assert!(new().reject(&token(TokenSource::New), 18).is_none());
        assert!(new().reject(&token(TokenSource::Cache), 20).is_none());
    }

    #[test]
    fn a_refreshed_token_is_replaced_in_the_human_flow() {
        let new = || Progress::new(OidcFlow::Human);
        let again = new().reject(&token(TokenSource::Cache), 18).unwrap();
        let again = again.reject(&token(TokenSource::Refresh), 18).unwrap();
        let again = again.reject(&token(TokenSource::Cache), 18).unwrap();
        assert!(again.reject(&token(TokenSource::Cache), 18).is_none());
        assert!(new().reject(&token(TokenSource::New), 18).is_none());
        assert!(new().reject(&token(TokenSource::Refresh), 391).is_none());
    }

    #[test]
    fn debug_prints_no_token() {
        let shown = format!("{:?}", TokenRequest::Replace(token(TokenSource::Cache)));
        assert!(!shown.contains("abcd1234"), "{shown}");
    }

    proptest! {
        #[test]
        fn damaged_descriptions_are_rejected_without_a_panic(position in 0..60usize, byte: u8, length in 0..80usize) {
            let valid = doc! { "issuer": "https://a", "clientId": "b", "requestScopes": ["c", "d"] };
            let mut bytes = to_vec(&valid).unwrap();
            bytes.truncate(length);
            if let Some(damaged) = bytes.get_mut(position) {
                *damaged = byte;
            }
            let _ = IdpInfo::parse(&bytes);
        }
    }
}
