//! Values that are read as they are stored: documents whose keys are those of Extended JSON, and
//! documents that nest as deep as the codec permits.

use std::collections::{BTreeMap, HashMap};
use std::thread;

use marula_driver::bson::{
    Bson, DbRef, Document, JavaScriptCodeWithScope, MAX_DEPTH, doc, exact, from_bson_owned, from_slice,
    from_slice_owned, to_vec,
};
use marula_driver::{ChangeStreamEvent, IndexModel};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The keys of Extended JSON.
const KEYS: [&str; 18] = [
    "$oid",
    "$symbol",
    "$numberInt",
    "$numberLong",
    "$numberDouble",
    "$binary",
    "$uuid",
    "$code",
    "$scope",
    "$timestamp",
    "$regularExpression",
    "$dbPointer",
    "$date",
    "$maxKey",
    "$minKey",
    "$undefined",
    "$numberDecimal",
    "$numberDecimalBytes",
];

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Fields {
    #[serde(with = "exact")]
    value: Bson,
    #[serde(with = "exact")]
    document: Document,
    #[serde(with = "exact", default)]
    optional: Option<Bson>,
    #[serde(with = "exact", default)]
    missing: Option<Document>,
    #[serde(with = "exact")]
    list: Vec<Bson>,
    #[serde(with = "exact")]
    nested: Vec<Option<Document>>,
    #[serde(with = "exact")]
    map: HashMap<String, Bson>,
    #[serde(with = "exact")]
    sorted: BTreeMap<String, Box<Document>>,
}

/// Documents with one key of Extended JSON, some of which have its form.
fn shapes() -> impl Iterator<Item = Document> {
    KEYS.into_iter().flat_map(|key| {
        [
            doc! { key: 1 },
            doc! { key: 5_i64 },
            doc! { key: "1" },
            doc! { key: true },
            doc! { "a": 1, key: { "base64": "", "subType": "00" }, "b": [{ key: "soon" }] },
        ]
    })
}

#[test]
fn exact_fields_keep_documents_with_the_keys_of_extended_json() {
    for shape in shapes() {
        let stored = doc! {
            "value": &shape, "document": &shape, "optional": [&shape], "list": [&shape, 1, [&shape]],
            "nested": [&shape, null], "map": { "$date": &shape }, "sorted": { "$oid": &shape },
        };
        let bytes = to_vec(&stored).unwrap();
        let read: Fields = from_slice(&bytes).unwrap_or_else(|error| panic!("{shape}: {error}"));
        let shape = Bson::from(shape);
        let document = shape.as_document().unwrap();
        assert_eq!((&read.value, &read.document), (&shape, document));
        assert_eq!(read.optional, Some(Bson::Array(vec![shape.clone()])));
        assert_eq!(read.nested, [Some(document.clone()), None]);
        assert_eq!(read.map["$date"], shape);
        assert_eq!(read.missing, None);
        let again: Fields = from_slice(&to_vec(&read).unwrap()).unwrap();
        assert_eq!(again, read);
        // Written with the missing field.
        let mut written: Document = from_slice_owned(&to_vec(&read).unwrap()).unwrap();
        assert_eq!(written.remove("missing"), Some(Bson::Null));
        assert_eq!(written, stored);
    }
}

#[test]
fn whole_values_are_exact() {
    for shape in shapes() {
        let value = Bson::from(shape.clone());
        let bytes = to_vec(&shape).unwrap();
        assert_eq!(from_slice_owned::<Document>(&bytes).unwrap(), shape);
        assert_eq!(from_slice_owned::<Bson>(&bytes).unwrap(), value);
        assert_eq!(from_bson_owned::<Document>(&value).unwrap(), shape);
        assert_eq!(from_bson_owned::<Bson>(&value).unwrap(), value);
        let array = Bson::Array(vec![value.clone()]);
        assert_eq!(from_bson_owned::<Bson>(&array).unwrap(), array);
        assert_eq!(
            from_bson_owned::<Vec<Bson>>(&array).unwrap(),
            std::slice::from_ref(&value)
        );
        assert_eq!(
            from_bson_owned::<Vec<Document>>(&array).unwrap(),
            std::slice::from_ref(&shape)
        );
        assert_eq!(from_bson_owned::<Option<Bson>>(&value).unwrap(), Some(value));
        let document = Bson::Document(shape.clone());
        assert_eq!(
            from_bson_owned::<Option<Document>>(&document).unwrap(),
            Some(shape)
        );
    }
}

#[test]
fn null_is_read_as_none() {
    assert_eq!(from_bson_owned::<Option<Bson>>(&Bson::Null).unwrap(), None);
    assert_eq!(from_bson_owned::<Option<Document>>(&Bson::Null).unwrap(), None);
    let error = from_bson_owned::<Vec<Document>>(&Bson::Array(vec![Bson::Int32(1)])).unwrap_err();
    assert_eq!((error.path(), error.type_found()), ("[0]", Some("Int32")));
}

