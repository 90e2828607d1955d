//! Updates with an aggregation pipeline: the id of the document that an upsert may insert, and the fields
//! that a stage must not lose.
//!
//! If a stage of the pipeline removes `_id`, a server keeps the `_id` of an existing document, and
//! adds an `ObjectId` to an inserted one. No later stage can distinguish the two cases, so the
//! stages that remove `_id` are rewritten to keep it. A last stage then adds an id to the inserted
//! document only.

use crate::bson::{Bson, Document, doc};

/// Whether a stage can set `_id`.
pub(super) fn gives_id(stage: &Document) -> bool {
    let sets_id = |fields: &Bson| fields.as_document().is_some_and(|f| f.contains_key("_id"));
    stage.iter().any(|(operator, fields)| match operator.as_str() {
        "$set" | "$addFields" => sets_id(fields),
        // A number or a Boolean includes or excludes the field.
        "$project" => matches!(
            fields.as_document().and_then(|f| f.get("_id")),
            Some(Bson::String(_) | Bson::Document(_))
        ),
        "$replaceWith" => root_gives_id(fields),
        "$replaceRoot" => fields
            .as_document()
            .and_then(|f| f.get("newRoot"))
            .is_some_and(root_gives_id),
        _ => false,
    })
}

/// Whether an expression for a new document can have a field `_id`. The result of an operator is
/// not known.
fn root_gives_id(root: &Bson) -> bool {
    match root {
        Bson::Document(fields) => {
            fields.contains_key("_id") || fields.keys().next().is_some_and(|key| key.starts_with('$'))
        }
        _ => true,
    }
}

/// Adds an id for the document that the upsert may insert. The effect of the pipeline on an
/// existing document does not change.
///
/// For an `ObjectId` the pipeline does not change, since the server adds one itself.
pub(super) fn add_id(stages: &mut Vec<Document>, id: Bson) {
    if matches!(id, Bson::ObjectId(_)) {
        return;
    }
    let mut kept: Vec<Document> = std::mem::take(stages).into_iter().filter_map(keep_id).collect();
    kept.push(doc! { "$set": { "_id": {
        "$cond": [{ "$eq": [{ "$type": "$_id" }, "missing"] }, { "$literal": id }, "$_id"]
    } } });
    *stages = kept;
}

/// The stage without the removal of `_id`. `None` for a stage that does nothing else.
fn keep_id(mut stage: Document) -> Option<Document> {
    for operator in ["$replaceWith", "$replaceRoot", "$project", "$unset"] {
        let Some(argument) = stage.get_mut(operator) else {
            continue;
        };
        match (operator, argument) {
            ("$replaceWith", root) => *root = with_fields(root, &["_id"]),
            ("$replaceRoot", Bson::Document(options)) => {
                if let Some(root) = options.get_mut("newRoot") {
                    *root = with_fields(root, &["_id"]);
                }
            }
            ("$project", Bson::Document(fields)) if fields.get("_id").is_some_and(is_false) => {
                fields.remove("_id");
                if fields.is_empty() {
                    return None;
                }
            }
            ("$unset", Bson::String(field)) if field == "_id" => return None,
            ("$unset", Bson::Array(fields)) => {
                let count = fields.len();
                fields.retain(|field| field.as_str() != Some("_id"));
                if fields.is_empty() && count > 0 {
                    return None;
                }
            }
            _ => {}
        }
    }
    Some(stage)
}

/// Changes the stages that create a new document or name the fields of the result, so that they keep
/// these fields with their old values. A stage that itself sets or removes such a field still does.
pub(super) fn keep(stages: &mut [Document], kept: &[&str]) {
    for stage in stages.iter_mut().filter(|_| !kept.is_empty()) {
        for (operator, argument) in stage.iter_mut() {
            match (operator.as_str(), argument) {
                ("$replaceWith", root) => *root = with_fields(root, kept),
                ("$replaceRoot", Bson::Document(options)) => {
                    if let Some(root) = options.get_mut("newRoot") {
                        *root = with_fields(root, kept);
                    }
                }
                ("$project", Bson::Document(fields)) if includes(fields) => {
                    for field in kept {
                        fields.entry((*field).to_owned()).or_insert(Bson::Int32(1));
                    }
                }
                _ => {}
            }
        }
    }
}

/// Whether a `$project` names the fields of the result, and not those to remove.
fn includes(fields: &Document) -> bool {
    match fields.iter().find(|(name, _)| *name != "_id") {
        Some((_, value)) => !is_false(value),
        None => fields.get("_id").is_some_and(|value| !is_false(value)),
    }
}

