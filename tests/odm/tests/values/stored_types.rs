//! The stored form of each type, by `Encode` and `Decode`.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, LinkedList, VecDeque};
use std::fmt::Debug;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::{TimeZone, Utc};
use marula::bson::{
    BinarySubtype, Bson, DateTime, Decimal128, DecodeError, Document, EncodeError, ObjectId, Regex,
    Timestamp, bson, doc, from_slice as from_slice_by_serde, to_vec as to_vec_by_serde,
};
use marula::codec::{Decode, DecodeOwned, Encode, StoredAs, from_slice, to_vec};
use marula::geo::{Point, Polygon};
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The stored form of a value.
fn stored<T: Encode>(value: T) -> Result<Bson, EncodeError> {
    let bytes = to_vec(&BTreeMap::from([("v".to_owned(), value)]))?;
    let mut document: Document = from_slice(&bytes).unwrap();
    Ok(document.remove("v").unwrap())
}

/// The value of a stored form.
fn loaded<T: DecodeOwned>(stored: Bson) -> Result<T, DecodeError> {
    let bytes = to_vec(&doc! { "v": stored }).unwrap();
    let mut map: HashMap<String, T> = from_slice(&bytes)?;
    Ok(map.remove("v").unwrap())
}

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "shorter calls")]
fn goes_both_ways<T: Encode + DecodeOwned + Clone + PartialEq + Debug>(value: T, expected: impl Into<Bson>) {
    let expected = expected.into();
    assert_eq!(stored(value.clone()).unwrap(), expected);
    assert_eq!(loaded::<T>(expected).unwrap(), value);
}

fn binary(subtype: BinarySubtype, bytes: &[u8]) -> Bson {
    Bson::Binary(marula::bson::Binary {
        subtype,
        bytes: bytes.to_vec(),
    })
}

#[test]
fn each_type_has_one_form() {
    goes_both_ways(-5_i8, -5_i32);
    goes_both_ways(-5_i16, -5_i32);
    goes_both_ways(-5_i32, -5_i32);
    goes_both_ways(5_u8, 5_i32);
    goes_both_ways(5_u16, 5_i32);
    goes_both_ways(5_u32, 5_i64);
    goes_both_ways(-5_i64, -5_i64);
    goes_both_ways(5_u64, 5_i64);
    goes_both_ways(5_usize, 5_i64);
    goes_both_ways(0.5_f32, 0.5);
    goes_both_ways(0.5_f64, 0.5);
    goes_both_ways(true, true);
    goes_both_ways('é', "é");
    goes_both_ways("text".to_owned(), "text");
    goes_both_ways::<Box<str>>("text".into(), "text");
    goes_both_ways::<Cow<'static, str>>(Cow::Owned("text".to_owned()), "text");
    let id = ObjectId::from_bytes([7; 12]);
    goes_both_ways(id, id);
    goes_both_ways::<Arc<[i32]>>(Arc::new([1, 2]), bson!([1, 2]));
    goes_both_ways::<Rc<[u8]>>(Rc::new([1, 2]), binary(BinarySubtype::Generic, &[1, 2]));
    let at = DateTime::from_millis(-1);
    goes_both_ways(at, at);
    let decimal: Decimal128 = "12.50".parse().unwrap();
    goes_both_ways(decimal, Bson::Decimal128(decimal));
    let timestamp = Timestamp {
        time: 7,
        increment: 9,
    };
    goes_both_ways(timestamp, Bson::Timestamp(timestamp));
    let uuid = uuid::Uuid::from_bytes([3; 16]);
    goes_both_ways(uuid, binary(BinarySubtype::Uuid, &[3; 16]));
    goes_both_ways(
        marula::bson::Uuid::from_bytes([3; 16]),
        binary(BinarySubtype::Uuid, &[3; 16]),
    );
    for subtype in [
        BinarySubtype::Generic,
        BinarySubtype::BinaryOld,
        BinarySubtype::UserDefined(0x90),
    ] {
        let bytes = marula::bson::Binary {
            subtype,
            bytes: vec![1, 2],
        };
        goes_both_ways(bytes, binary(subtype, &[1, 2]));
    }
    let regex = Regex {
        pattern: "^a".try_into().unwrap(),
        options: "i".try_into().unwrap(),
    };
    goes_both_ways(regex.clone(), Bson::RegularExpression(regex));
    let any = bson!({ "a": [1, { "$date": 5 }, null], "b": id });
    goes_both_ways(any.clone(), any.clone());
    goes_both_ways(doc! { "any": any.clone() }, doc! { "any": any });
    goes_both_ways(
        Point::new([8.5, 47.3]),
        doc! { "type": "Point", "coordinates": [8.5, 47.3] },
    );
    goes_both_ways((), Bson::Null);
}

