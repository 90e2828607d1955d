//! Values that must not be encoded or decoded, and their error messages.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::BTreeMap;

use marula_driver::bson::{
    Binary, BinarySubtype, Bson, Document, DocumentWriter, ElementType, IndexKey, IntoDocument,
    JavaScriptCodeWithScope, MAX_DEPTH, ObjectId, RawDocument, RawElements, append, append_bson,
    append_document, append_element, decode_document, doc, find_element, from_document, from_slice,
    from_slice_owned, rawdoc, to_bson, to_document, to_vec,
};
use serde::ser::{SerializeMap, SerializeStruct, Serializer};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Debug, PartialEq)]
struct Order {
    id: i32,
    lines: Vec<Line>,
}

#[derive(Serialize, Deserialize, Debug, PartialEq)]
struct Line {
    sku: String,
}

fn message<T: serde::de::DeserializeOwned + std::fmt::Debug>(document: &Document) -> String {
    from_document::<T>(document).unwrap_err().to_string()
}

#[test]
fn decode_errors_name_field_types_and_offset() {
    let document = doc! { "id": 1, "lines": [{ "sku": "a" }, { "sku": "b" }, { "sku": 12345 }] };
    let bytes = to_vec(&document).unwrap();
    let error = from_slice::<Order>(&bytes).unwrap_err();
    assert_eq!(error.path(), "lines[2].sku");
    let at = bytes
        .windows(4)
        .position(|part| part == 12345_i32.to_le_bytes())
        .unwrap();
    assert_eq!(error.offset(), Some(at));
    assert_eq!(
        error.to_string(),
        format!("lines[2].sku: expected a string, found Int32 at byte {at}")
    );
    let missing = doc! { "id": 1, "lines": [{}] };
    assert!(message::<Order>(&missing).starts_with("lines[0]: missing field `sku`"));
    assert!(message::<Order>(&doc! { "id": "x" }).starts_with("id: expected i32, found String"));
}

#[test]
fn an_error_in_a_flattened_type_says_that_the_field_is_unknown() {
    #[derive(Deserialize, Debug)]
    struct Outer {
        #[serde(flatten)]
        #[expect(dead_code, reason = "the fields are only read from BSON")]
        inner: Inner,
    }
    #[derive(Deserialize, Debug)]
    #[expect(dead_code, reason = "the fields are only read from BSON")]
    struct Inner {
        count: i32,
    }
    let text = message::<Outer>(&doc! { "count": "many" });
    assert!(
        text.contains("found a string in a field of a flattened, tagged or untagged type"),
        "{text}"
    );
    let text = message::<Inner>(&doc! { "count": "many" });
    assert!(!text.contains("flattened"), "{text}");
}

/// A document of one field with this type, the key `v` and these bytes of the value.
fn one(tag: u8, value: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    bytes.extend_from_slice(&[tag, b'v', 0]);
    bytes.extend_from_slice(value);
    bytes.push(0);
    let len = i32::try_from(bytes.len()).unwrap().to_le_bytes();
    bytes[..4].copy_from_slice(&len);
    bytes
}

#[test]
fn malformed_bytes_are_rejected_by_every_reader() {
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("no bytes", vec![]),
        ("only a length", vec![4, 0, 0, 0]),
        ("length too long", vec![6, 0, 0, 0, 0]),
        ("length negative", vec![255, 255, 255, 255, 0]),
        ("no terminator", vec![5, 0, 0, 0, 1]),
        ("bytes after the document", vec![5, 0, 0, 0, 0, 0]),
        ("bytes after the terminator", vec![7, 0, 0, 0, 0, 0, 0]),
        ("unknown type", one(0x20, &[])),
        ("boolean 2", one(0x08, &[2])),
        ("cut-off int", one(0x10, &[1, 2])),
        ("string length 0", one(0x02, &[0, 0, 0, 0])),
        ("string without end", one(0x02, &[2, 0, 0, 0, b'a', b'b'])),
        ("string length negative", one(0x02, &[255, 255, 255, 255, 0])),
        ("string not UTF-8", one(0x02, &[2, 0, 0, 0, 0xff, 0])),
        ("document shorter than 5", one(0x03, &[4, 0, 0, 0])),
        ("document longer than there is", one(0x03, &[9, 0, 0, 0, 0])),
        ("document without end", one(0x03, &[5, 0, 0, 0, 1])),
        ("array without end", one(0x04, &[5, 0, 0, 0, 1])),
        ("binary length negative", one(0x05, &[255, 255, 255, 255, 0])),
        ("binary longer than there is", one(0x05, &[9, 0, 0, 0, 0])),
        (
            "old binary's inner length",
            one(0x05, &[5, 0, 0, 0, 2, 2, 0, 0, 0, 1]),
        ),
        ("old binary without inner length", one(0x05, &[1, 0, 0, 0, 2, 1])),
        (
            "regex without options",
            vec![10, 0, 0, 0, 0x0b, b'v', 0, b'a', b'b', 0],
        ),
        ("regex not UTF-8", one(0x0b, &[0xff, 0, 0])),
        (
            "code with scope too small",
            one(0x0f, &[13, 0, 0, 0, 1, 0, 0, 0, 0, 5, 0, 0, 0]),
        ),
        (
            "code with scope's string too long",
            one(0x0f, &[14, 0, 0, 0, 9, 0, 0, 0, 0, 5, 0, 0, 0, 0]),
        ),
        ("db pointer cut off", one(0x0c, &[1, 0, 0, 0, 0, 1, 2, 3])),
    ];
    for (name, bytes) in &cases {
        assert!(decode_document(bytes).is_err(), "tree: {name}");
        assert!(from_slice::<Document>(bytes).is_err(), "serde tree: {name}");
        assert!(
            from_slice::<BTreeMap<String, Bson>>(bytes).is_err(),
            "typed: {name}"
        );
    }
    let key = [8, 0, 0, 0, 0x0a, 0xff, 0, 0];
    assert!(
        decode_document(&key)
            .unwrap_err()
            .to_string()
            .contains("key is not UTF-8")
    );
}

