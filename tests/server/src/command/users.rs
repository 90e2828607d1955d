//! Commands that create, update, list and drop users, and grant and revoke roles.

use super::Call;
use crate::auth::roles::RoleName;
use crate::auth::scram::{Credentials, Hash};
use crate::auth::{EXTERNAL, User, UserName};
use crate::error::{Error, Result, code};
use crate::value::number::Number;
use bson::{Bson, Document, Uuid, doc};

pub(crate) fn get_nonce(call: &Call<'_>) -> Result<Document> {
    // Removed together with the mechanism MONGODB-CR.
    if call.deployment.version.at_least(6, 2) {
        return Err(Error::new(code::COMMAND_NOT_FOUND, "no such command: 'getnonce'"));
    }
    let bytes = bson::Uuid::new().bytes();
    let nonce: String = bytes[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(doc! { "nonce": nonce })
}

/// The user that the command names.
fn target(call: &Call<'_>) -> Result<UserName> {
    match call.args().required_string(call.key)? {
        "" => Err(Error::bad_value(
            "User document needs 'user' field to be non-empty",
        )),
        name => Ok(UserName::new(call.db, name)),
    }
}

/// The hash functions of `mechanisms`; all by default.
fn hashes(call: &Call<'_>) -> Result<Vec<Hash>> {
    let Some(names) = call.args().array("mechanisms")? else {
        return Ok(Hash::ALL.to_vec());
    };
    if names.is_empty() {
        return Err(Error::bad_value("mechanisms field must not be empty"));
    }
    let hash = |name: &Bson| {
        name.as_str()
            .and_then(Hash::of_mechanism)
            .ok_or_else(|| Error::bad_value(format!("Unknown auth mechanism {name}")))
    };
    names.iter().map(hash).collect()
}

fn credentials(call: &Call<'_>, name: &UserName, password: &str) -> Result<Vec<(Hash, Credentials)>> {
    let named = call.body.contains_key("mechanisms");
    let mut credentials = Vec::new();
    for hash in hashes(call)? {
        let iterations = iterations(&call.deployment.parameters(), hash);
        match Credentials::new(hash, &name.name, password, iterations) {
            Some(stored) => credentials.push((hash, stored)),
            // Without explicit `mechanisms`, a password that SASLprep prohibits only excludes
            // SCRAM-SHA-256.
            None if !named => {}
            None => {
                return Err(Error::bad_value(
                    "Error preflighting normalization: prohibited character",
                ));
            }
        }
    }
    Ok(credentials)
}

/// The SCRAM iteration count of a hash function.
pub(crate) fn iterations(parameters: &Document, hash: Hash) -> u32 {
    let name = match hash {
        Hash::Sha1 => "scramIterationCount",
        Hash::Sha256 => "scramSHA256IterationCount",
    };
    let count = parameters.get(name).and_then(Number::from_bson);
    let count = count
        .and_then(Number::to_exact_i64)
        .and_then(|count| u32::try_from(count).ok());
    count.unwrap_or(1).max(1)
}

pub(crate) fn create_user(call: &Call<'_>) -> Result<Document> {
    let args = call.args();
    let name = target(call)?;
    let password = args.string("pwd")?;
    let roles = RoleName::parse_all(args.required_array("roles")?, call.db)?;
    reject_restrictions(call)?;
    let credentials = match password {
        Some(_) if name.db == EXTERNAL => {
            return Err(Error::bad_value(
                "Cannot set the password for users defined on the '$external' database",
            ));
        }
        Some(password) => credentials(call, &name, password)?,
        None if name.db == EXTERNAL => Vec::new(),
        None => {
            return Err(Error::bad_value(
                "Must provide a 'pwd' field for all user documents",
            ));
        }
    };
    let user = User {
        id: Uuid::new(),
        roles,
        custom_data: args.document("customData")?.cloned(),
        credentials,
    };
    call.deployment.users.create(name, user)?;
    Ok(Document::new())
}

pub(crate) fn update_user(call: &Call<'_>) -> Result<Document> {
    let args = call.args();
    let name = target(call)?;
    let password = args.string("pwd")?;
    let roles = match args.array("roles")? {
        Some(roles) => Some(RoleName::parse_all(roles, call.db)?),
        None => None,
    };
    let custom_data = args.document("customData")?.cloned();
    reject_restrictions(call)?;
    let credentials = match password {
        Some(password) => Some(credentials(call, &name, password)?),
        None => None,
    };
    let kept = match (&credentials, call.body.contains_key("mechanisms")) {
        (None, true) => Some(hashes(call)?),
        _ => None,
    };
    call.deployment.users.update(&name, |user| {
        if let Some(credentials) = credentials {
            user.credentials = credentials;
        }
        if let Some(kept) = kept {
            user.credentials.retain(|(hash, _)| kept.contains(hash));
        }
        if let Some(roles) = roles {
            user.roles = roles;
        }
        if custom_data.is_some() {
            user.custom_data = custom_data;
        }
    })?;
    Ok(Document::new())
}

pub(crate) fn drop_user(call: &Call<'_>) -> Result<Document> {
    call.deployment.users.remove(&target(call)?)?;
    Ok(Document::new())
}

pub(crate) fn drop_all_users(call: &Call<'_>) -> Result<Document> {
    let removed = call.deployment.users.remove_all(call.db);
    Ok(doc! { "n": removed as i32 })
}

/// `grantRolesToUser`. Roles that the user already has are ignored.
pub(crate) fn grant_roles(call: &Call<'_>) -> Result<Document> {
    let roles = RoleName::parse_all(call.args().required_array("roles")?, call.db)?;
    call.deployment.users.update(&target(call)?, |user| {
        for role in roles {
            if !user.roles.contains(&role) {
                user.roles.push(role);
            }
        }
    })?;
    Ok(Document::new())
}

/// `revokeRolesFromUser`. Roles that the user does not have are ignored.
pub(crate) fn revoke_roles(call: &Call<'_>) -> Result<Document> {
    let roles = RoleName::parse_all(call.args().required_array("roles")?, call.db)?;
    call.deployment.users.update(&target(call)?, |user| {
        user.roles.retain(|role| !roles.contains(role));
    })?;
    Ok(Document::new())
}

/// `rolesInfo`. There are only built-in roles.
pub(crate) fn roles_info(call: &Call<'_>) -> Result<Document> {
    let args = call.args();
    if args.get("showPrivileges").is_some_and(crate::value::truthy) {
        return Err(Error::not_served("rolesInfo with showPrivileges"));
    }
    let names = match call.body.get(call.key) {
        Some(Bson::Array(items)) => items
            .iter()
            .map(|item| RoleName::read(item, call.db))
            .collect::<Result<Vec<_>>>()?,
        Some(item @ (Bson::String(_) | Bson::Document(_))) => vec![RoleName::read(item, call.db)?],
        _ if args.flag("showBuiltinRoles", false)? => RoleName::of_database(call.db),
        _ => Vec::new(),
    };
    let shown: Vec<Document> = names
        .iter()
        .filter(|name| name.exists())
        .map(|name| {
            let mut shown = name.to_document();
            shown.extend(doc! { "isBuiltin": true, "roles": [], "inheritedRoles": [] });
            shown
        })
        .collect();
    Ok(doc! { "roles": shown })
}

fn reject_restrictions(call: &Call<'_>) -> Result<()> {
    match call.args().array("authenticationRestrictions")? {
        Some(restrictions) if !restrictions.is_empty() => Err(Error::not_served(format!(
            "{} with authenticationRestrictions",
            call.name
        ))),
        _ => Ok(()),
    }
}

pub(crate) fn users_info(call: &Call<'_>) -> Result<Document> {
    for refused in ["showCredentials", "showPrivileges", "filter"] {
        if call.args().get(refused).is_some_and(crate::value::truthy) {
            return Err(Error::not_served(format!("usersInfo with {refused}")));
        }
    }
    let custom_data = call.args().flag("showCustomData", true)?;
    let db = call.db;
    let wanted = |spec: &Bson| -> Result<UserName> {
        match spec {
            Bson::String(name) => Ok(UserName::new(db, name)),
            Bson::Document(spec) => match (spec.get_str("user"), spec.get_str("db")) {
                (Ok(user), Ok(db)) => Ok(UserName::new(db, user)),
                _ => Err(Error::bad_value("usersInfo requires the fields 'user' and 'db'")),
            },
            _ => Err(Error::type_mismatch(
                "usersInfo requires a name, a document or an array of them",
            )),
        }
    };
    let users = &call.deployment.users;
    let found = match call.body.get(call.key) {
        Some(Bson::Document(spec)) if spec.contains_key("forAllDBs") => users.list(|_| true),
        Some(Bson::Array(specs)) => {
            let names = specs.iter().map(wanted).collect::<Result<Vec<_>>>()?;
            users.list(|name| names.contains(name))
        }
        Some(spec @ (Bson::String(_) | Bson::Document(_))) => {
            let one = wanted(spec)?;
            users.list(|name| *name == one)
        }
        _ => users.list(|name| name.db == db),
    };
    let users: Vec<Bson> = found
        .into_iter()
        .map(|(name, user)| {
            let mechanisms: Vec<&str> = user
                .credentials
                .iter()
                .map(|(hash, _)| hash.mechanism())
                .collect();
            let roles: Vec<Document> = user.roles.iter().map(RoleName::to_document).collect();
            let mut shown = doc! {
                "_id": format!("{}.{}", name.db, name.name),
                "userId": user.id,
                "user": name.name,
                "db": name.db,
                "roles": roles,
                "mechanisms": mechanisms,
            };
            if let Some(data) = user.custom_data.filter(|_| custom_data) {
                shown.insert("customData", data);
            }
            shown.into()
        })
        .collect();
    Ok(doc! { "users": users })
}
