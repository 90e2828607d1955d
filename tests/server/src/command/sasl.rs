//! Authentication commands, speculative authentication in `hello`, and the authorization of
//! commands.

use super::Call;
use crate::auth::privileges::{self, Request, Rights};
use crate::auth::roles::RoleName;
use crate::auth::scram::{self, ClientFirst, Hash};
use crate::auth::{Conversation, EXTERNAL, Session, UserName, aws, gssapi, oidc};
use crate::deployment::{Deployment, lock};
use crate::error::{Error, Result, code};
use crate::value::truthy;
use crate::wire::connection::Client;
use bson::spec::BinarySubtype;
use bson::{Binary, Bson, Document, doc};
use std::sync::MutexGuard;

/// Commands that do not require authentication.
const UNAUTHENTICATED_COMMANDS: [&str; 13] = [
    "hello",
    "isMaster",
    "ping",
    "buildInfo",
    "saslStart",
    "saslContinue",
    "authenticate",
    "getnonce",
    "logout",
    "connectionStatus",
    "whatsmyuri",
    "isdbgrid",
    "endSessions",
];

/// Whether a command does not require authentication.
pub(super) fn allows_unauthenticated(command: &str) -> bool {
    UNAUTHENTICATED_COMMANDS.contains(&command)
}

/// Whether a command can change the user or the application name of a connection.
pub(super) fn changes_identity(command: &str) -> bool {
    super::hello::is_hello(command)
        || matches!(command, "saslStart" | "saslContinue" | "authenticate" | "logout")
}

/// Fails with 13 Unauthorized if the user's roles do not grant the privileges of the command.
pub(super) fn authorize(deployment: &Deployment, client: &Client, request: Request<'_>) -> Result<()> {
    check_user(deployment, client, request.name)?;
    if !deployment.users.required || UNAUTHENTICATED_COMMANDS.contains(&request.name) {
        return Ok(());
    }
    match lock(&client.session).user.clone() {
        Some(user) => privileges::check(&Rights::of(deployment, &user), &user, request),
        None => Ok(()),
    }
}

/// The rights of the user of a connection.
pub(super) fn rights(deployment: &Deployment, client: &Client) -> Rights {
    match lock(&client.session).user.as_ref() {
        Some(user) if deployment.users.required => Rights::of(deployment, user),
        _ => Rights::Everything,
    }
}

/// Fails with 13 Unauthorized if the command requires authentication and the connection is not
/// authenticated, and with 391 ReauthenticationRequired if its access token is no longer valid.
pub(super) fn check_user(deployment: &Deployment, client: &Client, command: &str) -> Result<()> {
    if !deployment.users.required || UNAUTHENTICATED_COMMANDS.contains(&command) {
        return Ok(());
    }
    let session = lock(&client.session);
    if let Some(token) = &session.token
        && deployment.users.user_of_token(token).is_none()
    {
        return Err(Error::new(
            code::REAUTHENTICATION_REQUIRED,
            "Reauthentication required: the access token has expired",
        ));
    }
    if session.user.is_some() {
        return Ok(());
    }
    Err(Error::new(
        code::UNAUTHORIZED,
        format!("Command {command} requires authentication"),
    ))
}

fn failed() -> Error {
    Error::new(code::AUTHENTICATION_FAILED, "Authentication failed.")
}

fn binary(bytes: impl AsRef<[u8]>) -> Binary {
    Binary {
        subtype: BinarySubtype::Generic,
        bytes: bytes.as_ref().to_vec(),
    }
}

fn payload(body: &Document) -> Result<Vec<u8>> {
    match body.get("payload") {
        Some(Bson::Binary(payload)) => Ok(payload.bytes.clone()),
        Some(Bson::String(text)) => Binary::from_base64(text, None)
            .map(|payload| payload.bytes)
            .map_err(|_| failed()),
        _ => Err(Error::new(
            code::AUTHENTICATION_FAILED,
            "saslStart requires a payload",
        )),
    }
}

