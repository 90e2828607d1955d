//! `GSSAPI` (Kerberos): the service principal, and the messages of the conversation
//! ([Authentication], "GSSAPI").
//!
//! The tokens of a security context are exchanged until it is established. Then the server offers
//! security layers, and the client chooses none of them and names the user ([RFC 4752], section
//! 3.1). Both messages are wrapped by the context. Calls of the GSS-API block a thread, so they are
//! values that the caller performs: [`GssCall`].
//!
//! [Authentication]: https://github.com/mongodb/specifications/blob/master/source/auth/auth.md
//! [RFC 4752]: https://www.rfc-editor.org/rfc/rfc4752

use std::{collections::BTreeMap, fmt};

use crate::error::AuthenticationFailure;

/// The bit of the offer that stands for no security layer.
const NO_LAYER: u8 = 1;
/// The length of the offer: the bits of the layers, and the maximum size of a message.
const OFFER: usize = 4;
/// The maximum number of tokens that the client sends. Kerberos needs one or two.
const MAX_TOKENS: u8 = 10;

/// A call of the GSS-API on the security context of a conversation.
#[derive(PartialEq, Eq)]
pub enum GssCall {
    /// `GSS_Init_sec_context` with the token of the server. `None`: the first call.
    Initiate(Option<Vec<u8>>),
    /// `GSS_Unwrap` of this message.
    Unwrap(Vec<u8>),
    /// `GSS_Wrap` of this message, without confidentiality.
    Wrap(Vec<u8>),
}

impl fmt::Debug for GssCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Initiate(_) => "Initiate",
            Self::Unwrap(_) => "Unwrap",
            Self::Wrap(_) => "Wrap",
        })
    }
}

/// The result of a [`GssCall`].
pub struct GssOutput {
    /// The token for the server, which may be empty, or the message.
    pub bytes: Vec<u8>,
    /// Whether the context is established.
    pub is_established: bool,
}

impl fmt::Debug for GssOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GssOutput")
            .field("is_established", &self.is_established)
            .finish_non_exhaustive()
    }
}

/// The client's part of a conversation.
#[derive(Debug)]
pub(super) struct GssClient {
    /// The authorization identity.
    username: String,
    /// The number of tokens that were sent.
    tokens: u8,
    phase: Phase,
}

/// Which message of the server, or which result of a call, comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// A token: the context is not established.
    Context,
    /// The offer of security layers.
    Offer,
    /// The wrapped choice, and then the end of the conversation.
    Choice,
}

/// What follows the result of a call.
#[derive(Debug)]
pub(super) enum GssNext {
    /// This message is sent.
    Send(Vec<u8>),
    /// Another call.
    Call(GssCall),
}

impl GssClient {
    pub(super) fn new(username: &str) -> Self {
        Self {
            username: username.to_owned(),
            tokens: 0,
            phase: Phase::Context,
        }
    }

    /// Handles the result of a call.
    pub(super) fn handle_output(&mut self, output: GssOutput) -> Result<GssNext, AuthenticationFailure> {
        match self.phase {
            Phase::Context => {
                self.tokens += 1;
                if self.tokens > MAX_TOKENS {
                    return Err(invalid("the server does not end the exchange of tokens"));
                }
                if output.is_established {
                    self.phase = Phase::Offer;
                }
                Ok(GssNext::Send(output.bytes))
            }
            Phase::Offer => {
                check_offer(&output.bytes)?;
                self.phase = Phase::Choice;
                let mut choice = vec![NO_LAYER, 0, 0, 0];
                choice.extend_from_slice(self.username.as_bytes());
                Ok(GssNext::Call(GssCall::Wrap(choice)))
            }
            Phase::Choice => Ok(GssNext::Send(output.bytes)),
        }
    }

