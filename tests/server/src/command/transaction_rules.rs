//! What commands may not do in a transaction although the command itself is allowed.

use super::Call;
use crate::error::Result;
use crate::refusal::transactions as rows;
use crate::storage::{Catalog, Collection, Namespace};

/// Fails if `create` of this collection is not allowed in a transaction.
pub(crate) fn check_create(call: &Call<'_>, collection: &Collection) -> Result<()> {
    if !call.in_transaction() {
        return Ok(());
    }
    let profile = call.deployment.profile();
    rows::CREATE_VIEW.check(profile, collection.view.is_some(), &[])?;
    rows::CREATE_TIME_SERIES.check(profile, collection.time_field.is_some(), &[])
}

/// Fails if a write would create its collection in a transaction of a server that can't.
pub(crate) fn check_implicit_create(call: &Call<'_>, catalog: &Catalog, namespace: &Namespace) -> Result<()> {
    let creates = call.in_transaction() && catalog.get(namespace).is_none();
    rows::IMPLICIT_CREATE.check(call.deployment.profile(), creates, &[namespace])
}
