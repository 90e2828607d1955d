//! Writes to system collections: those whose names begin with `system.`.

use super::Call;
use crate::error::{Error, Result};
use crate::refusal::{transactions, writes as rows};
use crate::storage::Namespace;

/// Whether clients may write to this system collection.
fn is_legal(namespace: &Namespace) -> bool {
    let name = namespace.collection.as_str();
    match namespace.database.as_str() {
        _ if matches!(name, "system.js" | "system.users") => true,
        "admin" => matches!(
            name,
            "system.backup_users" | "system.keys" | "system.new_users" | "system.roles" | "system.version"
        ),
        "config" => name == "system.sessions",
        "local" => matches!(name, "system.healthlog" | "system.replset"),
        _ => false,
    }
}

/// Whether the collection contains users or roles, which transactions may write.
fn is_of_privileges(namespace: &Namespace) -> bool {
    namespace.database == "admin" && matches!(namespace.collection.as_str(), "system.roles" | "system.users")
}

/// Fails if a write to the collection is not allowed.
pub(super) fn check(call: &Call<'_>, namespace: &Namespace) -> Result<()> {
    let profile = call.deployment.profile();
    let name = namespace.collection.as_str();
    let is_system = name.starts_with("system.");
    if is_system && call.in_transaction() && !is_of_privileges(namespace) {
        let modifies = call.name == "findAndModify";
        transactions::FIND_AND_MODIFY_SYSTEM.check(profile, modifies, &[namespace])?;
        return Err(transactions::WRITE_SYSTEM.error(&[namespace]));
    }
    if name == "system.profile" {
        rows::SYSTEM_BEFORE_5.check(profile, true, &[namespace])?;
        return Err(rows::SYSTEM_PROFILE.error(&[namespace]));
    }
    if name == "system.views" {
        rows::SYSTEM_VIEWS.check(profile, true, &[namespace])?;
        return Err(Error::not_served("a write to system.views"));
    }
    if name.starts_with("system.buckets.") && profile.version.at_least(5, 0) {
        return Err(Error::not_served("a write to the buckets of a time series"));
    }
    let is_other = is_system && !is_legal(namespace);
    rows::SYSTEM_BEFORE_5.check(profile, is_other, &[namespace])?;
    rows::SYSTEM.check(profile, is_other, &[namespace])?;
    let has_part = name.contains(".system.") && !name.contains(".system.sessions");
    rows::PART_BEFORE_5.check(profile, has_part, &[namespace])?;
    rows::PART.check(profile, has_part, &[namespace])
}
