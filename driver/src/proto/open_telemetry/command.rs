//! The attributes of a command span that come from the command and from its reply.

use crate::bson::{
    ExtendedJson, RawDocument, RawDocumentBuf, RawElement, RawElements, find_element, raw::CString,
};

/// The fields of a command that `db.query.text` omits.
const OMITTED: [&str; 4] = ["lsid", "$db", "$clusterTime", "signature"];

/// The attributes that the body of a command contains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CommandFields {
    /// `db.mongodb.lsid`: the document as relaxed Extended JSON.
    pub(crate) lsid: Option<String>,
    /// `db.mongodb.txn_number`.
    pub(crate) transaction_number: Option<i64>,
    /// `db.mongodb.cursor_id`: the cursor that the command continues, or the only one that it closes.
    pub(crate) cursor_id: Option<i64>,
}

impl CommandFields {
    /// Reads the fields of the body of a command. What is malformed is absent.
    pub(crate) fn read(body: &[u8]) -> Self {
        let mut fields = Self::default();
        let Ok(mut elements) = RawElements::new(body) else {
            return fields;
        };
        let mut is_kill_cursors = false;
        while let Ok(Some(RawElement { key, value })) = elements.next_element() {
            match key {
                "killCursors" => is_kill_cursors = true,
                "cursors" if is_kill_cursors => fields.cursor_id = only_element(value.bytes()),
                "getMore" => fields.cursor_id = value.int().ok(),
                "txnNumber" => fields.transaction_number = value.int().ok(),
                "lsid" => {
                    let id = RawDocument::from_bytes(value.bytes()).ok();
                    fields.lsid = id.and_then(|id| ExtendedJson::relaxed(id).to_json().ok());
                }
                _ => {}
            }
        }
        fields
    }
}

/// The element of an array that has one. `None` if it is not an integer.
fn only_element(array: &[u8]) -> Option<i64> {
    let mut elements = RawElements::new(array).ok()?;
    let first = elements.next_element().ok()??;
    let is_only = elements.next_element().ok()?.is_none();
    first.value.int().ok().filter(|_| is_only)
}

/// The ID of the open cursor in a reply. `None` if the reply has none, or the server has closed it.
pub(crate) fn cursor_id(reply: &[u8]) -> Option<i64> {
    let cursor = find_element(reply, "cursor").ok()??;
    let id = find_element(cursor.value.bytes(), "id").ok()??;
    id.value.int().ok().filter(|id| *id != 0)
}

/// The command that `db.query.text` contains, without the fields that identify the session and the
/// server.
pub(crate) fn statement(command: &RawDocument) -> RawDocumentBuf {
    let mut shown = RawDocumentBuf::new();
    for (key, value) in command.iter().flatten() {
        if !OMITTED.contains(&key.as_str())
            && let Ok(key) = CString::try_from(key.as_str())
        {
            shown.append(key, value);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bson::rawdoc;

    #[test]
    fn fields_are_read_from_the_body() {
        let body = rawdoc! { "getMore": 7_i64, "lsid": { "id": 1 }, "txnNumber": 3_i64, "$db": "d" };
        let fields = CommandFields::read(body.as_bytes());
        assert_eq!(fields.cursor_id, Some(7));
        assert_eq!(fields.transaction_number, Some(3));
        assert_eq!(fields.lsid.as_deref(), Some(r#"{"id": 1}"#));
        for (cursors, id) in [
            (rawdoc! { "killCursors": "c", "cursors": [7_i64] }, Some(7)),
            (rawdoc! { "killCursors": "c", "cursors": [7_i64, 8_i64] }, None),
            (rawdoc! { "killCursors": "c", "cursors": [] }, None),
            (rawdoc! { "killCursors": "c", "cursors": 7_i64 }, None),
            (rawdoc! { "insert": "c", "cursors": [7_i64] }, None),
        ] {
            assert_eq!(CommandFields::read(cursors.as_bytes()).cursor_id, id);
        }
        let none = CommandFields::read(rawdoc! { "ping": 1, "lsid": 7 }.as_bytes());
        assert_eq!(none, CommandFields::default());
        assert_eq!(CommandFields::read(&[1, 2]), CommandFields::default());
    }

    #[test]
    fn only_open_cursors_have_an_id() {
        for (reply, id) in [
            (
                rawdoc! { "cursor": { "id": 9_i64, "ns": "d.c" }, "ok": 1 },
                Some(9),
            ),
            (rawdoc! { "cursor": { "id": 0_i64 } }, None),
            (rawdoc! { "cursor": 3 }, None),
            (rawdoc! { "ok": 1 }, None),
        ] {
            assert_eq!(cursor_id(reply.as_bytes()), id);
        }
    }

    #[test]
    fn statements_have_no_session() {
        let command = rawdoc! {
            "find": "c", "lsid": { "id": 1 }, "$db": "d", "$clusterTime": {}, "txnNumber": 3_i64,
        };
        assert_eq!(statement(&command), rawdoc! { "find": "c", "txnNumber": 3_i64 });
    }
}