/// The context of an authentication command.
struct Authentication<'l> {
    deployment: &'l Deployment,
    session: MutexGuard<'l, Session>,
    /// The subject of the client certificate.
    certificate: Option<&'l str>,
    db: &'l str,
}

impl Authentication<'_> {
    fn start(mut self, body: &Document) -> Result<Document> {
        let mechanism = match body.get("mechanism") {
            Some(Bson::String(mechanism)) => mechanism.as_str(),
            _ => return Err(failed()),
        };
        self.session.conversation = None;
        let payload = payload(body)?;
        let id = self.session.conversations.wrapping_add(1);
        self.session.conversations = id;
        if mechanism == "PLAIN" {
            return self.plain(id, &payload);
        }
        let is_enabled = self.is_enabled(mechanism);
        match mechanism {
            "MONGODB-OIDC" if is_enabled => return self.oidc(id, &payload),
            "MONGODB-AWS" if is_enabled => return self.aws(id, &payload),
            "GSSAPI" if is_enabled => return self.start_gssapi(id, &payload),
            _ => {}
        }
        let hash = Hash::of_mechanism(mechanism).filter(|_| is_enabled);
        let hash = hash.ok_or_else(|| {
            Error::new(
                code::MECHANISM_UNAVAILABLE,
                format!("Received authentication for mechanism {mechanism} which is not enabled"),
            )
        })?;
        let first = ClientFirst::parse(&payload).ok_or_else(failed)?;
        let name = UserName::new(self.db, &first.name);
        let user = self.deployment.users.find(&name).ok_or_else(failed)?;
        let credentials = user.credentials_for(hash).ok_or_else(failed)?.clone();
        let skip = self.deployment.version.at_least(4, 4)
            && body
                .get_document("options")
                .is_ok_and(|options| options.get("skipEmptyExchange").is_some_and(truthy));
        let (conversation, message) = scram::Conversation::start(id, name, (hash, credentials), &first, skip);
        self.session.conversation = Some(Conversation::Scram(conversation));
        Ok(doc! { "conversationId": id, "done": false, "payload": binary(message) })
    }

    /// An access token, or the question for the identity provider.
    fn oidc(mut self, id: i32, payload: &[u8]) -> Result<Document> {
        if self.db != EXTERNAL {
            return Err(failed());
        }
        match oidc::First::parse(payload).ok_or_else(failed)? {
            oidc::First::Token(token) => self.token(id, token),
            oidc::First::Principal(user) => {
                let providers = &self.deployment.users.settings.oidc_providers;
                let described = oidc::describe(providers, user.as_deref()).ok_or_else(failed)?;
                let described = described.to_vec().map_err(|_| failed())?;
                self.session.conversation = Some(Conversation::Oidc { id });
                Ok(doc! { "conversationId": id, "done": false, "payload": binary(described) })
            }
        }
    }

    fn token(mut self, id: i32, token: String) -> Result<Document> {
        let user = self.deployment.users.user_of_token(&token).ok_or_else(failed)?;
        self.session.user = Some(UserName::new(EXTERNAL, &user));
        self.session.token = Some(token);
        Ok(doc! { "conversationId": id, "done": true, "payload": binary("") })
    }

    fn aws(mut self, id: i32, payload: &[u8]) -> Result<Document> {
        let host = self.deployment.users.settings.aws_sts_host.as_deref();
        let started = aws::Conversation::start(payload, host.unwrap_or("sts.amazonaws.com"));
        let (state, message) = started.filter(|_| self.db == EXTERNAL).ok_or_else(failed)?;
        self.session.conversation = Some(Conversation::Aws { id, state });
        Ok(doc! { "conversationId": id, "done": false, "payload": binary(message) })
    }

    fn start_gssapi(self, id: i32, payload: &[u8]) -> Result<Document> {
        let acceptor = self.deployment.users.settings.gssapi.as_deref();
        let acceptor = acceptor.filter(|_| self.db == EXTERNAL).ok_or_else(failed)?;
        let conversation = gssapi::Conversation::new(acceptor).map_err(|_| failed())?;
        self.gssapi(id, conversation, payload)
    }

    fn gssapi(mut self, id: i32, conversation: gssapi::Conversation, payload: &[u8]) -> Result<Document> {
        match conversation.step(payload).map_err(|_| failed())? {
            gssapi::Outcome::Continue(state, message) => {
                self.session.conversation = Some(Conversation::Gssapi { id, state });
                Ok(doc! { "conversationId": id, "done": false, "payload": binary(message) })
            }
            gssapi::Outcome::Done(user) => {
                let users = &self.deployment.users.settings.gssapi_users;
                if !users.contains(&user) {
                    return Err(failed());
                }
                self.session.user = Some(UserName::new(EXTERNAL, &user));
                self.session.token = None;
                Ok(doc! { "conversationId": id, "done": true, "payload": binary("") })
            }
        }
    }

    fn is_enabled(&self, mechanism: &str) -> bool {
        let parameters = self.deployment.parameters();
        let enabled = parameters.get_array("authenticationMechanisms");
        enabled.is_ok_and(|names| names.iter().any(|name| name.as_str() == Some(mechanism)))
    }

    /// `PLAIN` (RFC 4616): authzid, authcid and password, separated by NUL.
    fn plain(mut self, id: i32, payload: &[u8]) -> Result<Document> {
        let text = std::str::from_utf8(payload).map_err(|_| failed())?;
        let parts: Vec<&str> = text.split('\0').collect();
        match parts.as_slice() {
            [acting, name, password]
                if (acting.is_empty() || acting == name)
                    && self.db == EXTERNAL
                    && self.deployment.users.is_plain(name, password) =>
            {
                self.session.user = Some(UserName::new(EXTERNAL, name));
                self.session.token = None;
                Ok(doc! { "conversationId": id, "done": true, "payload": binary("") })
            }
            _ => Err(failed()),
        }
    }

    fn step(mut self, body: &Document, id: i64) -> Result<Document> {
        let conversation = self.session.conversation.take();
        let conversation = conversation
            .filter(|conversation| i64::from(conversation.id()) == id)
            .ok_or_else(|| Error::new(code::PROTOCOL_ERROR, "No SASL session state found"))?;
        let payload = payload(body)?;
        match conversation {
            Conversation::Scram(conversation) => self.scram(conversation, &payload),
            Conversation::Oidc { id } => match oidc::First::parse(&payload) {
                Some(oidc::First::Token(token)) => self.token(id, token),
                _ => Err(failed()),
            },
            Conversation::Aws { id, state } => {
                let users = &self.deployment.users.settings.aws;
                let user = state.finish(&payload, users).ok_or_else(failed)?;
                self.session.user = Some(UserName::new(EXTERNAL, &user.access_key_id));
                self.session.token = None;
                Ok(doc! { "conversationId": id, "done": true, "payload": binary("") })
            }
            Conversation::Gssapi { id, state } => self.gssapi(id, state, &payload),
        }
    }

    fn scram(mut self, conversation: scram::Conversation, payload: &[u8]) -> Result<Document> {
        let (id, user) = (conversation.id, conversation.user.clone());
        let (message, next) = conversation.step(payload).ok_or_else(failed)?;
        let done = next.is_none();
        if done {
            self.session.user = Some(user);
            self.session.token = None;
        }
        self.session.conversation = next.map(Conversation::Scram);
        Ok(doc! { "conversationId": id, "done": done, "payload": binary(message) })
    }

    fn certificate(mut self, body: &Document) -> Result<Document> {
        let refused = |why: &str| Error::new(code::AUTHENTICATION_FAILED, why);
        let users = &self.deployment.users;
        let configured = users.settings.x509_user.as_deref();
        let subject = match self.deployment.tls {
            Some(_) => self.certificate,
            None => configured,
        };
        let subject = subject.ok_or_else(|| refused("No verified subject name available from client"))?;
        if body
            .get("user")
            .is_some_and(|name| name.as_str() != Some(subject))
        {
            return Err(refused("There is no x.509 client certificate matching the user."));
        }
        let name = UserName::new(EXTERNAL, subject);
        if self.db != EXTERNAL || (configured != Some(subject) && users.find(&name).is_none()) {
            return Err(failed());
        }
        self.session.user = Some(name);
        self.session.token = None;
        Ok(doc! { "dbname": EXTERNAL, "user": subject })
    }
}

