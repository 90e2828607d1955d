//! Newtypes, conversions, generic types, and the errors of nested ones.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::marker::PhantomData;

use super::attributes::{Aliased, as_text};
use super::{assert_same, assert_same_bytes, encode, error_of, load, stored};
use chrono::{DateTime, Utc};
use marula::Embedded;
use marula::bson::{self, doc};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Newtype(DateTime<Utc>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(transparent)]
struct Transparent {
    content: Vec<Newtype>,
    #[serde(skip)]
    of: PhantomData<u8>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Unit;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Embedded)]
struct Key(i64);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(transparent)]
struct Textual(
    #[serde(with = "as_text")]
    #[document(as = String)]
    i32,
);

#[test]
fn newtypes_have_the_form_of_their_content() {
    let at = DateTime::from_timestamp_millis(5).unwrap();
    assert_eq!(load::<Newtype>(stored(&Newtype(at))).unwrap(), Newtype(at));
    assert_eq!(stored(&Newtype(at)), bson::DateTime::from_millis(5).into());
    let transparent = Transparent {
        content: vec![Newtype(at)],
        of: PhantomData,
    };
    assert_eq!(load::<Transparent>(stored(&transparent)).unwrap(), transparent);
    assert_same(&Unit);
    assert_same(&Key(3));
    assert_same(&Textual(3));
    let map = BTreeMap::from([(Key(2), 1), (Key(-1), 2)]);
    assert_eq!(stored(&map), doc! { "-1": 2, "2": 1 }.into());
    assert_eq!(load::<BTreeMap<Key, i32>>(stored(&map)).unwrap(), map);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(from = "(i32, i32)", into = "(i32, i32)")]
struct Pair {
    left: i32,
    right: i32,
}

impl From<(i32, i32)> for Pair {
    fn from((left, right): (i32, i32)) -> Self {
        Pair { left, right }
    }
}

impl From<Pair> for (i32, i32) {
    fn from(pair: Pair) -> Self {
        (pair.left, pair.right)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(try_from = "i64")]
struct Even(i64);

impl TryFrom<i64> for Even {
    type Error = String;

