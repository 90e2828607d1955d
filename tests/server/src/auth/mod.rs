//! Authentication and authorization: users, conversations, and the privileges of the built-in roles.

pub(crate) mod aws;
pub(crate) mod gssapi;
pub(crate) mod oidc;
pub(crate) mod privileges;
pub(crate) mod roles;
pub(crate) mod scram;

use crate::deployment::lock;
use crate::error::{Error, Result, code};
use aws::AwsUser;
use bson::{Document, Uuid};
use gssapi::GssapiAcceptor;
use oidc::OidcIdentityProvider;
use roles::RoleName;
use scram::{Credentials, Hash};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The database of users whose credentials are not stored in the server.
pub(crate) const EXTERNAL: &str = "$external";

/// The database and name of a user.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct UserName {
    pub(crate) db: String,
    pub(crate) name: String,
}

impl UserName {
    pub(crate) fn new(db: &str, name: &str) -> UserName {
        UserName {
            db: db.to_owned(),
            name: name.to_owned(),
        }
    }
}

/// A user as created by `createUser`.
#[derive(Debug, Clone)]
pub(crate) struct User {
    pub(crate) id: Uuid,
    pub(crate) roles: Vec<RoleName>,
    pub(crate) custom_data: Option<Document>,
    pub(crate) credentials: Vec<(Hash, Credentials)>,
}

impl User {
    /// The SCRAM credentials for this hash.
    pub(crate) fn credentials_for(&self, hash: Hash) -> Option<&Credentials> {
        let found = self.credentials.iter().find(|(own, _)| *own == hash);
        found.map(|(_, credentials)| credentials)
    }
}

/// The users of the server's settings.
#[derive(Debug, Clone, Default)]
pub(crate) struct AccessSettings {
    /// Name and password of a user of the database `admin` with the role `root`.
    pub(crate) user: Option<(String, String)>,
    /// The certificate subject that `MONGODB-X509` accepts. Without TLS it accepts every client as
    /// this user.
    pub(crate) x509_user: Option<String>,
    /// Names and passwords for `PLAIN`.
    pub(crate) plain: Vec<(String, String)>,
    /// Access tokens of `MONGODB-OIDC`, and the names of their users.
    pub(crate) oidc_tokens: Vec<(String, String)>,
    pub(crate) oidc_providers: Vec<OidcIdentityProvider>,
    pub(crate) aws: Vec<AwsUser>,
    /// The host of the Security Token Service. Default: `sts.amazonaws.com`.
    pub(crate) aws_sts_host: Option<String>,
    pub(crate) gssapi: Option<Arc<dyn GssapiAcceptor>>,
    /// The principals that `GSSAPI` accepts.
    pub(crate) gssapi_users: Vec<String>,
}

impl AccessSettings {
    fn has_oidc(&self) -> bool {
        !self.oidc_tokens.is_empty() || !self.oidc_providers.is_empty()
    }

    /// Whether there are users.
    fn is_required(&self) -> bool {
        let has_user = self.user.is_some() || self.x509_user.is_some();
        let has_external = self.has_oidc() || !self.aws.is_empty() || self.gssapi.is_some();
        has_user || has_external || !self.plain.is_empty()
    }

    /// The mechanisms that `authenticationMechanisms` contains because of these users.
    pub(crate) fn mechanisms(&self) -> Vec<&'static str> {
        let enabled = [
            (self.has_oidc(), "MONGODB-OIDC"),
            (!self.aws.is_empty(), "MONGODB-AWS"),
            (self.gssapi.is_some(), "GSSAPI"),
        ];
        let names = enabled.into_iter().filter(|(is_enabled, _)| *is_enabled);
        names.map(|(_, name)| name).collect()
    }
}

/// The users of a deployment.
#[derive(Debug)]
pub(crate) struct Users {
    /// Whether authentication is required.
    pub(crate) required: bool,
    pub(crate) settings: AccessSettings,
    users: Mutex<BTreeMap<UserName, User>>,
    /// The valid access tokens of `MONGODB-OIDC`, and the names of their users.
    tokens: Mutex<BTreeMap<String, String>>,
}

impl Users {
    pub(crate) fn new(settings: AccessSettings, iterations: [u32; 2]) -> Users {
        let mut users = BTreeMap::new();
        if let Some((name, password)) = &settings.user {
            let credentials = Hash::ALL
                .into_iter()
                .zip(iterations)
                .filter_map(|(hash, iterations)| {
                    Some((hash, Credentials::new(hash, name, password, iterations)?))
                })
                .collect();
            let root = RoleName {
                role: "root".to_owned(),
                db: "admin".to_owned(),
            };
            let user = User {
                id: Uuid::new(),
                roles: vec![root],
                custom_data: None,
                credentials,
            };
            users.insert(UserName::new("admin", name), user);
        }
        Users {
            required: settings.is_required(),
            tokens: Mutex::new(settings.oidc_tokens.iter().cloned().collect()),
            settings,
            users: Mutex::new(users),
        }
    }