    /// Handles a message of the server. `None`: the conversation has ended.
    pub(super) fn handle_payload(
        &self,
        payload: Vec<u8>,
        done: bool,
    ) -> Result<Option<GssCall>, AuthenticationFailure> {
        match self.phase {
            Phase::Context | Phase::Offer if done => Err(invalid(
                "the server ends the conversation before it offered security layers",
            )),
            Phase::Context => Ok(Some(GssCall::Initiate(Some(payload)))),
            Phase::Offer => Ok(Some(GssCall::Unwrap(payload))),
            Phase::Choice if done => Ok(None),
            Phase::Choice => Err(invalid("the server does not end the conversation")),
        }
    }
}

/// Checks that the offer contains "no security layer".
fn check_offer(offer: &[u8]) -> Result<(), AuthenticationFailure> {
    let [layers, size @ ..] = offer else {
        return Err(invalid("the server's offer of security layers is empty"));
    };
    if offer.len() != OFFER {
        return Err(invalid(
            "the server's offer of security layers is not 4 bytes long",
        ));
    }
    if layers & NO_LAYER == 0 {
        return Err(invalid(
            "the server requires a security layer, and MongoDB connections have none",
        ));
    }
    // "The client verifies that the server maximum buffer is 0 if the server does not advertise
    // support for any security layer."
    if *layers == NO_LAYER && size.iter().any(|byte| *byte != 0) {
        return Err(invalid(
            "the server offers no security layer, but a maximum size of its messages",
        ));
    }
    Ok(())
}

fn invalid(why: &str) -> AuthenticationFailure {
    AuthenticationFailure::Conversation(why.to_owned())
}

/// `CANONICALIZE_HOST_NAME`: how the host in the service principal is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CanonicalizeHostName {
    /// The host of the connection.
    None,
    /// The last name in the chain of its CNAME records.
    Forward,
    /// The name of the PTR record of its first address, or else as `Forward`.
    ForwardAndReverse,
}

impl CanonicalizeHostName {
    /// Parses the value of the property.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "none" | "false" => Some(Self::None),
            "forward" => Some(Self::Forward),
            "forwardAndReverse" | "true" => Some(Self::ForwardAndReverse),
            _ => None,
        }
    }
}

/// The properties of the mechanism.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GssapiProperties {
    service_name: String,
    realm: Option<String>,
    /// `SERVICE_HOST`: replaces the host of the connection.
    pub host: Option<String>,
    /// Applies to the host of the connection.
    pub canonicalize: CanonicalizeHostName,
}

impl GssapiProperties {
    /// The properties of a valid credential.
    pub fn new(properties: &BTreeMap<String, String>) -> Self {
        let property = |name| properties.get(name).cloned();
        let canonicalize = property("CANONICALIZE_HOST_NAME")
            .and_then(|value| CanonicalizeHostName::parse(&value))
            .unwrap_or(CanonicalizeHostName::None);
        Self {
            service_name: property("SERVICE_NAME").unwrap_or_else(|| "mongodb".to_owned()),
            realm: property("SERVICE_REALM"),
            host: property("SERVICE_HOST"),
            canonicalize,
        }
    }

    /// The name of the service on this host. With `SERVICE_REALM` it is a principal of this realm. Otherwise the Kerberos
    /// library determines the realm of the host (GSSAPI, "`SERVICE_REALM`").
    pub fn service(&self, host: &str) -> ServiceName {
        let name = &self.service_name;
        if let Some(realm) = &self.realm {
            return ServiceName::Principal(format!("{}@{}", principal(name, host), quoted(realm)));
        }
        // Names of this form have no quotes.
        if name.contains(SEPARATORS) || host.contains(SEPARATORS) {
            return ServiceName::Principal(principal(name, host));
        }
        ServiceName::HostBased {
            name: name.clone(),
            host: host.to_owned(),
        }
    }
}

/// The name of a service for the GSS-API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServiceName {
    /// `GSS_C_NT_HOSTBASED_SERVICE`: the library determines the realm of the host, by `domain_realm` of its configuration or
    /// by asking the key distribution center of the user (RFC 2743, section 4.1).
    HostBased {
        /// `SERVICE_NAME`
        name: String,
        /// The host.
        host: String,
    },
    /// `GSS_KRB5_NT_PRINCIPAL_NAME`: `SERVICE_NAME/host@REALM` or, in the default realm of the library,
    /// `SERVICE_NAME/host`.
    Principal(String),
}