fn authentication<'c>(call: &Call<'c>) -> Authentication<'c> {
    Authentication {
        deployment: call.deployment,
        session: lock(&call.client.session),
        certificate: call.client.certificate_subject.as_deref(),
        db: call.db,
    }
}

pub(crate) fn authenticate(call: &Call<'_>) -> Result<Document> {
    match call.args().required_string("mechanism")? {
        "MONGODB-X509" => authentication(call).certificate(call.body),
        _ => Err(failed()),
    }
}

pub(crate) fn sasl_start(call: &Call<'_>) -> Result<Document> {
    call.args().required_string("mechanism")?;
    payload(call.body)?;
    authentication(call).start(call.body)
}

pub(crate) fn sasl_continue(call: &Call<'_>) -> Result<Document> {
    let id = call.args().required_integer("conversationId")?;
    authentication(call).step(call.body, id)
}

pub(crate) fn logout(call: &Call<'_>) -> Result<Document> {
    *lock(&call.client.session) = Session::default();
    Ok(Document::new())
}

pub(crate) fn connection_status(call: &Call<'_>) -> Result<Document> {
    if call.args().flag("showPrivileges", false)? {
        return Err(Error::not_served("connectionStatus with showPrivileges"));
    }
    let user = lock(&call.client.session).user.clone();
    let users: Vec<Bson> = user
        .iter()
        .map(|user| doc! { "user": &user.name, "db": &user.db }.into())
        .collect();
    let roles = user.and_then(|user| call.deployment.users.find(&user));
    let roles: Vec<Document> = roles
        .iter()
        .flat_map(|user| user.roles.iter().map(RoleName::to_document))
        .collect();
    Ok(doc! { "authInfo": { "authenticatedUsers": users, "authenticatedUserRoles": roles } })
}

