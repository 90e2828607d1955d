//! Which values can be the `_id` of a file.

use crate::bson::{Bson, Document};

/// Whether servers accept the value as `_id`. They refuse arrays, regular expressions, `undefined`,
/// and documents with a field whose name begins with `$`, except DBRefs. Within a filter, the refused
/// values are expressions.
pub fn is_valid_id(id: &Bson) -> bool {
    match id {
        Bson::Array(_) | Bson::RegularExpression(_) | Bson::Undefined => false,
        Bson::Document(document) => is_valid_document(document),
        _ => true,
    }
}

/// Whether servers accept the value as the `_id` of a file, and store it unchanged as the `files_id`
/// of its chunks: they replace the timestamp 0 in all fields but `_id` by the current time.
pub fn is_valid_id_of_new_file(id: &Bson) -> bool {
    match id {
        Bson::Timestamp(timestamp) => timestamp.time != 0 || timestamp.increment != 0,
        id => is_valid_id(id),
    }
}

fn is_valid_document(document: &Document) -> bool {
    let mut fields = document.iter().peekable();
    // A DBRef: `$ref`, `$id`, perhaps `$db`, then other fields.
    if let Some((_, Bson::String(_))) = fields.next_if(|(name, _)| name.as_str() == "$ref") {
        if fields.next_if(|(name, _)| name.as_str() == "$id").is_none() {
            return false;
        }
        fields.next_if(|(name, value)| name.as_str() == "$db" && matches!(value, Bson::String(_)));
    }
    fields.all(|(name, _)| !name.starts_with('$'))
}
