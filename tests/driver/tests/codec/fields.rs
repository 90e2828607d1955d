//! Documents whose fields differ from those of the struct: another order, missing, unknown or
//! duplicate fields, or names with a common prefix.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::BTreeMap;
use std::fmt;

use marula_driver::bson::{Bson, DecodeError, Document, decode_document, doc, from_slice, to_vec};
use serde::de::{self, DeserializeOwned, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

fn read<T: DeserializeOwned>(document: &Document) -> Result<T, DecodeError> {
    from_slice(&to_vec(document).unwrap())
}

/// Names of different lengths, some of which are prefixes of others.
#[derive(Deserialize, Debug, PartialEq, Default)]
#[serde(default)]
struct Names {
    a: i32,
    ab: i32,
    abc: i32,
    abcd: i32,
    abcdefg: i32,
    abcdefgh: i32,
    abcdefghi: i32,
    abcdefghijklmnop: i32,
    abcdefghijklmnopq: i32,
    abcdefghijklmnopqrstuvwxyz: i32,
    größe: i32,
    #[serde(rename = "")]
    empty: i32,
    #[serde(rename = "new name", alias = "old name")]
    renamed: i32,
    z: i32,
}

const NAMES: [&str; 14] = [
    "a",
    "ab",
    "abc",
    "abcd",
    "abcdefg",
    "abcdefgh",
    "abcdefghi",
    "abcdefghijklmnop",
    "abcdefghijklmnopq",
    "abcdefghijklmnopqrstuvwxyz",
    "größe",
    "",
    "new name",
    "z",
];

impl Names {
    fn get(&self, name: &str) -> i32 {
        match name {
            "a" => self.a,
            "ab" => self.ab,
            "abc" => self.abc,
            "abcd" => self.abcd,
            "abcdefg" => self.abcdefg,
            "abcdefgh" => self.abcdefgh,
            "abcdefghi" => self.abcdefghi,
            "abcdefghijklmnop" => self.abcdefghijklmnop,
            "abcdefghijklmnopq" => self.abcdefghijklmnopq,
            "abcdefghijklmnopqrstuvwxyz" => self.abcdefghijklmnopqrstuvwxyz,
            "größe" => self.größe,
            "" => self.empty,
            "new name" | "old name" => self.renamed,
            "z" => self.z,
            other => panic!("{other}"),
        }
    }
}

fn numbered(names: impl IntoIterator<Item = &'static str>) -> Document {
    let values = (1..).map(Bson::Int32);
    names.into_iter().map(str::to_owned).zip(values).collect()
}

#[track_caller]
fn check(document: &Document) {
    let names: Names = read(document).unwrap();
    let known = |name: &str| NAMES.contains(&name) || name == "old name";
    for (name, value) in document.iter().filter(|(name, _)| known(name)) {
        assert_eq!(Bson::Int32(names.get(name)), *value, "{name} of {document}");
    }
    let absent = NAMES.iter().filter(|name| !document.contains_key(name));
    for name in absent.filter(|name| **name != "new name") {
        assert_eq!(names.get(name), 0, "{name} is not in {document}");
    }
}

#[test]
fn fields_are_found_in_any_order() {
    check(&numbered(NAMES));
    check(&numbered(NAMES.into_iter().rev()));
    for turn in 0..NAMES.len() {
        check(&numbered(NAMES.into_iter().cycle().skip(turn).take(NAMES.len())));
        let (even, odd): (Vec<_>, Vec<_>) = (0..NAMES.len()).partition(|n| n % 2 == turn % 2);
        check(&numbered(even.into_iter().chain(odd).map(|n| NAMES[n])));
    }
}

#[test]
fn fields_may_be_missing() {
    for first in 0..=NAMES.len() {
        for last in first..=NAMES.len() {
            let left = NAMES[..first].iter().chain(&NAMES[last..]);
            check(&numbered(left.copied()));
            check(&numbered(NAMES[first..last].iter().copied()));
        }
    }
    #[derive(Deserialize, Debug)]
    #[expect(dead_code, reason = "only deserialization is tested")]
    struct Needs {
        first: i32,
        second: i32,
    }
    let error = read::<Needs>(&doc! { "first": 1 }).unwrap_err();
    assert!(error.to_string().contains("missing field `second`"), "{error}");
}

#[test]
fn unknown_fields_may_appear_anywhere() {
    for at in 0..=NAMES.len() {
        for unknown in [
            "abcde",
            "abcdefghij",
            "aa",
            "y",
            "grösse",
            "abcdefghijklmnopqrstuvwxy",
        ] {
            let mut names = NAMES.to_vec();
            names.insert(at, unknown);
            check(&numbered(names));
        }
    }
    let aliased = NAMES.map(|name| if name == "new name" { "old name" } else { name });
    check(&numbered(aliased));
}

#[test]
fn unknown_fields_are_denied_by_name() {
    #[derive(Deserialize, Debug)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only deserialization is tested")]
    struct Closed {
        ab: i32,
        abc: i32,
    }
    assert!(read::<Closed>(&doc! { "abc": 1, "ab": 2 }).is_ok());
    for unknown in ["a", "abcd", "b"] {
        let error = read::<Closed>(&doc! { "ab": 1, unknown: 2, "abc": 3 }).unwrap_err();
        assert!(
            error.to_string().contains(&format!("unknown field `{unknown}`")),
            "{error}"
        );
    }
}

/// A document with these keys and Int32 values.
fn with_keys(keys: &[&[u8]]) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    for (key, value) in keys.iter().zip(1_i32..) {
        bytes.push(0x10);
        bytes.extend_from_slice(key);
        bytes.push(0);
        bytes.extend_from_slice(&value.to_le_bytes());
    }
    bytes.push(0);
    let len = i32::try_from(bytes.len()).unwrap();
    bytes[..4].copy_from_slice(&len.to_le_bytes());
    bytes
}

