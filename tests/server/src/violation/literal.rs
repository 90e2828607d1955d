//! Modifiers of `$push` that are stored as a value, because `$each` is missing.

use bson::{Bson, Document};

const MODIFIERS: [&str; 3] = ["$position", "$slice", "$sort"];

/// The field and the modifier of the first `$push` or `$addToSet` of a command that stores a modifier.
pub(crate) fn stored_modifier(command: &str, body: &Document) -> Option<String> {
    let statements = |list: &str, update: &str| {
        let statements = body.get_array(list).ok()?.iter().filter_map(Bson::as_document);
        statements
            .filter_map(|statement| statement.get_document(update).ok())
            .find_map(of_update)
    };
    match command {
        "update" => statements("updates", "u"),
        "bulkWrite" => statements("ops", "updateMods"),
        "findAndModify" => of_update(body.get_document("update").ok()?),
        _ => None,
    }
}

fn of_update(update: &Document) -> Option<String> {
    ["$push", "$addToSet"].into_iter().find_map(|operator| {
        let fields = update.get_document(operator).ok()?;
        fields.iter().find_map(|(field, value)| {
            let value = value.as_document()?;
            let first = value.keys().next()?;
            let is_stored = MODIFIERS.contains(&first.as_str()) && !value.contains_key("$each");
            is_stored.then(|| format!("{operator} of `{field}` has {first} without $each"))
        })
    })
}