#[test]
fn nesting_is_limited_in_encoding_and_decoding() {
    fn nested(levels: u8) -> Document {
        (1..levels).fold(doc! {}, |inner, _| doc! { "d": inner })
    }
    fn nested_bytes(levels: usize) -> Vec<u8> {
        let mut bytes = vec![5, 0, 0, 0, 0];
        for _ in 1..levels {
            bytes = one(0x03, &bytes);
        }
        bytes
    }
    let deepest = nested(MAX_DEPTH);
    let mut bytes = vec![];
    append_document(&deepest, &mut bytes).unwrap();
    assert_eq!(bytes, deepest.to_vec().unwrap());
    assert_eq!(from_slice_owned::<Document>(&bytes).unwrap(), deepest);
    assert_eq!(decode_document(&bytes).unwrap(), deepest);
    let mut out = bytes.clone();

    let deeper = nested(MAX_DEPTH + 1);
    assert!(
        append_document(&deeper, &mut out)
            .unwrap_err()
            .message()
            .contains("nest deeper")
    );
    assert_eq!(out, bytes, "a failed document leaves the buffer unchanged");
    for levels in [201, 1000, 20_000] {
        let bytes = nested_bytes(levels);
        assert!(
            from_slice::<Document>(&bytes)
                .unwrap_err()
                .message()
                .contains("nest deeper")
        );
        assert!(
            decode_document(&bytes)
                .unwrap_err()
                .message()
                .contains("nest deeper")
        );
        let raw = RawDocument::from_bytes(&bytes).unwrap();
        assert_eq!(to_vec(&raw).unwrap(), bytes, "raw documents are copied");
    }
}

/// A document with a field of any type, which crate bson reads.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct AnyField {
    any: Bson,
}

/// A value that nests this many levels of documents.
fn levels_of_documents(levels: u8) -> Bson {
    (0..levels).fold(Bson::Int32(1), |inner, _| Bson::from(doc! { "d": inner }))
}

#[test]
fn what_serde_writes_can_be_read_as_any_type() {
    fn scopes(count: u8) -> Bson {
        (0..count).fold(Bson::Int32(1), |inner, _| {
            Bson::JavaScriptCodeWithScope(JavaScriptCodeWithScope {
                code: String::new(),
                scope: doc! { "d": inner },
            })
        })
    }
    // The outermost document is one level, and a scope counts as two.
    for any in [levels_of_documents(99), scopes(49)] {
        let field = AnyField { any };
        let bytes = to_vec(&field).unwrap();
        assert_eq!(from_slice::<AnyField>(&bytes).unwrap(), field);
        let document = to_document(&field).unwrap();
        assert_eq!(to_vec(&document).unwrap(), bytes);
    }
    let mut out = b"kept".to_vec();
    for any in [levels_of_documents(100), scopes(50)] {
        let field = AnyField { any: any.clone() };
        let document = doc! { "any": any };
        for error in [append(&field, &mut out), append(&document, &mut out)] {
            let error = error.unwrap_err();
            assert!(error.path().starts_with("any.d.d.d"), "{error}");
            assert!(error.message().contains("nest deeper than 100 levels"), "{error}");
        }
    }
    assert_eq!(out, b"kept");
    let elements = [1, 2].map(|_| vec![levels_of_documents(99)]);
    let error = to_vec(&BTreeMap::from([("list", elements)])).unwrap_err();
    assert!(error.path().starts_with("list[0][0].d"), "{error}");
}

