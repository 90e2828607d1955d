//! The server's part of `MONGODB-OIDC`. Access tokens are opaque: a token that the settings contain
//! is valid, and belongs to one user.

use bson::{Bson, Document, doc};

/// An identity provider, which the server names to clients without an access token.
///
/// ```
/// use marula_test_server::{OidcIdentityProvider, TestServer};
///
/// # fn main() -> Result<(), marula_test_server::StartError> {
/// let provider = OidcIdentityProvider::new("https://idp.example.com").client_id("marula");
/// let server = TestServer::builder()
///     .oidc_identity_provider(provider)
///     .oidc_token("token-of-ada", "ada")
///     .start_blocking()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use = "an identity provider does nothing until it is part of a server"]
pub struct OidcIdentityProvider {
    issuer: String,
    client_id: Option<String>,
    request_scopes: Option<Vec<String>>,
    users: Option<Vec<String>>,
}

impl OidcIdentityProvider {
    /// The provider with this URL, for all users.
    pub fn new(issuer: impl Into<String>) -> Self {
        OidcIdentityProvider {
            issuer: issuer.into(),
            client_id: None,
            request_scopes: None,
            users: None,
        }
    }

    /// The client id that the server replies with. Default: none, as of a provider for machines.
    pub fn client_id(mut self, id: impl Into<String>) -> Self {
        self.client_id = Some(id.into());
        self
    }

    /// The scopes that the server replies with. Default: none.
    pub fn request_scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.request_scopes = Some(scopes.into_iter().map(Into::into).collect());
        self
    }

    /// Limits the provider to these users. A client must then name one of them (`matchPattern` of
    /// `oidcIdentityProviders`). Default: all users, and clients that name none.
    pub fn users<S: Into<String>>(mut self, users: impl IntoIterator<Item = S>) -> Self {
        self.users = Some(users.into_iter().map(Into::into).collect());
        self
    }

    fn serves(&self, user: Option<&str>) -> bool {
        match (&self.users, user) {
            (None, _) => true,
            (Some(users), Some(user)) => users.iter().any(|known| known == user),
            (Some(_), None) => false,
        }
    }
}

/// The first payload of a client.
pub(crate) enum First {
    /// `jwt`: an access token.
    Token(String),
    /// The client asks for the identity provider of this user.
    Principal(Option<String>),
}

impl First {
    /// Parses the payload; `None` if it is malformed.
    pub(crate) fn parse(payload: &[u8]) -> Option<First> {
        let document = Document::from_reader(payload).ok()?;
        match (document.get("jwt"), document.get("n")) {
            (Some(Bson::String(token)), None) => Some(First::Token(token.clone())),
            (None, Some(Bson::String(name))) => Some(First::Principal(Some(name.clone()))),
            (None, None) if document.is_empty() => Some(First::Principal(None)),
            _ => None,
        }
    }
}

/// The description of the identity provider for a user; `None` if there is none.
pub(crate) fn describe(providers: &[OidcIdentityProvider], user: Option<&str>) -> Option<Document> {
    let provider = providers.iter().find(|provider| provider.serves(user))?;
    let mut description = doc! { "issuer": &provider.issuer };
    if let Some(id) = &provider.client_id {
        description.insert("clientId", id);
    }
    if let Some(scopes) = &provider.request_scopes {
        description.insert("requestScopes", scopes.clone());
    }
    Some(description)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_have_a_token_or_a_user() {
        let parse = |document: Document| First::parse(&document.to_vec().unwrap());
        assert!(matches!(parse(doc! { "jwt": "a" }), Some(First::Token(token)) if token == "a"));
        assert!(matches!(parse(doc! { "n": "b" }), Some(First::Principal(Some(name))) if name == "b"));
        assert!(matches!(parse(doc! {}), Some(First::Principal(None))));
        for odd in [doc! { "jwt": 1 }, doc! { "jwt": "a", "n": "b" }, doc! { "x": 1 }] {
            assert!(parse(odd).is_none());
        }
        assert!(First::parse(b"abc").is_none());
    }

    #[test]
    fn the_user_selects_the_provider() {
        let limited = OidcIdentityProvider::new("https://a").users(["ada"]);
        let all = OidcIdentityProvider::new("https://b")
            .client_id("c")
            .request_scopes(["d"]);
        let issuer = |providers: &[OidcIdentityProvider], user| {
            describe(providers, user).map(|found| found.get_str("issuer").unwrap().to_owned())
        };
        let both = [limited.clone(), all];
        assert_eq!(issuer(&both, Some("ada")).as_deref(), Some("https://a"));
        assert_eq!(issuer(&both, Some("eva")).as_deref(), Some("https://b"));
        assert_eq!(issuer(&both, None).as_deref(), Some("https://b"));
        assert_eq!(issuer(&[limited], None), None);
        let described = describe(&both, None).unwrap();
        assert_eq!(
            described,
            doc! { "issuer": "https://b", "clientId": "c", "requestScopes": ["d"] }
        );
    }
}