#[test]
fn references_are_exact() {
    #[derive(Serialize, Deserialize)]
    struct Holder {
        at: DbRef,
    }
    for shape in shapes() {
        let stored = doc! { "at": { "$ref": "c", "$id": &shape, "more": [&shape] } };
        let holder: Holder = from_slice(&to_vec(&stored).unwrap()).unwrap();
        assert_eq!(holder.at.id, Bson::from(shape.clone()));
        assert_eq!(holder.at.extra, doc! { "more": [shape] });
        let written: Document = from_slice_owned(&to_vec(&holder).unwrap()).unwrap();
        assert_eq!(written, stored);
    }
}

#[test]
fn events_of_change_streams_are_exact() {
    for shape in shapes() {
        let event = doc! {
            "_id": { "_data": "82" }, "operationType": "update", "fullDocument": &shape,
            "fullDocumentBeforeChange": { "_id": 1, "a": &shape }, "documentKey": { "_id": &shape },
            "updateDescription": {
                "updatedFields": { "a": &shape }, "removedFields": [], "truncatedArrays": [],
                "disambiguatedPaths": { "$date": ["a"] },
            },
            "operationDescription": &shape, "lsid": &shape,
        };
        let read: ChangeStreamEvent<Document> = from_slice(&to_vec(&event).unwrap()).unwrap();
        assert_eq!(read.full_document.as_ref(), Some(&shape));
        assert_eq!(
            read.full_document_before_change,
            Some(doc! { "_id": 1, "a": &shape })
        );
        assert_eq!(read.document_key, Some(doc! { "_id": &shape }));
        assert_eq!(read.operation_description.as_ref(), Some(&shape));
        assert_eq!(read.lsid.as_ref(), Some(&shape));
        let description = read.update_description.unwrap();
        assert_eq!(description.updated_fields, doc! { "a": &shape });
        assert_eq!(description.disambiguated_paths, Some(doc! { "$date": ["a"] }));
        let read: ChangeStreamEvent<Bson> = from_slice(&to_vec(&event).unwrap()).unwrap();
        assert_eq!(read.full_document, Some(Bson::from(shape)));
    }
}

#[test]
fn index_models_are_exact() {
    for shape in shapes() {
        let stored =
            doc! { "key": { "a": 1 }, "name": "a_1", "partialFilterExpression": { "a": { "$gt": &shape } } };
        let index: IndexModel = from_slice(&to_vec(&stored).unwrap()).unwrap();
        assert_eq!(
            index.options.partial_filter_expression,
            Some(doc! { "a": { "$gt": shape } })
        );
    }
}

#[test]
fn errors_of_exact_fields_name_the_field_and_the_type() {
    #[derive(Deserialize, Debug)]
    struct Typed {
        #[serde(with = "exact")]
        #[expect(dead_code, reason = "the fields are only read from BSON")]
        rules: Vec<Document>,
    }
    let bytes = to_vec(&doc! { "rules": [{}, 7] }).unwrap();
    let error = from_slice::<Typed>(&bytes).unwrap_err();
    assert_eq!((error.path(), error.type_found()), ("rules[1]", Some("Int32")));
    // A string inside the document is not UTF-8.
    let mut bytes = to_vec(&doc! { "rules": [{ "a": { "b": "x" } }] }).unwrap();
    let at = bytes.iter().position(|byte| *byte == b'x').unwrap();
    bytes[at] = 0xff;
    let error = from_slice::<Typed>(&bytes).unwrap_err();
    assert_eq!(error.path(), "rules[0].a.b");
    assert_eq!(error.offset(), Some(at - 4), "{error}");
}

