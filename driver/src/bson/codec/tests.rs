//! The codec reads and writes the same bytes as the other readers and writers.

#![allow(clippy::indexing_slicing, reason = "a failed index is a failed test")]

use proptest::prelude::*;
use proptest::sample::Index;
use serde::{Deserialize, Serialize};

use super::{END, Fields, Names, OTHER, Value as Encoded, Writer};
use crate::bson::{
    Bson, Document, doc,
    error::{DecodeError, EncodeError},
    from_slice,
    spec::{BinarySubtype, ElementType},
    to_vec,
};

type Decoded<T> = std::result::Result<T, DecodeError>;
type Write = fn(&mut Writer<'_>) -> std::result::Result<(), EncodeError>;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Line {
    sku: String,
    quantity: i64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Order {
    name: String,
    lines: Vec<Line>,
    note: Option<String>,
    any: Bson,
}

fn text(value: &Encoded<'_>) -> Decoded<String> {
    value.raw().str().map(str::to_owned)
}

fn line(value: &Encoded<'_>) -> Decoded<Line> {
    let mut slots = (None, None);
    let mut fields = Fields::new(value.document()?, &["sku", "quantity"]);
    loop {
        let _is_known = match fields.next() {
            0 => fields.read(&mut slots.0, text)?,
            1 => fields.read(&mut slots.1, |value| value.integer(ElementType::Int64))?,
            END => break,
            _ => false,
        };
    }
    fields.end()?;
    let missing = |name: &str| DecodeError::new(format!("missing field `{name}`"));
    Ok(Line {
        sku: slots.0.ok_or_else(|| missing("sku"))?,
        quantity: slots.1.ok_or_else(|| missing("quantity"))?,
    })
}

fn lines(value: &Encoded<'_>) -> Decoded<Vec<Line>> {
    let mut items = value.array()?;
    let mut lines = Vec::new();
    while let Some(item) = items.next_item()? {
        lines.push(line(&item).map_err(|error| items.locate_item(lines.len(), &item, error))?);
    }
    Ok(lines)
}

fn order(bytes: &[u8]) -> Decoded<Order> {
    let whole = Encoded::of_document(bytes);
    let read = || {
        let mut slots = (None, None, None, None);
        let mut fields = Fields::new(whole.document()?, &["name", "lines", "note", "any"]);
        loop {
            let _is_known = match fields.next() {
                0 => fields.read(&mut slots.0, text)?,
                1 => fields.read(&mut slots.1, lines)?,
                2 => fields.read(&mut slots.2, |value| {
                    if value.is_null() {
                        Ok(None)
                    } else {
                        text(value).map(Some)
                    }
                })?,
                3 => fields.read(&mut slots.3, Encoded::to_bson)?,
                END => break,
                OTHER => false,
                index => panic!("{index} is not in the table"),
            };
        }
        fields.end()?;
        let missing = |name: &str| DecodeError::new(format!("missing field `{name}`"));
        Ok(Order {
            name: slots.0.ok_or_else(|| missing("name"))?,
            lines: slots.1.ok_or_else(|| missing("lines"))?,
            note: slots.2.unwrap_or_default(),
            any: slots.3.ok_or_else(|| missing("any"))?,
        })
    };
    read().map_err(|error| whole.locate(error))
}

fn write(order: &Order) -> std::result::Result<Vec<u8>, EncodeError> {
    let mut out = b"before".to_vec();
    Writer::write(&mut out, |writer| {
        let open = writer.begin(ElementType::EmbeddedDocument, &Names::NONE)?;
        writer.field("name", |writer| writer.string(&order.name))?;
        writer.field("lines", |writer| {
            writer.array(&order.lines, |writer, line| {
                let open = writer.begin(ElementType::EmbeddedDocument, &Names::NONE)?;
                writer.field("sku", |writer| writer.serialize(&line.sku))?;
                writer.field("quantity", |writer| {
                    writer.fixed(ElementType::Int64, line.quantity.to_le_bytes())
                })?;
                writer.end(open)
            })
        })?;
        writer.field("note", |writer| match &order.note {
            Some(note) => writer.string(note),
            None => writer.fixed(ElementType::Null, []),
        })?;
        writer.field("any", |writer| writer.bson(&order.any))?;
        writer.end(open)
    })?;
    Ok(out.split_off(b"before".len()))
}

fn any_bson() -> impl Strategy<Value = Bson> {
    let leaf = prop_oneof![
        any::<i32>().prop_map(Bson::Int32),
        any::<i64>().prop_map(Bson::Int64),
        any::<bool>().prop_map(Bson::Boolean),
        "[a-z$]{0,9}".prop_map(Bson::String),
        Just(Bson::Null),
        Just(Bson::MinKey),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Bson::Array),
            prop::collection::vec(("[a-z$]{0,5}", inner), 0..4)
                .prop_map(|fields| Bson::Document(fields.into_iter().collect())),
        ]
    })
}