/// The expression for a new document, with the fields of the old one that the new one does not have. A
/// value that is not a document does not change, and the server rejects it.
fn with_fields(root: &Bson, kept: &[&str]) -> Bson {
    let old: Document = kept
        .iter()
        .map(|field| ((*field).to_owned(), Bson::from(format!("${field}"))))
        .collect();
    Bson::Document(doc! { "$let": {
        "vars": { "root": root.clone() },
        "in": { "$cond": [
            { "$eq": [{ "$type": "$$root" }, "object"] },
            { "$mergeObjects": [old, "$$root"] },
            "$$root",
        ] },
    } })
}

/// Whether the value of a field in `$project` excludes the field.
pub(super) fn is_false(value: &Bson) -> bool {
    match value {
        Bson::Boolean(value) => !value,
        Bson::Int32(value) => *value == 0,
        Bson::Int64(value) => *value == 0,
        Bson::Double(value) => *value == 0.0,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added() -> Document {
        doc! { "$set": { "_id": { "$cond": [{ "$eq": [{ "$type": "$_id" }, "missing"] }, { "$literal": "x" }, "$_id"] } } }
    }

    fn with_added(mut stages: Vec<Document>) -> Vec<Document> {
        add_id(&mut stages, "x".into());
        stages
    }

    #[test]
    fn stages_that_keep_the_id_stay_as_they_are() {
        let stages = vec![
            doc! { "$set": { "a": 1 } },
            doc! { "$project": { "a": 1 } },
            doc! { "$project": { "_id": 1, "a": 1 } },
            doc! { "$unset": ["a", "b"] },
            doc! { "$unset": "a" },
        ];
        let mut expected = stages.clone();
        expected.push(added());
        assert_eq!(with_added(stages), expected);
    }

    #[test]
    fn stages_that_drop_the_id_keep_it() {
        let stages = vec![
            doc! { "$project": { "_id": 0, "a": 1 } },
            doc! { "$project": { "_id": false } },
            doc! { "$unset": ["_id", "b"] },
            doc! { "$unset": ["_id"] },
            doc! { "$unset": "_id" },
            doc! { "$replaceWith": "$a" },
            doc! { "$replaceRoot": { "newRoot": "$b" } },
        ];
        let expected = vec![
            doc! { "$project": { "a": 1 } },
            doc! { "$unset": ["b"] },
            doc! { "$replaceWith": with_fields(&"$a".into(), &["_id"]) },
            doc! { "$replaceRoot": { "newRoot": with_fields(&"$b".into(), &["_id"]) } },
            added(),
        ];
        assert_eq!(with_added(stages), expected);
    }

    #[test]
    fn stages_keep_fields() {
        let mut stages = vec![
            doc! { "$set": { "a": 1 } },
            doc! { "$unset": "v" },
            doc! { "$project": { "a": 0 } },
            doc! { "$project": { "_id": 0, "a": 1 } },
            doc! { "$project": { "v": "$b" } },
            doc! { "$replaceWith": "$a" },
            doc! { "$replaceRoot": { "newRoot": "$b" } },
        ];
        let mut expected = stages.clone();
        expected[3] = doc! { "$project": { "_id": 0, "a": 1, "v": 1 } };
        expected[5] = doc! { "$replaceWith": with_fields(&"$a".into(), &["v"]) };
        expected[6] = doc! { "$replaceRoot": { "newRoot": with_fields(&"$b".into(), &["v"]) } };
        keep(&mut stages, &["v"]);
        assert_eq!(stages, expected);
        keep(&mut stages, &[]);
        assert_eq!(stages, expected);
    }

    #[test]
    fn the_server_adds_object_ids_itself() {
        let mut stages = vec![doc! { "$replaceWith": "$a" }];
        let before = stages.clone();
        add_id(&mut stages, Bson::ObjectId(crate::bson::ObjectId::new()));
        assert_eq!(stages, before);
    }

    #[test]
    fn stages_that_can_give_an_id_are_known() {
        for stage in [
            doc! { "$set": { "_id": 1 } },
            doc! { "$addFields": { "_id": "$a" } },
            doc! { "$project": { "_id": "$a" } },
            doc! { "$replaceWith": { "_id": 1, "a": 2 } },
            doc! { "$replaceWith": "$a" },
            doc! { "$replaceRoot": { "newRoot": { "$mergeObjects": ["$a", "$b"] } } },
        ] {
            assert!(gives_id(&stage), "{stage:?}");
        }
        for stage in [
            doc! { "$set": { "a": 1 } },
            doc! { "$project": { "_id": 1 } },
            doc! { "$project": { "a": "$b" } },
            doc! { "$replaceWith": { "a": 2 } },
            doc! { "$replaceRoot": { "newRoot": {} } },
            doc! { "$unset": "a" },
        ] {
            assert!(!gives_id(&stage), "{stage:?}");
        }
    }
}