/// Ignores the error of its value, as an application may do.
struct Lenient(Bson);

impl Serialize for Lenient {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let _ = map.serialize_entry("deep", &self.0);
        map.serialize_entry("rest", &levels_of_documents(99))?;
        map.end()
    }
}

#[test]
fn a_scope_that_is_too_deep_leaves_the_depth_as_it_was() {
    let scope = Bson::JavaScriptCodeWithScope(JavaScriptCodeWithScope {
        code: String::new(),
        scope: doc! { "d": levels_of_documents(98) },
    });
    let written: Document = from_slice_owned(&to_vec(&Lenient(scope)).unwrap()).unwrap();
    assert_eq!(written, doc! { "rest": levels_of_documents(99) });
}

#[test]
fn encode_errors_name_the_field_and_leave_the_buffer_unchanged() {
    let mut out = b"kept".to_vec();
    let bad = doc! { "a": [{ "x": 1 }, { "k\0y": 2 }] };
    for error in [
        append(&bad, &mut out).unwrap_err(),
        append_document(&bad, &mut out).unwrap_err(),
        append_element("doc", &bad, &mut out).unwrap_err(),
    ] {
        assert!(error.message().contains("zero byte"), "{error}");
    }
    assert!(
        append_document(&bad, &mut out)
            .unwrap_err()
            .path()
            .starts_with("a[1]")
    );
    assert_eq!(
        append_element("doc", &bad, &mut out).unwrap_err().path(),
        "doc.a[1]"
    );
    assert!(append_element("k\0", &1, &mut out).is_err());
    assert!(append_bson("k", &Bson::Document(bad), &mut out).is_err());
    for (error, found) in [
        (append(&1, &mut out), "Int32"),
        (append("text", &mut out), "String"),
        (append(&[1, 2], &mut out), "Array"),
        (append(&ObjectId::new(), &mut out), "ObjectId"),
        (append(&None::<Document>, &mut out), "Null"),
    ] {
        let error = error.unwrap_err().to_string();
        assert_eq!(error, format!("expected a document, found {found}"));
    }
    assert_eq!(out, b"kept");
    let error = to_bson(&Order { id: 1, lines: vec![] }).unwrap();
    assert_eq!(error, Bson::Document(doc! { "id": 1, "lines": [] }));
    assert_eq!(
        to_bson(&BTreeMap::from([("n", u64::MAX)])).unwrap_err().path(),
        "n"
    );
}

/// Ignores the error of one field.
struct IgnoresMapError;

impl Serialize for IgnoresMapError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("a", &1)?;
        let _ = map.serialize_entry("b", &vec![doc! { "x\0": 1 }]);
        map.serialize_entry("c", &2)?;
        map.end()
    }
}

#[test]
fn an_ignored_error_leaves_the_field_out() {
    let bytes = to_vec(&IgnoresMapError).unwrap();
    assert_eq!(decode_document(&bytes).unwrap(), doc! { "a": 1, "c": 2 });
}

#[test]
fn an_enum_must_be_a_document_of_one_field() {
    #[derive(Deserialize, Debug)]
    #[expect(dead_code, reason = "only deserialization is tested")]
    enum Shape {
        Dot,
        Circle(i32),
        Line(i32, i32),
    }
    type Shapes = BTreeMap<String, Shape>;
    assert!(message::<Shapes>(&doc! { "v": {} }).contains("one field"));
    assert!(message::<Shapes>(&doc! { "v": { "Circle": 1, "Dot": null } }).contains("one field"));
    assert!(message::<Shapes>(&doc! { "v": { "Square": 1 } }).contains("unknown variant"));
    assert!(message::<Shapes>(&doc! { "v": 3 }).contains("found Int32"));
    assert!(message::<Shapes>(&doc! { "v": { "Circle": "x" } }).starts_with("v.Circle: "));
    assert!(message::<Shapes>(&doc! { "v": { "Line": [1] } }).contains("length 1"));
    assert!(message::<Shapes>(&doc! { "v": { "Line": [1, 2, 3] } }).contains("found more"));
}

