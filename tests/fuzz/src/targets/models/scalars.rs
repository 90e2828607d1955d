//! The types with a form of their own, and their containers.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, LinkedList, VecDeque};
use std::hash::BuildHasherDefault;
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;
use std::time::SystemTime;

use marula::bson::{
    Binary, Bson, DateTime, Decimal128, Document, JavaScriptCodeWithScope, ObjectId, Regex, Timestamp,
    Uuid as BsonUuid,
};
use marula::geo::Point;
use marula::{Embedded, codec};

use super::sample;
use super::{Form, Random, Sample, any};

type Hasher = BuildHasherDefault<std::hash::DefaultHasher>;

/// All types that are stored as one BSON type each.
#[derive(Embedded)]
struct Numbers {
    i8: i8,
    i16: i16,
    i32: i32,
    i64: i64,
    u8: u8,
    u16: u16,
    u32: u32,
    u64: u64,
    usize: usize,
    f32: f32,
    f64: f64,
}

#[derive(Embedded)]
struct BsonTypes {
    bool: bool,
    string: String,
    char: char,
    object_id: ObjectId,
    date_time: DateTime,
    decimal: Decimal128,
    timestamp: Timestamp,
    binary: Binary,
    regex: Regex,
    uuid: uuid::Uuid,
    bson_uuid: BsonUuid,
    bson: Bson,
    document: Document,
}

/// Dates and decimals of the standard library and of other crates.
#[derive(Embedded)]
struct Dates {
    system: SystemTime,
    chrono: chrono::DateTime<chrono::Utc>,
    chrono_day: chrono::NaiveDate,
    jiff: jiff::Timestamp,
    jiff_day: jiff::civil::Date,
    time: time::OffsetDateTime,
    time_day: time::Date,
}

#[derive(Embedded)]
struct Decimals {
    rust: rust_decimal::Decimal,
    big: bigdecimal::BigDecimal,
    many: Vec<Option<rust_decimal::Decimal>>,
    by_name: BTreeMap<String, bigdecimal::BigDecimal>,
}

#[derive(Embedded)]
struct Containers {
    option: Option<i32>,
    vec: Vec<Option<DateTime>>,
    queue: VecDeque<String>,
    list: LinkedList<i64>,
    set: BTreeSet<i64>,
    slice: Box<[char]>,
    array: [u16; 3],
    map: BTreeMap<String, Vec<BTreeMap<String, i32>>>,
    boxed: Option<Box<Option<i64>>>,
    text: Cow<'static, str>,
    numbers: Cow<'static, [i32]>,
}

#[derive(Embedded)]
struct Bytes {
    vec: Vec<u8>,
    array: [u8; 3],
    slice: Box<[u8]>,
    nested: Vec<Vec<u8>>,
    set: BTreeSet<u8>,
    queue: VecDeque<u8>,
    #[document(as = Vec<i32>)]
    numbers: Vec<u8>,
    #[document(as = Option<Vec<i32>>)]
    optional: Option<[u8; 2]>,
}

/// A random value of a type that only a document constructs.
struct Pointer(marula::bson::DbPointer);

impl codec::Encode for Pointer {
    fn encode(&self, out: &mut codec::Writer<'_>) -> Result<(), marula::bson::EncodeError> {
        self.0.encode(out)
    }
}

impl<'de> codec::Decode<'de> for Pointer {
    fn decode(value: &codec::Value<'de>) -> Result<Self, marula::bson::DecodeError> {
        codec::Decode::decode(value).map(Pointer)
    }
}

impl Sample for Pointer {
    fn sample(_random: &mut Random) -> Self {
        let text = r#"{"v": {"$dbPointer": {"$ref": "a.b", "$id": {"$oid": "0123456789abcdef01234567"}}}}"#;
        let mut document = marula::bson::from_extended_json(text).expect("a document");
        match document.remove("v") {
            Some(Bson::DbPointer(pointer)) => Pointer(pointer),
            other => panic!("a DBPointer, found {other:?}"),
        }
    }
}

impl Sample for Point {
    fn sample(random: &mut Random) -> Self {
        Point::new([any(random), any(random)])
    }
}

/// The keys of maps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Embedded)]
#[serde(rename_all = "kebab-case")]
enum Color {
    DarkRed,
    #[serde(alias = "g")]
    Green,
    #[serde(rename = "?", other)]
    Unknown,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Embedded)]
struct Number(i64);

impl sample::SampleKey for Color {
    fn sample_key(random: &mut Random) -> Self {
        any(random)
    }
}

impl Sample for Number {
    fn sample(random: &mut Random) -> Self {
        Number(any(random))
    }
}

impl sample::SampleKey for Number {
    fn sample_key(random: &mut Random) -> Self {
        Number(any(random))
    }
}

sample::structs! {
    Numbers { i8, i16, i32, i64, u8, u16, u32, u64, usize, f32, f64 }
    BsonTypes {
        bool, string, char, object_id, date_time, decimal, timestamp, binary, regex, uuid, bson_uuid, bson, document
    }
    Dates { system, chrono, chrono_day, jiff, jiff_day, time, time_day }
    Decimals { rust, big, many, by_name }
    Containers { option, vec, queue, list, set, slice, array, map, boxed, text, numbers }
    Bytes { vec, array, slice, nested, set, queue, numbers, optional }
}
sample::enums! {
    Color { |_| Color::DarkRed, |_| Color::Green, |_| Color::Unknown }
}

pub(super) fn add(forms: &mut Vec<Form>) {
    forms.extend([
        Form::document::<Numbers>(),
        Form::document::<BsonTypes>(),
        Form::document::<Dates>(),
        Form::document::<Decimals>(),
        Form::document::<Containers>(),
        Form::document::<Bytes>(),
        Form::document::<Document>(),
        Form::value::<(bool, Option<String>, DateTime)>(),
        Form::value::<Vec<((), PhantomData<u8>)>>(),
        Form::value::<JavaScriptCodeWithScope>(),
        Form::value::<Pointer>(),
        Form::value::<Option<Point>>(),
        Form::value::<Rc<Vec<Arc<str>>>>(),
        Form::value::<Option<Box<Rc<Arc<i32>>>>>(),
        Form::value::<Box<str>>(),
        Form::value::<Color>(),
    ]);
    forms.extend([
        Form::document::<BTreeMap<String, Bson>>(),
        Form::document::<BTreeMap<Box<str>, f64>>(),
        Form::document::<BTreeMap<u8, u8>>(),
        Form::document::<BTreeMap<i64, DateTime>>(),
        Form::document::<BTreeMap<bool, Vec<u8>>>(),
        Form::document::<BTreeMap<char, char>>(),
        Form::document::<BTreeMap<ObjectId, ()>>(),
        Form::document::<BTreeMap<uuid::Uuid, i32>>(),
        Form::document::<BTreeMap<Color, Option<i32>>>(),
        Form::document::<BTreeMap<Number, Number>>(),
        Form::unordered::<HashMap<String, i64, Hasher>>(),
        Form::unordered::<HashMap<u64, Option<String>, Hasher>>(),
        Form::unordered::<HashSet<i32, Hasher>>(),
    ]);
}