fn orders() -> impl Strategy<Value = Order> {
    let line = ("[a-z]{0,20}", any::<i64>()).prop_map(|(sku, quantity)| Line { sku, quantity });
    let parts = (
        ".{0,200}",
        prop::collection::vec(line, 0..12),
        prop::option::of("[a-z]{0,9}"),
        any_bson(),
    );
    parts.prop_map(|(name, lines, note, any)| Order {
        name,
        lines,
        note,
        any,
    })
}

proptest! {
    #[test]
    fn values_are_written_as_by_serde_and_read_again(expected in orders()) {
        let bytes = write(&expected).unwrap();
        prop_assert_eq!(&bytes, &to_vec(&expected).unwrap());
        prop_assert_eq!(order(&bytes).unwrap(), expected);
    }

    #[test]
    fn malformed_bytes_are_an_error_or_the_same_value(expected in orders(), at: Index, byte: u8) {
        let mut bytes = write(&expected).unwrap();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let (ours, serde) = (order(&bytes), from_slice::<Order>(&bytes));
        // A document with keys of Extended JSON is read by crate bson as another value.
        if let (Ok(ours), Ok(serde)) = (&ours, &serde) {
            prop_assert_eq!((&ours.name, &ours.lines, &ours.note), (&serde.name, &serde.lines, &serde.note));
        }
        let cut = order(&bytes[..at]);
        prop_assert!(cut.is_err());
    }
}

#[test]
fn errors_have_the_path_and_the_offset_of_those_of_serde() {
    let line = || doc! { "sku": "a", "quantity": 1 };
    let whole = |lines: Vec<Document>| doc! { "name": "n", "lines": lines, "note": null, "any": 1 };
    let mut cases = vec![
        doc! {},
        doc! { "name": 5, "lines": [] },
        doc! { "unknown": { "name": 5 }, "name": "n", "lines": 7 },
        whole(vec![line(), doc! { "sku": "a" }]),
        whole(vec![line(), doc! { "sku": "a", "quantity": "x" }]),
        whole(vec![line(), doc! { "quantity": 1, "sku": 2.5 }]),
    ];
    let mut note = whole(vec![line()]);
    note.insert("note", doc! {});
    cases.push(note);
    for case in cases {
        let bytes = to_vec(&case).unwrap();
        let (ours, serde) = (
            order(&bytes).unwrap_err(),
            from_slice::<Order>(&bytes).unwrap_err(),
        );
        assert_eq!(
            (ours.path(), ours.offset()),
            (serde.path(), serde.offset()),
            "{ours}, {serde}"
        );
        assert_eq!(
            ours.message(),
            serde
                .message()
                .replace("a sequence", "an array")
                .replace("i64", "an integer")
        );
        assert_eq!(ours.type_found(), serde.type_found(), "{ours}, {serde}");
    }
}

#[test]
fn a_field_that_is_there_twice_is_an_error() {
    let mut bytes = to_vec(&doc! { "sku": "a", "sk_": "b", "quantity": 1 }).unwrap();
    let at = bytes.windows(3).position(|key| key == b"sk_").unwrap();
    bytes[at + 2] = b'u';
    let error = line(&Encoded::of_document(&bytes)).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("sku: duplicate field at byte {}", at + 4)
    );
}

#[test]
fn the_keys_of_a_map_are_not_those_of_fields() {
    static INNER: Names = Names::of(&["role"]);
    static OUTER: Names = Names {
        own: &["_id", "rank"],
        flat: &[&INNER, &Names::MAP],
        ..Names::NONE
    };
    let written = |key: &str| {
        let mut out = Vec::new();
        let result = Writer::write(&mut out, |writer| {
            let open = writer.begin(ElementType::EmbeddedDocument, &OUTER)?;
            writer.entry(key, |writer| {
                // The names are not those of an embedded document.
                let open = writer.begin(ElementType::EmbeddedDocument, &Names::NONE)?;
                writer.entry("role", |writer| writer.string("any"))?;
                writer.end(open)
            })?;
            writer.end(open)
        });
        assert_eq!(result.is_err(), out.is_empty());
        result.map(|()| out)
    };
    assert_eq!(
        written("other").unwrap(),
        to_vec(&doc! { "other": { "role": "any" } }).unwrap()
    );
    for key in ["_id", "rank", "role"] {
        let error = written(key).unwrap_err();
        assert_eq!(
            (error.path(), error.message()),
            (key, "a flattened map has a key that is the name of a field")
        );
    }
    assert_eq!(
        written("a\0b").unwrap_err().message(),
        "the key contains a zero byte"
    );
}