#[test]
fn errors_of_the_raw_reader_name_keys_and_types() {
    let raw = rawdoc! { "ok": 1.0, "n": 3_i64, "s": "x", "a": [1, "b"], "d": { "e": true } };
    let bytes = raw.as_bytes();
    let find = |key| find_element(bytes, key).unwrap().unwrap();
    assert!(find("ok").value.is_truthy());
    assert_eq!((find("ok").int(), find("n").int()), (Ok(1), Ok(3)));
    assert_eq!(
        find("n").i32().unwrap_err().to_string(),
        "n: expected an Int32, found Int64"
    );
    assert_eq!(find("s").str(), Ok("x"));
    let items: Vec<_> = find("a")
        .array()
        .unwrap()
        .map(|item| item.unwrap().kind())
        .collect();
    assert_eq!(items, [ElementType::Int32, ElementType::String]);
    assert!(find("a").document().is_err() && find("d").array().is_err());
    assert_eq!(
        find("d").elements().unwrap().next().unwrap().unwrap().bool(),
        Ok(true)
    );
    assert!(find_element(bytes, "absent").unwrap().is_none());

    let mut cut = RawElements::new(&[12, 0, 0, 0, 0x10, b'a', 0, 1, 0, 0, 0, 0]).unwrap();
    assert_eq!(cut.next().unwrap().unwrap().i32(), Ok(1));
    assert!(cut.next().is_none() && cut.is_empty());
    let broken = one(0x10, &[1]);
    let mut broken = RawElements::new(&broken).unwrap();
    assert_eq!(broken.next().unwrap().unwrap_err().offset(), Some(7));
    assert!(broken.next().is_none(), "after an error the iterator is finished");
}

#[test]
fn the_raw_writer_and_the_document_encoder_agree() {
    let mut out = vec![9];
    let mut writer = DocumentWriter::new(&mut out);
    let start = writer.begin();
    writer.str("s", "x");
    let array = writer.begin_array("a");
    for index in 0..12 {
        writer.i64(IndexKey::new(index).as_str(), 5);
    }
    writer.end(array);
    writer.serialize(
        "order",
        &Order {
            id: 1,
            lines: vec![Line { sku: "k".into() }],
        },
    );
    writer.binary("b", BinarySubtype::BinaryOld, &[1, 2]);
    writer.elements_of(&rawdoc! { "x": 1, "y": null });
    writer.bson("t", &Bson::Array(vec![Bson::MaxKey]));
    writer.end(start);
    writer.finish().unwrap();
    let old = Binary {
        subtype: BinarySubtype::BinaryOld,
        bytes: vec![1, 2],
    };
    let expected = doc! {
        "s": "x", "a": vec![5_i64; 12], "order": { "id": 1, "lines": [{ "sku": "k" }] },
        "b": old, "x": 1, "y": null, "t": [Bson::MaxKey],
    };
    assert_eq!(out[1..], expected.to_vec().unwrap());

    let mut writer = DocumentWriter::new(&mut out);
    let start = writer.begin();
    writer.i32("bad\0key", 1);
    writer.serialize("n", &u64::MAX);
    writer.end(start);
    let error = writer.finish().unwrap_err();
    assert!(error.message().contains("zero byte"), "{error}");
    assert_eq!(
        out[1..],
        expected.to_vec().unwrap(),
        "the failed document leaves the buffer unchanged"
    );
    assert_eq!((&expected).into_raw_document().unwrap().as_bytes(), &out[1..]);
}

/// Names that are valid in Rust and contain a zero byte.
#[derive(Serialize)]
enum Zero {
    #[serde(rename = "n\0")]
    Newtype(i32),
    #[serde(rename = "t\0")]
    Tuple(i32, i32),
    #[serde(rename = "s\0")]
    Struct { a: i32 },
    Field {
        #[serde(rename = "f\0")]
        a: i32,
    },
}

#[test]
fn a_zero_byte_in_a_name_is_an_error() {
    let mut out = b"kept".to_vec();
    for value in [
        Zero::Newtype(1),
        Zero::Tuple(1, 2),
        Zero::Struct { a: 1 },
        Zero::Field { a: 1 },
    ] {
        let error = append(&doc! { "before": 1 }, &mut Vec::new()).and(append(&value, &mut out));
        assert!(error.unwrap_err().message().contains("zero byte"));
        assert!(append_element("key", &value, &mut out).is_err());
        assert_eq!(out, b"kept");
    }
}

/// Ignores the errors of the fields of a struct.
struct IgnoresStructErrors;

impl Serialize for IgnoresStructErrors {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("IgnoresMapError", 5)?;
        fields.serialize_field("a", &1)?;
        let _ = fields.serialize_field("b\0", &1);
        let _ = fields.serialize_field("c", &[vec![Zero::Tuple(1, 2)]]);
        fields.serialize_field("d", &[1, 2])?;
        let _ = fields.serialize_field("e", &u64::MAX);
        fields.serialize_field("f", &IgnoresMapError)?;
        fields.end()
    }
}

#[test]
fn an_ignored_error_of_a_struct_leaves_the_field_out() {
    let bytes = to_vec(&IgnoresStructErrors).unwrap();
    let left = doc! { "a": 1, "d": [1, 2], "f": { "a": 1, "c": 2 } };
    assert_eq!(decode_document(&bytes).unwrap(), left);
}
