//! Resume tokens in BSON and JSON.

use marula_driver::{
    ResumeToken,
    bson::{doc, from_document, rawdoc, to_document},
};
use serde::{Deserialize, Serialize};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Stored {
    token: Option<ResumeToken>,
}

#[test]
fn a_token_is_stored_as_the_document_that_the_server_sent() {
    let token = ResumeToken::from(rawdoc! { "_data": "8263", "_typeBits": "00" });
    let stored = Stored { token: Some(token) };
    let document = to_document(&stored).expect("a document");
    assert_eq!(document, doc! { "token": { "_data": "8263", "_typeBits": "00" } });
    assert_eq!(from_document::<Stored>(&document).expect("a token"), stored);
    let text = serde_json::to_string(&stored).expect("JSON");
    assert_eq!(text, r#"{"token":{"_data":"8263","_typeBits":"00"}}"#);
    assert_eq!(serde_json::from_str::<Stored>(&text).expect("a token"), stored);
    assert!(format!("{stored:?}").contains("8263"));
}