#[test]
fn a_duplicate_field_is_an_error() {
    #[derive(Deserialize, Debug)]
    #[expect(dead_code, reason = "only deserialization is tested")]
    struct Twice {
        first: i32,
        second: i32,
    }
    for keys in [
        ["first", "first", "second"],
        ["first", "second", "first"],
        ["second", "second", "first"],
    ] {
        let error = from_slice::<Twice>(&with_keys(&keys.map(str::as_bytes))).unwrap_err();
        assert!(error.to_string().contains("duplicate field"), "{error}");
    }
    let document = decode_document(&with_keys(&[b"a", b"b", b"a"])).unwrap();
    assert_eq!(document, doc! { "a": 3, "b": 2 });
}

#[test]
fn keys_that_are_not_utf8_are_errors_with_their_offset() {
    #[derive(Deserialize, Debug)]
    #[expect(dead_code, reason = "only deserialization is tested")]
    struct Two {
        first: i32,
        second: i32,
    }
    let bytes = with_keys(&[b"first", b"second", b"thi\xffrd"]);
    let inside = |bytes: &[u8]| bytes.windows(2).position(|pair| pair[0] == 0xff);
    let error = from_slice::<Two>(&bytes).unwrap_err();
    assert!(error.to_string().contains("key is not UTF-8"), "{error}");
    let (at, key) = (error.offset().unwrap(), inside(&bytes).unwrap());
    assert!((key - 5..=key + 4).contains(&at), "{at} near {key}");
    assert!(from_slice::<BTreeMap<String, i32>>(&bytes).is_err());
    assert!(from_slice::<IgnoredAny>(&bytes).is_ok(), "the value is skipped");
    assert!(decode_document(&bytes).is_err());
    let error = from_slice::<Two>(&with_keys(&[b"first", b"secon\xff", b"second"])).unwrap_err();
    assert!(error.to_string().contains("key is not UTF-8"), "{error}");
}

#[test]
fn a_name_with_a_zero_byte_does_not_match_another_key() {
    #[derive(Deserialize, Debug)]
    struct Odd {
        #[serde(rename = "a\0b", default)]
        odd: Option<i32>,
    }
    // The key is "a"; "b" and the zero byte are the first bytes of its value.
    let mut bytes = with_keys(&[b"a"]);
    let at = bytes.len() - 5;
    bytes[at..at + 2].copy_from_slice(b"b\0");
    assert_eq!(from_slice::<Odd>(&bytes).unwrap().odd, None);
}