#[test]
fn dates_and_decimals_of_other_crates_have_those_of_bson() {
    let millis = 1_700_000_000_123;
    let at = Bson::DateTime(DateTime::from_millis(millis));
    goes_both_ways(
        UNIX_EPOCH + Duration::from_millis(millis.unsigned_abs()),
        at.clone(),
    );
    goes_both_ways(Utc.timestamp_millis_opt(millis).unwrap(), at.clone());
    goes_both_ways(jiff::Timestamp::from_millisecond(millis).unwrap(), at.clone());
    let nanos = i128::from(millis) * 1_000_000;
    goes_both_ways(
        time::OffsetDateTime::from_unix_timestamp_nanos(nanos).unwrap(),
        at,
    );
    let day = Bson::DateTime(DateTime::from_millis(86_400_000));
    goes_both_ways(chrono::NaiveDate::from_ymd_opt(1970, 1, 2).unwrap(), day.clone());
    goes_both_ways(jiff::civil::date(1970, 1, 2), day.clone());
    goes_both_ways(time::Date::from_ordinal_date(1970, 2).unwrap(), day);
    let decimal = Bson::Decimal128("-12.50".parse().unwrap());
    goes_both_ways::<rust_decimal::Decimal>("-12.50".parse().unwrap(), decimal.clone());
    goes_both_ways::<bigdecimal::BigDecimal>("-12.50".parse().unwrap(), decimal);

    let error = stored(UNIX_EPOCH - Duration::from_secs(1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "v: a `SystemTime` before 1970 cannot be stored"
    );
    let error = loaded::<SystemTime>(Bson::DateTime(DateTime::from_millis(-1))).unwrap_err();
    assert_eq!(
        error.message(),
        "the stored date is out of the range of `SystemTime`"
    );
    let error = loaded::<chrono::NaiveDate>(Bson::DateTime(DateTime::from_millis(5))).unwrap_err();
    assert!(error.message().contains("not at midnight"), "{error}");
    for number in [bson!(5), bson!(5_i64)] {
        assert_eq!(loaded::<rust_decimal::Decimal>(number.clone()).unwrap(), 5.into());
        assert_eq!(
            loaded::<bigdecimal::BigDecimal>(number).unwrap(),
            bigdecimal::BigDecimal::from(5)
        );
    }
    let error = loaded::<rust_decimal::Decimal>(Bson::Double(0.1)).unwrap_err();
    assert_eq!(error.type_found(), Some("Double"));
    let error = loaded::<rust_decimal::Decimal>(Bson::Decimal128("NaN".parse().unwrap())).unwrap_err();
    assert!(error.message().contains("is not a number"), "{error}");
    // Text is not read as a date: the error names it.
    let error = loaded::<chrono::DateTime<Utc>>("2024-01-01T00:00:00Z".into()).unwrap_err();
    assert_eq!((error.path(), error.type_found()), ("v", Some("String")));
}

#[test]
fn containers_have_the_form_of_their_content() {
    goes_both_ways(Some(5_i32), 5);
    goes_both_ways(None::<i32>, Bson::Null);
    goes_both_ways(Box::new(Some(5_i32)), 5);
    goes_both_ways(Some(Box::new(Rc::new(Arc::new(5_i32)))), 5);
    goes_both_ways(vec![Some(1_i32), None], bson!([1, null]));
    goes_both_ways(VecDeque::from([1_i32, 2]), bson!([1, 2]));
    goes_both_ways(LinkedList::from([1_i32, 2]), bson!([1, 2]));
    goes_both_ways(BTreeSet::from([1_i32, 2]), bson!([1, 2]));
    goes_both_ways(HashSet::from([7_i32]), bson!([7]));
    goes_both_ways([1_i32, 2], bson!([1, 2]));
    goes_both_ways::<Box<[i32]>>(Box::new([1, 2]), bson!([1, 2]));
    goes_both_ways((1_i32, "two".to_owned(), true), bson!([1, "two", true]));
    goes_both_ways(
        vec![Utc.timestamp_millis_opt(5).unwrap()],
        vec![DateTime::from_millis(5)],
    );
    let nested = BTreeMap::from([("a".to_owned(), BTreeMap::from([("b".to_owned(), vec![1_i64])]))]);
    goes_both_ways(nested, bson!({ "a": { "b": [1_i64] } }));
    let error = loaded::<[i32; 3]>(bson!([1, 2])).unwrap_err();
    assert_eq!(error.message(), "expected an array of 3 items, found 2");
    for found in [bson!([1]), bson!([1, "two", true])] {
        let error = loaded::<(i32, String)>(found).unwrap_err();
        assert!(
            error.message().starts_with("expected an array of 2 items"),
            "{error}"
        );
    }
}

#[test]
fn bytes_are_binary_and_are_read_from_arrays() {
    goes_both_ways(vec![1_u8, 2], binary(BinarySubtype::Generic, &[1, 2]));
    goes_both_ways([1_u8, 2], binary(BinarySubtype::Generic, &[1, 2]));
    goes_both_ways::<Box<[u8]>>(Box::new([1, 2]), binary(BinarySubtype::Generic, &[1, 2]));
    goes_both_ways(vec![vec![1_u8]], bson!([binary(BinarySubtype::Generic, &[1])]));
    // Another collection of bytes is an array, as that of any other number.
    goes_both_ways(BTreeSet::from([1_u8, 2]), bson!([1, 2]));
    assert_eq!(loaded::<Vec<u8>>(bson!([1, 2_i64, 3.0])).unwrap(), [1, 2, 3]);
    assert_eq!(
        loaded::<Vec<u8>>(binary(BinarySubtype::BinaryOld, &[5])).unwrap(),
        [5]
    );
    let error = loaded::<Vec<u8>>(bson!([1, 256])).unwrap_err();
    assert_eq!(
        (error.path(), error.message()),
        ("v[1]", "expected u8, found an integer out of its range")
    );
    let error = loaded::<Vec<u8>>("text".into()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "v: expected binary data, found String at byte 7"
    );
}

#[test]
fn maps_have_typed_keys() {
    let uuid = uuid::Uuid::from_u128(5);
    let id = ObjectId::from_bytes([7; 12]);
    goes_both_ways(BTreeMap::from([(-5_i64, 1)]), doc! { "-5": 1 });
    goes_both_ways(BTreeMap::from([(uuid, 1)]), doc! { uuid.to_string(): 1 });
    goes_both_ways(HashMap::from([(id, 1)]), doc! { id.to_hex(): 1 });
    goes_both_ways(BTreeMap::from([(true, 1)]), doc! { "true": 1 });
    goes_both_ways(BTreeMap::from([('é', 1)]), doc! { "é": 1 });
    goes_both_ways(BTreeMap::from([(Arc::<str>::from("a"), 1)]), doc! { "a": 1 });
    for (text, is_key) in [
        ("5", true),
        ("05", false),
        ("+5", false),
        ("256", false),
        ("", false),
    ] {
        let read = loaded::<BTreeMap<u8, i32>>(bson!({ text: 1 }));
        assert_eq!(read.is_ok(), is_key, "{text}");
        if let Err(error) = read {
            assert!(error.path().starts_with('v'), "{error}");
            assert_eq!(
                error.message(),
                "expected a key that is an integer in the range of u8"
            );
        }
    }
    let error = stored(BTreeMap::from([("a\0".to_owned(), 1)])).unwrap_err();
    assert!(error.message().contains("zero byte"), "{error}");
    let twice = b"\x13\0\0\0\x10a\0\x01\0\0\0\x10a\0\x02\0\0\0\0";
    let error = from_slice::<BTreeMap<String, i32>>(twice).unwrap_err();
    assert_eq!(error.to_string(), "a: duplicate field at byte 14");
}

#[test]
fn numbers_are_read_from_any_type_that_has_them() {
    for stored in [Bson::Int32(5), Bson::Int64(5), Bson::Double(5.0)] {
        assert_eq!(loaded::<u8>(stored.clone()).unwrap(), 5);
        assert_eq!(loaded::<i64>(stored.clone()).unwrap(), 5);
        assert_eq!(loaded::<f64>(stored).unwrap(), 5.0);
    }
    for stored in [Bson::Double(5.5), Bson::Double(f64::NAN), Bson::Double(1e300)] {
        let error = loaded::<i64>(stored).unwrap_err();
        assert!(
            error.message().contains("with a fraction or out of range"),
            "{error}"
        );
    }
    for (error, ty) in [
        (loaded::<i8>(Bson::Int32(128)).unwrap_err(), "i8"),
        (loaded::<u32>(Bson::Int32(-1)).unwrap_err(), "u32"),
        (loaded::<u64>(Bson::Int64(-1)).unwrap_err(), "u64"),
    ] {
        assert_eq!(
            error.message(),
            format!("expected {ty}, found an integer out of its range")
        );
    }
    let error = stored(u64::MAX).unwrap_err();
    assert_eq!(error.to_string(), "v: the number is larger than an Int64");
}

#[test]
fn errors_name_the_place_and_what_was_found() {
    let error = loaded::<Vec<Option<i32>>>(bson!([1, "two"])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "v[1]: expected an integer, found String at byte 21"
    );
    let error = loaded::<uuid::Uuid>(binary(BinarySubtype::UuidOld, &[3; 16])).unwrap_err();
    assert!(
        error.message().ends_with("found Binary subtype 3, a legacy UUID"),
        "{error}"
    );
    let error = loaded::<Point>(bson!({ "type": "Polygon", "coordinates": [] })).unwrap_err();
    assert_eq!(
        (error.path(), error.message()),
        ("v.type", "unknown variant, expected `Point`")
    );
    let error = loaded::<Polygon>(bson!({ "type": "Polygon" })).unwrap_err();
    assert_eq!(
        (error.path(), error.message()),
        ("v", "missing field `coordinates`")
    );
    let error = loaded::<Point>(bson!({ "type": "Point", "coordinates": [1.0, "x"] })).unwrap_err();
    assert_eq!(error.path(), "v.coordinates[1]");
    let error = to_vec(&5_i32).unwrap_err();
    assert_eq!(error.to_string(), "expected a document, found Int32");
}

/// A text borrows from the document.
#[test]
fn texts_are_borrowed() {
    let bytes = to_vec(&doc! { "a": "text" }).unwrap();
    let borrowed: BTreeMap<String, &str> = from_slice(&bytes).unwrap();
    assert!(bytes.as_ptr_range().contains(&borrowed["a"].as_ptr()));
}

#[derive(Clone, Debug, PartialEq)]
struct Tenths(i64);

impl Encode for Tenths {
    fn encode(&self, out: &mut marula::codec::Writer<'_>) -> Result<(), EncodeError> {
        self.0.encode(out)
    }
}

impl<'de> Decode<'de> for Tenths {
    fn decode(value: &marula::codec::Value<'de>) -> Result<Self, DecodeError> {
        i64::decode(value).map(Tenths)
    }
}

impl StoredAs<Duration> for Tenths {
    fn store(value: &Duration) -> Result<Self, EncodeError> {
        let millis = i64::try_from(value.as_millis()).map_err(|_| EncodeError::new("too long"))?;
        Ok(Tenths(millis / 100))
    }
    fn load(self) -> Result<Duration, DecodeError> {
        let tenths = u64::try_from(self.0).map_err(|_| DecodeError::new("a duration is not negative"))?;
        Ok(Duration::from_millis(tenths * 100))
    }
}

#[test]
fn another_type_is_stored_in_place_of_one() {
    let some = Some(vec![Duration::from_millis(1_500)]);
    let stored = <Option<Vec<Tenths>>>::store(&some).unwrap();
    assert_eq!(stored, Some(vec![Tenths(15)]));
    assert_eq!(StoredAs::<Option<Vec<Duration>>>::load(stored).unwrap(), some);
    let error = StoredAs::<Vec<Duration>>::load(vec![Tenths(1), Tenths(-1)]).unwrap_err();
    assert_eq!(error.to_string(), "[1]: a duration is not negative");
}

fn as_by_serde<T>(value: T) -> Result<(), TestCaseError>
where
    T: Encode + DecodeOwned + Serialize + DeserializeOwned + PartialEq + Debug,
{
    let map = BTreeMap::from([("v".to_owned(), value)]);
    let bytes = to_vec(&map).unwrap();
    prop_assert_eq!(&bytes, &to_vec_by_serde(&map).unwrap());
    prop_assert_eq!(&from_slice::<BTreeMap<String, T>>(&bytes).unwrap(), &map);
    prop_assert_eq!(&from_slice_by_serde::<BTreeMap<String, T>>(&bytes).unwrap(), &map);
    Ok(())
}

proptest! {
    #[test]
    fn plain_types_have_the_bytes_of_serde(
        numbers: (i8, i16, i32, i64, u8, u16, u32),
        float: f64,
        texts in prop::collection::vec(any::<(String, char, bool, Option<String>)>(), 0..4),
        map in prop::collection::hash_map("[a-z.$]{0,9}", prop::option::of(any::<i64>()), 0..9),
        keys in prop::collection::btree_map(any::<i64>(), any::<[(u8, i32); 2]>().prop_map(BTreeMap::from), 0..4),
        id: [u8; 12],
        uuid: u128,
    ) {
        as_by_serde(numbers)?;
        if !float.is_nan() {
            as_by_serde(float)?;
        }
        as_by_serde(texts)?;
        as_by_serde(map)?;
        as_by_serde(keys)?;
        as_by_serde((ObjectId::from_bytes(id), Some(DateTime::from_millis(5))))?;
        as_by_serde(vec![uuid::Uuid::from_u128(uuid)])?;
    }

    #[test]
    fn random_bytes_are_an_error_or_are_written_again(bytes: Vec<u8>) {
        if let Ok(document) = from_slice::<Document>(&bytes) {
            prop_assert_eq!(to_vec(&document).unwrap().len(), bytes.len());
        }
        let _ = from_slice::<BTreeMap<String, Vec<Option<i32>>>>(&bytes);
        let _ = from_slice::<HashMap<uuid::Uuid, (Point, Vec<u8>)>>(&bytes);
    }
}

#[test]
fn addresses_are_text() {
    goes_both_ways(IpAddr::from([127, 0, 0, 1]), "127.0.0.1");
    goes_both_ways(Ipv4Addr::LOCALHOST, "127.0.0.1");
    goes_both_ways(Ipv6Addr::LOCALHOST, "::1");
    goes_both_ways(SocketAddr::from((Ipv6Addr::LOCALHOST, 80)), "[::1]:80");
    goes_both_ways(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 80), "127.0.0.1:80");
    goes_both_ways(SocketAddrV6::new(Ipv6Addr::LOCALHOST, 80, 0, 0), "[::1]:80");
    // Another text of the same address.
    assert_eq!(loaded::<Ipv6Addr>("0:0::1".into()).unwrap(), Ipv6Addr::LOCALHOST);
    let error = |stored: Bson| loaded::<IpAddr>(stored).unwrap_err().to_string();
    let text = error("localhost".into());
    assert!(
        text.starts_with("v: expected an IP address, found another text"),
        "{text}"
    );
    let number = error(7.into());
    assert!(
        number.starts_with("v: expected a string, found Int32"),
        "{number}"
    );

    let hits = BTreeMap::from([(IpAddr::from([10, 0, 0, 1]), 3)]);
    assert_eq!(stored(hits.clone()).unwrap(), bson!({ "10.0.0.1": 3 }));
    assert_eq!(
        loaded::<BTreeMap<IpAddr, i32>>(bson!({ "10.0.0.1": 3 })).unwrap(),
        hits
    );
    let wrong = loaded::<BTreeMap<Ipv6Addr, i32>>(bson!({ "0:0::1": 3 })).unwrap_err();
    assert!(
        wrong
            .to_string()
            .contains("expected a key that is an IPv6 address"),
        "{wrong}"
    );
}