#[test]
fn values_of_all_kinds_are_written() {
    let mut out = Vec::new();
    let id = [7; 12];
    Writer::write(&mut out, |writer| {
        let open = writer.begin(ElementType::EmbeddedDocument, &Names::NONE)?;
        writer.field("id", |writer| writer.fixed(ElementType::ObjectId, id))?;
        writer.field("new", |writer| writer.binary(BinarySubtype::Generic, b"abc"))?;
        writer.field("old", |writer| writer.binary(BinarySubtype::BinaryOld, b"abc"))?;
        writer.field("code", |writer| {
            writer.encoded(ElementType::Int32, &7_i32.to_le_bytes())
        })?;
        writer.end(open)
    })
    .unwrap();
    let binary = |subtype| {
        Bson::Binary(crate::bson::Binary {
            subtype,
            bytes: b"abc".to_vec(),
        })
    };
    let expected = doc! {
        "id": crate::bson::ObjectId::from_bytes(id),
        "new": binary(BinarySubtype::Generic),
        "old": binary(BinarySubtype::BinaryOld),
        "code": 7,
    };
    assert_eq!(out, to_vec(&expected).unwrap());
    let mut out = b"x".to_vec();
    let error = Writer::write(&mut out, |writer| writer.string("text")).unwrap_err();
    assert_eq!(error.message(), "expected a document, found String");
    assert_eq!(out, b"x");
}

#[test]
fn a_field_that_is_written_at_once_has_the_same_form() {
    const LONG: &str = "a name that is longer than all those that are assembled in registers";
    let text = "text".repeat(10);
    let mut out = Vec::new();
    Writer::write(&mut out, |writer| {
        let open = writer.begin(ElementType::EmbeddedDocument, &Names::NONE)?;
        writer.fixed_field("n", ElementType::Int32, 7_i32.to_le_bytes())?;
        writer.fixed_field(LONG, ElementType::Boolean, [1])?;
        writer.string_field("short", "")?;
        writer.string_field("long", &text)?;
        writer.end(open)
    })
    .unwrap();
    let expected = doc! { "n": 7, LONG: true, "short": "", "long": &text };
    assert_eq!(out, to_vec(&expected).unwrap());

    let names: [Write; 2] = [
        |writer| writer.fixed_field("a\0b", ElementType::Null, []),
        |writer| writer.string_field("a\0b", ""),
    ];
    for write in names {
        let error = Writer::write(&mut out, write).unwrap_err();
        assert_eq!(error.message(), "the key contains a zero byte");
    }
    assert_eq!(out, to_vec(&expected).unwrap());
}

/// The writer has the limit of serde's, so that a reader of any type can read the document.
#[test]
fn documents_of_100_levels_are_written_and_of_200_are_read() {
    fn nest(writer: &mut Writer<'_>, levels: u32) -> std::result::Result<(), EncodeError> {
        let open = writer.begin(ElementType::EmbeddedDocument, &Names::NONE)?;
        if levels > 1 {
            writer.field("a", |writer| nest(writer, levels - 1))?;
        }
        writer.end(open)
    }
    fn depth(value: &Encoded<'_>) -> Decoded<u32> {
        let mut elements = value.document()?;
        match elements.next_entry()? {
            Some((_, value)) => Ok(1 + depth(&value)?),
            None => Ok(1),
        }
    }
    let mut out = Vec::new();
    Writer::write(&mut out, |writer| nest(writer, 100)).unwrap();
    assert_eq!(depth(&Encoded::of_document(&out)).unwrap(), 100);
    let error = Writer::write(&mut Vec::new(), |writer| nest(writer, 101)).unwrap_err();
    assert!(
        error
            .message()
            .starts_with("documents nest deeper than 100 levels"),
        "{error}"
    );
    let mut deep = b"\x05\0\0\0\0".to_vec();
    for levels in 1..=200 {
        assert_eq!(depth(&Encoded::of_document(&deep)).unwrap(), levels);
        let len = i32::try_from(deep.len() + 8).unwrap();
        deep = [&len.to_le_bytes()[..], b"\x03a\0", &deep, b"\0"].concat();
    }
    let error = depth(&Encoded::of_document(&deep)).unwrap_err();
    assert_eq!(error.message(), "documents nest deeper than 200 levels");
}