/// Adds `saslSupportedMechs` and `speculativeAuthenticate` to the reply to `hello`. Failed
/// speculative authentication is ignored.
pub(super) fn answer_hello(deployment: &Deployment, client: &Client, body: &Document, reply: &mut Document) {
    if let Some(Bson::String(name)) = body.get("saslSupportedMechs")
        && let Some((db, name)) = name.split_once('.')
        && let Some(user) = deployment.users.find(&UserName::new(db, name))
    {
        let names: Vec<&str> = user
            .credentials
            .iter()
            .map(|(hash, _)| hash.mechanism())
            .collect();
        reply.insert("saslSupportedMechs", names);
    }
    let Some(Bson::Document(speculative)) = body.get("speculativeAuthenticate") else {
        return;
    };
    if !deployment.version.at_least(4, 4) {
        return;
    }
    let login = Authentication {
        deployment,
        session: lock(&client.session),
        certificate: client.certificate_subject.as_deref(),
        db: speculative.get_str("db").unwrap_or_default(),
    };
    let answer = match speculative.keys().next().map(String::as_str) {
        Some("saslStart") => login.start(speculative),
        Some("authenticate") => login.certificate(speculative),
        _ => return,
    };
    if let Ok(answer) = answer {
        reply.insert("speculativeAuthenticate", answer);
    }
}