    /// The name of the user with this access token, if it is valid.
    pub(crate) fn user_of_token(&self, token: &str) -> Option<String> {
        lock(&self.tokens).get(token).cloned()
    }

    /// Whether another system authenticates this user.
    pub(crate) fn is_external(&self, user: &str) -> bool {
        let settings = &self.settings;
        settings.x509_user.as_deref() == Some(user)
            || settings.plain.iter().any(|(name, _)| name == user)
            || settings.aws.iter().any(|known| known.access_key_id == user)
            || settings.gssapi_users.iter().any(|known| known == user)
            || lock(&self.tokens).values().any(|name| name == user)
    }

    pub(crate) fn add_token(&self, token: String, user: String) {
        lock(&self.tokens).insert(token, user);
    }

    /// Returns whether the token was valid.
    pub(crate) fn revoke_token(&self, token: &str) -> bool {
        lock(&self.tokens).remove(token).is_some()
    }

    pub(crate) fn find(&self, name: &UserName) -> Option<User> {
        lock(&self.users).get(name).cloned()
    }

    /// Adds a user; fails with 51003 if it exists.
    pub(crate) fn create(&self, name: UserName, user: User) -> Result<()> {
        let mut users = lock(&self.users);
        if users.contains_key(&name) {
            return Err(Error::new(
                51003,
                format!("User \"{}@{}\" already exists", name.name, name.db),
            ));
        }
        users.insert(name, user);
        Ok(())
    }

    /// Updates a user; fails with 11 UserNotFound if it does not exist.
    pub(crate) fn update(&self, name: &UserName, change: impl FnOnce(&mut User)) -> Result<()> {
        match lock(&self.users).get_mut(name) {
            Some(user) => {
                change(user);
                Ok(())
            }
            None => Err(unknown(name)),
        }
    }

    /// Removes a user; fails with 11 UserNotFound if it does not exist.
    pub(crate) fn remove(&self, name: &UserName) -> Result<()> {
        match lock(&self.users).remove(name) {
            Some(_) => Ok(()),
            None => Err(unknown(name)),
        }
    }

    /// Removes all users of a database; returns their number.
    pub(crate) fn remove_all(&self, db: &str) -> usize {
        let mut users = lock(&self.users);
        let before = users.len();
        users.retain(|name, _| name.db != db);
        before - users.len()
    }

    /// The users whose names match.
    pub(crate) fn list(&self, matches: impl Fn(&UserName) -> bool) -> Vec<(UserName, User)> {
        let users = lock(&self.users);
        let found = users.iter().filter(|(name, _)| matches(name));
        found.map(|(name, user)| (name.clone(), user.clone())).collect()
    }

    /// Whether `PLAIN` accepts this name and password.
    pub(crate) fn is_plain(&self, name: &str, password: &str) -> bool {
        let plain = &self.settings.plain;
        plain
            .iter()
            .any(|(own, secret)| own == name && secret == password)
    }
}

fn unknown(name: &UserName) -> Error {
    Error::new(
        code::USER_NOT_FOUND,
        format!("User '{}@{}' not found", name.name, name.db),
    )
}

/// The authentication state of a connection.
#[derive(Debug, Default)]
pub(crate) struct Session {
    pub(crate) user: Option<UserName>,
    /// The access token of the user.
    pub(crate) token: Option<String>,
    pub(crate) conversation: Option<Conversation>,
    /// Number of conversations started on the connection, for `conversationId`.
    pub(crate) conversations: i32,
}

/// A conversation that has not ended.
#[derive(Debug)]
pub(crate) enum Conversation {
    Scram(scram::Conversation),
    /// An access token is expected.
    Oidc {
        id: i32,
    },
    /// A signature is expected.
    Aws {
        id: i32,
        state: aws::Conversation,
    },
    /// A token, or the choice of a security layer is expected.
    Gssapi {
        id: i32,
        state: gssapi::Conversation,
    },
}

impl Conversation {
    pub(crate) fn id(&self) -> i32 {
        match self {
            Conversation::Scram(conversation) => conversation.id,
            Conversation::Oidc { id } | Conversation::Aws { id, .. } | Conversation::Gssapi { id, .. } => *id,
        }
    }
}