#[test]
fn other_formats_and_buffers_are_read_as_before() {
    #[derive(Deserialize, PartialEq, Debug)]
    struct Inner {
        #[serde(with = "exact")]
        value: Bson,
    }
    #[derive(Deserialize, PartialEq, Debug)]
    struct Outer {
        #[serde(flatten)]
        inner: Inner,
    }
    let json: Inner = serde_json::from_str(r#"{ "value": { "a": [1] } }"#).unwrap();
    assert_eq!(json.value, Bson::from(doc! { "a": [1] }));
    let bytes = to_vec(&doc! { "value": { "a": [1] } }).unwrap();
    assert_eq!(from_slice::<Outer>(&bytes).unwrap().inner, json);
}

/// Less than the 2 MiB of stack of a worker thread of tokio, of which the frames of the driver and of
/// the application take a part.
const STACK: usize = 1536 << 10;

/// The kind of value around a value.
#[derive(Clone, Copy, PartialEq)]
enum Levels {
    Documents,
    Arrays,
    /// The scopes of values of the type JavaScriptCodeWithScope.
    Scopes,
}

/// Writes the length of a value into its first four bytes.
fn close(mut value: Vec<u8>) -> Vec<u8> {
    let length = i32::try_from(value.len()).expect("small");
    value[..4].copy_from_slice(&length.to_le_bytes());
    value
}

/// A document of one field, whose value consists of this many levels.
fn deep(count: u8, levels: Levels) -> Vec<u8> {
    // The keys in arrays have no meaning.
    let (null, inner) = match levels {
        Levels::Documents => (0x0a, 0x03),
        Levels::Arrays => (0x0a, 0x04),
        Levels::Scopes => (0x0a, 0x0f),
    };
    let mut value = Vec::new();
    for level in 0..=count {
        let mut outer = vec![0; 4];
        outer.push(if level == 0 { null } else { inner });
        outer.extend(b"value\0");
        if level > 0 && levels == Levels::Scopes {
            // The length of the value, and empty code.
            value.splice(0..0, *b"\0\0\0\0\x01\0\0\0\0");
            value = close(value);
        }
        outer.extend(&value);
        outer.push(0);
        value = close(outer);
    }
    value
}

/// Reads a deep field in a thread with the usual stack.
fn read_deep<T: DeserializeOwned + Send + 'static>(count: u8, levels: Levels) -> Result<(), String> {
    let bytes = deep(count, levels);
    let reading = move || {
        from_slice::<T>(&bytes)
            .map(drop)
            .map_err(|error| error.to_string())
    };
    let thread = thread::Builder::new().stack_size(STACK).spawn(reading);
    thread.expect("a thread").join().expect("no panic")
}

/// The field is read in `limit` levels and not in more.
fn check_limit<T: DeserializeOwned + Send + 'static>(limit: u8, levels: Levels, text: &str) {
    assert_eq!(read_deep::<T>(limit, levels), Ok(()));
    let error = read_deep::<T>(limit + 1, levels).expect_err("too deep");
    assert!(error.contains(text), "{error}");
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "the fields are only read from BSON")]
struct Exact<T: exact::Exact> {
    #[serde(with = "exact")]
    value: T,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "the fields are only read from BSON")]
struct Plain<T> {
    value: T,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "the fields are only read from BSON")]
struct Linked {
    value: Option<Box<Linked>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
#[expect(dead_code, reason = "the fields are only read from BSON")]
enum Untagged {
    Inner { value: Box<Untagged> },
    End(Option<i32>),
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "the fields are only read from BSON")]
struct Flattened {
    #[serde(flatten)]
    fields: HashMap<String, Bson>,
}

#[test]
fn deep_values_are_read_within_the_stack_of_a_worker_thread() {
    use Levels::{Arrays, Documents, Scopes};

    let most = MAX_DEPTH - 1;
    let all = "deeper than 200 levels";
    for levels in [Documents, Arrays, Scopes] {
        check_limit::<Exact<Bson>>(most, levels, all);
    }
    check_limit::<Exact<Document>>(most, Documents, all);
    check_limit::<Exact<Option<Vec<Bson>>>>(most, Arrays, all);
    check_limit::<Exact<HashMap<String, Bson>>>(most, Documents, all);
    check_limit::<Linked>(most, Documents, all);
    let any = "deeper than 100 levels";
    for levels in [Documents, Arrays] {
        check_limit::<Plain<Bson>>(100, levels, any);
        check_limit::<Plain<Option<Bson>>>(100, levels, any);
        check_limit::<Flattened>(100, levels, any);
    }
    check_limit::<Plain<Document>>(100, Documents, any);
    check_limit::<Plain<Vec<Bson>>>(101, Arrays, any);
    check_limit::<Plain<HashMap<String, Bson>>>(101, Documents, any);
    check_limit::<Plain<Untagged>>(100, Documents, any);
    // A scope counts as two levels.
    check_limit::<Plain<Bson>>(50, Scopes, any);
    check_limit::<Plain<Option<Bson>>>(50, Scopes, any);
    check_limit::<Plain<JavaScriptCodeWithScope>>(50, Scopes, any);
    check_limit::<Flattened>(50, Scopes, any);
}

#[test]
fn an_error_of_the_depth_names_exact_only_where_it_has_an_effect() {
    let advice = "bson::exact reads 200";
    let error = read_deep::<Plain<Bson>>(101, Levels::Documents).expect_err("too deep");
    assert!(error.contains(advice), "{error}");
    for error in [
        read_deep::<Flattened>(101, Levels::Documents),
        read_deep::<Plain<Untagged>>(101, Levels::Documents),
    ] {
        let error = error.expect_err("too deep");
        assert!(error.contains("100 levels") && !error.contains(advice), "{error}");
    }
}
