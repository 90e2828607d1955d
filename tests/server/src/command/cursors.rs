//! `getMore` and `killCursors`.

use super::Call;
use crate::cursor::Origin;
use crate::error::{Error, Result};
use crate::session_info::{session_id, shown};
use crate::violation::ViolationKind;
use bson::{Bson, Document, doc};

pub(crate) fn get_more(call: &Call<'_>) -> Result<Document> {
    let args = call.args();
    let id = match call.body.get(call.key) {
        Some(Bson::Int64(id)) => *id,
        Some(other) => {
            return Err(Error::type_mismatch(format!(
                "BSON field 'getMore.getMore' is the wrong type '{}', expected type 'long'",
                crate::value::type_name(other)
            )));
        }
        None => return Err(Error::type_mismatch("getMore requires a cursor id")),
    };
    if call.body.contains_key("maxTimeMS") && call.member.cursors.awaits_data(id) == Some(false) {
        return Err(Error::bad_value(
            "cannot set maxTimeMS on getMore command for a non-awaitData cursor",
        ));
    }
    let collection = args.required_string("collection")?;
    if collection.is_empty() {
        return Err(Error::new(73, "Collection names cannot be empty"));
    }
    let batch_size = args.count("batchSize")?.filter(|size| *size > 0);
    let namespace = format!("{}.{collection}", call.db);
    let catalog = call.catalog();
    let origin = Origin {
        deployment: call.deployment,
        catalog: &catalog,
    };
    let cursor = call
        .member
        .cursors
        .next_batch(id, &namespace, batch_size, origin, &call.owner()?)?;
    Ok(doc! { "cursor": cursor })
}

pub(crate) fn kill_cursors(call: &Call<'_>) -> Result<Document> {
    let namespace = call.namespace_or_any()?;
    let ids = call.args().required_array("cursors")?;
    let (mut killed, mut not_found) = (Vec::new(), Vec::new());
    for id in ids {
        let Bson::Int64(number) = id else {
            return Err(Error::type_mismatch(format!(
                "BSON field 'killCursors.cursors' is the wrong type '{}', expected type 'long'",
                crate::value::type_name(id)
            )));
        };
        check_session(call, *number)?;
        if call.member.cursors.kill(*number, &namespace) {
            killed.push(id.clone());
        } else {
            not_found.push(id.clone());
        }
    }
    Ok(
        doc! { "cursorsKilled": killed, "cursorsNotFound": not_found, "cursorsAlive": [], "cursorsUnknown": [] },
    )
}

/// Records a violation if the command is sent in another session than that of the cursor. MongoDB accepts it, and a driver
/// may omit the session.
fn check_session(call: &Call<'_>, cursor: i64) -> Result<()> {
    let Some(session) = session_id(call.body)? else {
        return Ok(());
    };
    let own = call.member.cursors.session_of(cursor);
    if own.as_ref().is_some_and(|own| own.as_ref() != Some(&session)) {
        let of_cursor = own
            .flatten()
            .map_or_else(|| "no session".to_owned(), |own| shown(&own));
        call.deployment.violations.record_command(
            ViolationKind::CursorSession,
            call.body,
            call.client.id,
            format!("cursor {cursor} was created in {of_cursor}"),
        );
    }
    Ok(())
}