    fn try_from(number: i64) -> Result<Self, String> {
        if number % 2 == 0 {
            Ok(Even(number))
        } else {
            Err(format!("{number} is odd"))
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(into = "String")]
struct Named {
    name: String,
}

impl From<Named> for String {
    fn from(named: Named) -> String {
        named.name
    }
}

#[test]
fn conversions_store_another_type() {
    assert_same(&Pair { left: 1, right: 2 });
    assert_same(&Even(4));
    assert!(error_of::<Even>(3_i64).contains("3 is odd"));
    assert_same_bytes(&Named { name: "x".to_owned() });
    assert_eq!(load::<Named>(doc! { "name": "y" }).unwrap().name, "y");
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Page<T> {
    items: Vec<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<T>,
    last: Option<T>,
    #[serde(skip)]
    of: PhantomData<T>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(bound(serialize = "", deserialize = ""))]
struct Bounded<T: Serialize + serde::de::DeserializeOwned> {
    number: i32,
    #[serde(skip)]
    of: PhantomData<T>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Around<T> {
    #[serde(flatten)]
    inner: T,
    #[document(opaque)]
    opaque: Option<T>,
    more: i32,
}

#[test]
fn generic_types_have_the_codec_of_their_parameters() {
    let page = Page {
        items: vec![Key(1), Key(2)],
        first: None,
        last: Some(Key(3)),
        of: PhantomData,
    };
    assert_same(&page);
    assert_same(&Page::<Aliased> {
        items: vec![],
        first: Some(Aliased { new: 1 }),
        last: None,
        of: PhantomData,
    });
    assert_same(&Bounded::<String> {
        number: 1,
        of: PhantomData,
    });
    assert_same(&Around {
        inner: Aliased { new: 1 },
        opaque: Some(Aliased { new: 2 }),
        more: 3,
    });
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Id<T>(bson::ObjectId, PhantomData<fn() -> T>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Wrapper<T>(T);

/// Serde has arrays of some lengths only.
#[derive(Clone, Debug, PartialEq, Embedded)]
struct Grid<T, const N: usize> {
    cells: [T; N],
}

#[derive(Clone, Debug, PartialEq, Embedded)]
struct Row<const N: usize>([i32; N]);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Marker<const N: u8>;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
enum Level<const N: u8 = 3> {
    Low,
    High,
}

macro_rules! change {
    ($name:ident $(, #[$serde:meta])?) => {
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
        $(#[$serde])?
        enum $name<T, const N: u8> {
            To { value: T, level: Level<N> },
            Wrapped(Page<T>),
            None,
        }
    };
}
change!(External);
change!(Internal, #[serde(tag = "kind")]);
change!(Adjacent, #[serde(tag = "kind", content = "content")]);
change!(Untagged, #[serde(untagged)]);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(from = "Vec<T>", into = "Vec<T>")]
struct Converted<T: Clone> {
    items: Vec<T>,
}

impl<T: Clone> From<Vec<T>> for Converted<T> {
    fn from(items: Vec<T>) -> Self {
        Converted { items }
    }
}

impl<T: Clone> From<Converted<T>> for Vec<T> {
    fn from(converted: Converted<T>) -> Self {
        converted.items
    }
}

/// Has no codec.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Unstored;

#[test]
fn newtypes_with_parameters_have_the_form_of_their_content() {
    let id = Id::<Unstored>(bson::ObjectId::from_bytes([3; 12]), PhantomData);
    assert_eq!(stored(&id), id.0.into());
    assert_eq!(load::<Id<Unstored>>(id.0).unwrap(), id);
    assert_same(&Wrapper(Key(3)));
    assert_same(&Wrapper(Some(Wrapper("x".to_owned()))));
    let at = Wrapper(DateTime::<Utc>::from_timestamp_millis(5).unwrap());
    assert_eq!(stored(&at), bson::DateTime::from_millis(5).into());
    assert_eq!(load::<Wrapper<DateTime<Utc>>>(stored(&at)).unwrap(), at);
    assert_eq!(load::<Row<2>>(stored(&Row([1, 2]))).unwrap(), Row([1, 2]));
    let error = error_of::<Row<3>>(stored(&Row([1, 2])));
    assert!(error.contains('3'), "{error}");
    assert_same(&Converted { items: vec![Key(1)] });
}

#[test]
fn types_with_constant_parameters() {
    let grid = Grid {
        cells: [Key(1), Key(2)],
    };
    assert_eq!(stored(&grid), doc! { "cells": [1_i64, 2_i64] }.into());
    assert_eq!(load::<Grid<Key, 2>>(stored(&grid)).unwrap(), grid);
    assert_same(&Marker::<1>);
    assert_same(&[Level::<1>::Low, Level::High]);
}

#[test]
fn enums_with_parameters_have_all_representations() {
    let page = Page {
        items: vec![Key(1)],
        first: None,
        last: None,
        of: PhantomData,
    };
    macro_rules! check {
        ($($name:ident)*) => { $(
            let to = $name::<Key, 1>::To {
                value: Key(1),
                level: Level::High,
            };
            assert_same(&[to, $name::Wrapped(page.clone()), $name::None]);
        )* };
    }
    check!(External Internal Adjacent Untagged);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(default)]
struct Tree<T> {
    value: T,
    children: Vec<Tree<T>>,
    text: Cow<'static, str>,
    texts: Vec<Cow<'static, str>>,
}

impl<T: Default> Default for Tree<T> {
    fn default() -> Self {
        Tree {
            value: T::default(),
            children: Vec::new(),
            text: "x".into(),
            texts: Vec::new(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "type", rename = "tagged", deny_unknown_fields)]
struct Tagged {
    number: i32,
}

#[test]
fn more_structs() {
    let leaf = Tree {
        value: 5_i64,
        texts: vec!["y".into()],
        ..Tree::default()
    };
    assert_same(&Tree {
        children: vec![leaf.clone()],
        ..leaf
    });
    assert_eq!(load::<Tree<i64>>(doc! {}).unwrap(), Tree::default());
    let tagged = Tagged { number: 1 };
    assert_same_bytes(&tagged);
    assert_eq!(stored(&tagged), doc! { "type": "tagged", "number": 1 }.into());
    assert_eq!(load::<Tagged>(stored(&tagged)).unwrap(), tagged);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Nested {
    items: Vec<Nested>,
    inner: Option<Box<Nested>>,
    large: u64,
}

#[test]
fn errors_have_the_path_the_type_and_the_offset() {
    let nested = Nested {
        items: vec![],
        inner: None,
        large: 1,
    };
    assert_same(&Nested {
        items: vec![nested.clone()],
        inner: Some(Box::new(nested.clone())),
        ..nested.clone()
    });
    let wrong = doc! { "items": [{ "items": [], "large": "x" }], "large": 1 };
    let error = error_of::<Nested>(wrong);
    assert!(
        error.starts_with("v.items[0].large: expected an integer, found String"),
        "{error}"
    );
    let too_large = Nested {
        items: vec![Nested {
            large: u64::MAX,
            ..nested.clone()
        }],
        ..nested
    };
    assert_eq!(encode(&too_large).unwrap_err().path(), "v.items[0].large");
}