/// The principal. That of a name with a host has no realm.
impl fmt::Display for ServiceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HostBased { name, host } => f.write_str(&principal(name, host)),
            Self::Principal(principal) => f.write_str(principal),
        }
    }
}

/// The characters that separate the parts of a principal (`krb5_parse_name`), or quote them.
const SEPARATORS: [char; 3] = ['/', '@', '\\'];

/// A principal without a realm.
fn principal(name: &str, host: &str) -> String {
    format!("{}/{}", quoted(name), quoted(host))
}

fn quoted(part: &str) -> String {
    let mut quoted = String::with_capacity(part.len());
    for character in part.chars() {
        if SEPARATORS.contains(&character) {
            quoted.push('\\');
        }
        quoted.push(character);
    }
    quoted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn output(bytes: &[u8], is_established: bool) -> GssOutput {
        GssOutput {
            bytes: bytes.to_vec(),
            is_established,
        }
    }

    fn why<T: fmt::Debug>(outcome: Result<T, AuthenticationFailure>) -> String {
        outcome.unwrap_err().to_string()
    }

    /// A client whose context is established.
    fn established() -> GssClient {
        let mut client = GssClient::new("ada@REALM");
        client.handle_output(output(b"token", true)).unwrap();
        client
    }

    #[test]
    fn no_layer_is_chosen_with_the_size_zero_and_the_user() {
        for offer in [[1, 0, 0, 0], [7, 0, 0x40, 0], [3, 0xFF, 0xFF, 0xFF]] {
            let mut client = established();
            let call = client.handle_payload(b"wrapped".to_vec(), false).unwrap();
            assert_eq!(call, Some(GssCall::Unwrap(b"wrapped".to_vec())));
            let GssNext::Call(call) = client.handle_output(output(&offer, true)).unwrap() else {
                panic!("a message before the choice was wrapped");
            };
            assert_eq!(call, GssCall::Wrap(b"\x01\0\0\0ada@REALM".to_vec()));
            let GssNext::Send(message) = client.handle_output(output(b"choice", true)).unwrap() else {
                panic!("another call");
            };
            assert_eq!(message, b"choice");
            assert_eq!(client.handle_payload(Vec::new(), true).unwrap(), None);
        }
    }

    #[test]
    fn offers_that_violate_the_rfc_are_rejected() {
        for (offer, part) in [
            (&[][..], "is empty"),
            (&[1], "4 bytes"),
            (&[1, 0, 0], "4 bytes"),
            (&[1, 0, 0, 0, 0], "4 bytes"),
            (&[0, 0, 0, 0], "requires a security layer"),
            (&[2, 0, 0, 0], "requires a security layer"),
            (&[6, 0, 1, 0], "requires a security layer"),
            (&[1, 0, 1, 0], "maximum size"),
        ] {
            let error = why(established().handle_output(output(offer, true)));
            assert!(error.contains(part), "{offer:?}: {error}");
        }
    }

    #[test]
    fn the_server_ends_the_conversation_after_the_choice_only() {
        let client = GssClient::new("ada");
        assert!(why(client.handle_payload(Vec::new(), true)).contains("before it offered"));
        assert!(why(established().handle_payload(Vec::new(), true)).contains("before it offered"));
        let mut client = established();
        client.handle_output(output(&[1, 0, 0, 0], true)).unwrap();
        client.handle_output(output(b"choice", true)).unwrap();
        assert!(why(client.handle_payload(Vec::new(), false)).contains("does not end"));
    }

    #[test]
    fn the_number_of_tokens_is_limited() {
        let mut client = GssClient::new("ada");
        for _ in 0..MAX_TOKENS {
            client.handle_output(output(b"token", false)).unwrap();
            let call = client.handle_payload(b"reply".to_vec(), false).unwrap();
            assert_eq!(call, Some(GssCall::Initiate(Some(b"reply".to_vec()))));
        }
        let error = why(client.handle_output(output(b"token", false)));
        assert!(error.contains("does not end the exchange"), "{error}");
    }

    fn properties(list: &[(&str, &str)]) -> GssapiProperties {
        let pairs = list
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        GssapiProperties::new(&pairs.collect())
    }

    #[test]
    fn the_service_has_the_realm_of_the_property_or_is_a_name_with_a_host() {
        let host_based = |name: &str, host: &str| ServiceName::HostBased {
            name: name.to_owned(),
            host: host.to_owned(),
        };
        let principal = |text: &str| ServiceName::Principal(text.to_owned());
        for (list, host, expected, shown) in [
            (&[][..], "h", host_based("mongodb", "h"), "mongodb/h"),
            (&[], "::1", host_based("mongodb", "::1"), "mongodb/::1"),
            (
                &[("SERVICE_REALM", "B.COM")],
                "h",
                principal("mongodb/h@B.COM"),
                "mongodb/h@B.COM",
            ),
            (
                &[("SERVICE_NAME", "other")],
                "h",
                host_based("other", "h"),
                "other/h",
            ),
            (
                &[("SERVICE_NAME", "a/b@c")],
                "h",
                principal(r"a\/b\@c/h"),
                r"a\/b\@c/h",
            ),
            (&[], r"a\b", principal(r"mongodb/a\\b"), r"mongodb/a\\b"),
        ] {
            let service = properties(list).service(host);
            assert_eq!((service.to_string().as_str(), &service), (shown, &expected));
        }
        assert_eq!(properties(&[("SERVICE_HOST", "db")]).host.as_deref(), Some("db"));
    }

    #[test]
    fn names_of_canonicalization_are_those_of_the_specification() {
        use CanonicalizeHostName::{Forward, ForwardAndReverse, None};

        for (text, expected) in [
            ("none", Some(None)),
            ("false", Some(None)),
            ("forward", Some(Forward)),
            ("forwardAndReverse", Some(ForwardAndReverse)),
            ("true", Some(ForwardAndReverse)),
            ("reverse", Option::None),
            ("", Option::None),
        ] {
            assert_eq!(CanonicalizeHostName::parse(text), expected, "{text}");
        }
        assert_eq!(properties(&[]).canonicalize, None);
        let given = properties(&[("CANONICALIZE_HOST_NAME", "true")]);
        assert_eq!(given.canonicalize, ForwardAndReverse);
    }

    #[test]
    fn debug_output_contains_no_token() {
        let text = format!("{:?} {:?}", GssCall::Wrap(vec![77]), output(&[77], true));
        assert!(!text.contains("77"), "{text}");
    }

    proptest! {
        #[test]
        fn every_offer_is_accepted_or_rejected_without_a_panic(offer in proptest::collection::vec(any::<u8>(), 0..8)) {
            let accepted = check_offer(&offer).is_ok();
            let has_none = offer.len() == OFFER && offer[0] & NO_LAYER != 0;
            prop_assert_eq!(accepted, has_none && (offer[0] != NO_LAYER || offer[1..] == [0, 0, 0]));
        }

        #[test]
        fn the_host_stays_one_part_of_the_name(host in ".{0,20}") {
            let unquoted = |text: &str| text.replace(r"\\", "").replace(r"\/", "").replace(r"\@", "");
            match properties(&[("SERVICE_REALM", "R")]).service(&host) {
                ServiceName::Principal(text) => {
                    let rest = unquoted(&text);
                    prop_assert_eq!((rest.matches('/').count(), rest.matches('@').count()), (1, 1));
                }
                ServiceName::HostBased { .. } => prop_assert!(false, "a realm"),
            }
            if let ServiceName::HostBased { host, .. } = properties(&[]).service(&host) {
                prop_assert!(!host.contains('@'));
            }
        }
    }
}