/// A value that a type writes by mistake would be read as other elements.
#[test]
fn a_type_writes_exactly_one_value() {
    let long = |writer: &mut Writer<'_>| writer.fixed(ElementType::Int64, [0x61; 8]);
    let values: [(Write, &str); 8] = [
        (|_| Ok(()), "a: the type has not written a value"),
        (
            |writer| {
                writer.string("one")?;
                writer.string("two")
            },
            "a: the type has written a second value",
        ),
        (
            |writer| {
                let open = writer.begin(ElementType::EmbeddedDocument, &Names::NONE)?;
                writer.field("b", |writer| writer.serialize(&1))?;
                writer.end(open)?;
                writer.bson(&Bson::Null)
            },
            "a: the type has written a second value",
        ),
        (
            |writer| {
                writer.fixed_field("b", ElementType::Null, [])?;
                writer.string("one")
            },
            "a: the type has written a second value",
        ),
        (
            |writer| {
                let open = writer.begin(ElementType::EmbeddedDocument, &Names::NONE)?;
                writer.string_field("b", "one")?;
                writer.string("two")?;
                writer.end(open)
            },
            "a: the type has written a second value",
        ),
        (
            |writer| writer.array([()], |_, ()| Ok(())),
            "a[0]: the type has not written a value",
        ),
        (
            |writer| {
                let open = writer.begin(ElementType::EmbeddedDocument, &Names::NONE)?;
                writer.entry("b", |_| Ok(()))?;
                writer.end(open)
            },
            "a.b: the type has not written a value",
        ),
        (
            |writer| {
                let open = writer.begin(ElementType::EmbeddedDocument, &Names::NONE)?;
                drop(writer.field("b", |writer| {
                    writer.field("c", |_| Err(EncodeError::new("refused")))
                }));
                writer.end(open)
            },
            "the error of a value was dropped, so that the document is incomplete",
        ),
    ];
    for (write, expected) in values {
        let mut out = b"before".to_vec();
        let result = Writer::write(&mut out, |writer| {
            let open = writer.begin(ElementType::EmbeddedDocument, &Names::NONE)?;
            writer.field("a", write)?;
            writer.field("z", long)?;
            writer.end(open)
        });
        assert_eq!(result.unwrap_err().to_string(), expected);
        assert_eq!(out, b"before");
    }
    let whole: [Write; 3] = [
        |_| Ok(()),
        |writer| {
            writer
                .begin(ElementType::EmbeddedDocument, &Names::NONE)
                .map(drop)
        },
        |writer| {
            for _ in 0..2 {
                let open = writer.begin(ElementType::EmbeddedDocument, &Names::NONE)?;
                writer.end(open)?;
            }
            Ok(())
        },
    ];
    for write in whole {
        let mut out = Vec::new();
        let error = Writer::write(&mut out, write).unwrap_err();
        assert_eq!(
            error.to_string(),
            "expected one document, found another number of values"
        );
        assert_eq!(out, b"");
    }
}

#[test]
fn integers_are_read_leniently_or_exactly() {
    let read = |value: Bson, is_exact| {
        let bytes = to_vec(&doc! { "n": value }).unwrap();
        let whole = Encoded::of_document(&bytes).exactly(is_exact);
        let (value, _) = whole.document().unwrap().find("n").unwrap().unwrap();
        value.integer(ElementType::Int64)
    };
    for value in [Bson::Int32(5), Bson::Int64(5), Bson::Double(5.0)] {
        assert_eq!(read(value.clone(), false).unwrap(), 5);
        assert_eq!(
            read(value.clone(), true).is_ok(),
            value == Bson::Int64(5),
            "{value}"
        );
    }
    for value in [5.5, f64::NAN, f64::INFINITY, 9_223_372_036_854_775_808.0] {
        let error = read(Bson::Double(value), false).unwrap_err();
        assert_eq!(
            error.message(),
            "expected an integer, found a Double with a fraction or out of range"
        );
    }
    assert_eq!(read(Bson::Null, false).unwrap_err().type_found(), Some("Null"));
}

#[test]
fn two_fields_of_one_document_have_different_names() {
    const CITY: Names = Names::of(&["city", "zip"]);
    const TOWN: Names = Names::of(&["town", "zip"]);
    const NAME: Names = Names::of(&["name"]);
    const CIRCLE: Names = Names::of(&["kind", "radius"]);
    const SQUARE: Names = Names::of(&["kind", "side"]);
    const SHAPE: Names = Names {
        alternatives: &[&CIRCLE, &SQUARE],
        ..Names::NONE
    };
    const fn of(own: &'static [&'static str], flat: &'static [&'static Names]) -> Names {
        Names {
            flat,
            ..Names::of(own)
        }
    }
    const CASES: [(Names, bool); 10] = [
        (of(&["a", "b"], &[]), false),
        (of(&["a", "b", "a"], &[]), true),
        (of(&["a", "ab"], &[&CITY, &NAME]), false),
        (of(&["zip"], &[&CITY]), true),
        (of(&[], &[&CITY, &TOWN]), true),
        (of(&["color"], &[&SHAPE, &CITY]), false),
        (of(&["side"], &[&SHAPE]), true),
        (of(&[], &[&SQUARE, &SHAPE]), true),
        (of(&[], &[&SHAPE, &SHAPE]), true),
        (of(&[], &[&CITY, &Names::MAP]), false),
    ];
    for (names, expected) in CASES {
        assert_eq!(names.has_duplicates(), expected, "{names:?}");
    }
}