#[test]
fn flattened_tagged_and_untagged_types_are_read() {
    #[derive(Deserialize, Debug, PartialEq)]
    struct Outer {
        first: i32,
        #[serde(flatten)]
        inner: Inner,
        #[serde(flatten)]
        rest: BTreeMap<String, i32>,
    }
    #[derive(Deserialize, Debug, PartialEq)]
    struct Inner {
        ab: i32,
        abc: i32,
    }
    let outer = read::<Outer>(&doc! { "x": 4, "abc": 3, "first": 1, "ab": 2 }).unwrap();
    assert_eq!((outer.first, outer.inner), (1, Inner { ab: 2, abc: 3 }));
    assert_eq!(outer.rest, BTreeMap::from([("x".to_owned(), 4)]));

    #[derive(Deserialize, Debug, PartialEq)]
    #[serde(untagged)]
    enum Either {
        Long { ab: i32, abc: i32 },
        Short { ab: i32 },
    }
    assert_eq!(
        read::<Either>(&doc! { "abc": 2, "ab": 1 }).unwrap(),
        Either::Long { ab: 1, abc: 2 }
    );
    assert_eq!(
        read::<Either>(&doc! { "ab": 1, "abcd": 2 }).unwrap(),
        Either::Short { ab: 1 }
    );

    #[derive(Deserialize, Debug, PartialEq)]
    #[serde(tag = "kind")]
    enum Tagged {
        One { ab: i32 },
    }
    assert_eq!(
        read::<Tagged>(&doc! { "ab": 1, "kind": "One" }).unwrap(),
        Tagged::One { ab: 1 }
    );

    #[derive(Deserialize, Debug, PartialEq)]
    enum External {
        Variant { ab: i32, abc: i32 },
    }
    assert_eq!(
        read::<External>(&doc! { "Variant": { "abc": 2, "ab": 1 } }).unwrap(),
        External::Variant { ab: 1, abc: 2 }
    );
}

/// A struct with a handwritten `Deserialize`, whose key type accepts only strings.
#[derive(Debug, PartialEq)]
struct Handwritten {
    seen: Vec<(String, i32)>,
}

impl<'de> Deserialize<'de> for Handwritten {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name(String);
        impl<'de> Deserialize<'de> for Name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Names;
                impl Visitor<'_> for Names {
                    type Value = Name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("a name")
                    }
                    fn visit_str<E: de::Error>(self, name: &str) -> Result<Name, E> {
                        Ok(Name(name.to_owned()))
                    }
                }
                deserializer.deserialize_identifier(Names)
            }
        }
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Handwritten;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("fields")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Handwritten, A::Error> {
                let mut seen = Vec::new();
                while let Some(Name(name)) = map.next_key()? {
                    seen.push((name, map.next_value()?));
                }
                Ok(Handwritten { seen })
            }
        }
        deserializer.deserialize_struct("Handwritten", &["ab", "abc", "missing"], Fields)
    }
}

#[test]
fn handwritten_deserializers_see_every_key_in_document_order() {
    let document = doc! { "abc": 1, "x": 2, "ab": 3, "abcd": 4 };
    let expected = document
        .iter()
        .map(|(name, value)| (name.clone(), value.as_i32().unwrap()));
    assert_eq!(
        read::<Handwritten>(&document).unwrap().seen,
        expected.collect::<Vec<_>>()
    );
}

#[test]
fn documents_of_every_size_are_decoded_completely() {
    for count in (0..130).chain([255, 256, 1_000]) {
        let document: Document = (0..count).map(|n| (format!("key {n}"), Bson::Int32(n))).collect();
        assert_eq!(decode_document(&to_vec(&document).unwrap()).unwrap(), document);
        let array = doc! { "array": (0..count).collect::<Vec<_>>() };
        assert_eq!(decode_document(&to_vec(&array).unwrap()).unwrap(), array);
    }
}
