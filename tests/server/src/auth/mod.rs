//! Who may use the server: its users, and the conversations by which clients prove to be one of them.
//!
//! Users have the built-in roles, which say what they may do.

pub(crate) mod privileges;
pub(crate) mod roles;
pub(crate) mod scram;

use crate::deployment::lock;
use crate::error::{Error, Result, code};
use bson::{Document, Uuid};
use roles::RoleName;
use scram::{Hash, Stored};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// The database of users that are known elsewhere.
pub(crate) const EXTERNAL: &str = "$external";

/// A user's database and name.
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

/// A user.
#[derive(Debug, Clone)]
pub(crate) struct User {
    pub(crate) id: Uuid,
    pub(crate) roles: Vec<RoleName>,
    pub(crate) custom_data: Option<Document>,
    pub(crate) credentials: Vec<(Hash, Stored)>,
}

impl User {
    /// What the server keeps for this hash.
    pub(crate) fn stored(&self, hash: Hash) -> Option<&Stored> {
        let found = self.credentials.iter().find(|(own, _)| *own == hash);
        found.map(|(_, stored)| stored)
    }
}

/// What the settings say of users.
#[derive(Debug, Clone, Default)]
pub(crate) struct AccessSettings {
    /// Name and password of the first user, of the database `admin`. Without one everybody may do everything.
    pub(crate) user: Option<(String, String)>,
    /// Whose certificate is good for a login; without encryption all clients are taken to own it.
    pub(crate) x509_user: Option<String>,
    /// Names and passwords that are sent in the clear.
    pub(crate) plain: Vec<(String, String)>,
}

impl AccessSettings {
    /// Whether the settings name this user of `$external`.
    fn names(&self, user: &str) -> bool {
        self.x509_user.as_deref() == Some(user) || self.plain.iter().any(|(name, _)| name == user)
    }
}

/// The users of a deployment.
#[derive(Debug)]
pub(crate) struct Users {
    /// Whether commands need a user.
    pub(crate) required: bool,
    pub(crate) settings: AccessSettings,
    users: Mutex<BTreeMap<UserName, User>>,
}

impl Users {
    pub(crate) fn new(settings: AccessSettings, iterations: [u32; 2]) -> Users {
        let mut users = BTreeMap::new();
        if let Some((name, password)) = &settings.user {
            let credentials = Hash::ALL
                .into_iter()
                .zip(iterations)
                .filter_map(|(hash, iterations)| Some((hash, Stored::new(hash, name, password, iterations)?)))
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
            required: settings.user.is_some()
                || settings.x509_user.is_some()
                || !settings.plain.is_empty(),
            settings,
            users: Mutex::new(users),
        }
    }

    pub(crate) fn find(&self, name: &UserName) -> Option<User> {
        lock(&self.users).get(name).cloned()
    }

    /// Adds a user; 51003 if there is one of that name.
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

    /// Changes a user; 11 if there is none.
    pub(crate) fn update(&self, name: &UserName, change: impl FnOnce(&mut User)) -> Result<()> {
        match lock(&self.users).get_mut(name) {
            Some(user) => {
                change(user);
                Ok(())
            }
            None => Err(unknown(name)),
        }
    }

    /// Removes a user; 11 if there is none.
    pub(crate) fn remove(&self, name: &UserName) -> Result<()> {
        match lock(&self.users).remove(name) {
            Some(_) => Ok(()),
            None => Err(unknown(name)),
        }
    }

    /// Removes all users of a database, and counts them.
    pub(crate) fn remove_all(&self, db: &str) -> usize {
        let mut users = lock(&self.users);
        let before = users.len();
        users.retain(|name, _| name.db != db);
        before - users.len()
    }

    /// All users that fit.
    pub(crate) fn list(&self, fits: impl Fn(&UserName) -> bool) -> Vec<(UserName, User)> {
        let users = lock(&self.users);
        let found = users.iter().filter(|(name, _)| fits(name));
        found.map(|(name, user)| (name.clone(), user.clone())).collect()
    }

    /// Whether somebody sends this password in the clear.
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

/// What a connection knows of its user.
#[derive(Debug, Default)]
pub(crate) struct Session {
    pub(crate) user: Option<UserName>,
    pub(crate) conversation: Option<scram::Conversation>,
    /// Numbers the conversations of the connection.
    pub(crate) conversations: i32,
}
