//! Values at the limits of the types.

use crate::database::Env;
use bigdecimal::BigDecimal;
use marula::bson::{self, Bson, doc};
use marula::{Document, Error, IntoValue, prelude::*};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

fn stored<T: IntoValue<T>>(value: T) -> Result<Bson, String> {
    value.into_value().map_err(|e| e.to_string())
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "limits")]
struct Limits {
    _id: i64,
    chrono: Option<chrono::DateTime<chrono::Utc>>,
    time: Option<time::OffsetDateTime>,
    jiff: Option<jiff::Timestamp>,
    system: Option<std::time::SystemTime>,
    decimal: Option<Decimal>,
    large: Option<BigDecimal>,
    count: Option<u64>,
}

const NONE: Limits = Limits {
    _id: 0,
    chrono: None,
    time: None,
    jiff: None,
    system: None,
    decimal: None,
    large: None,
    count: None,
};

#[tokio::test]
async fn the_limits_of_each_type_go_both_ways() {
    let env = Env::open().await;
    let all = env.collection::<Limits>();
    let second = |at: jiff::Timestamp| jiff::Timestamp::from_second(at.as_second()).unwrap();
    let big = |text: &str| Some(text.parse::<BigDecimal>().unwrap());
    let limits = [
        Limits {
            _id: 1,
            chrono: Some(chrono::DateTime::<chrono::Utc>::MIN_UTC),
            time: Some(time::PrimitiveDateTime::MIN.assume_utc()),
            jiff: Some(jiff::Timestamp::MIN),
            system: Some(std::time::UNIX_EPOCH),
            decimal: Some(Decimal::MIN),
            large: big("-9.999999999999999999999999999999999E6144"),
            count: Some(0),
        },
        Limits {
            _id: 2,
            chrono: chrono::DateTime::from_timestamp_millis(
                chrono::DateTime::<chrono::Utc>::MAX_UTC.timestamp_millis(),
            ),
            time: time::OffsetDateTime::from_unix_timestamp(253_402_300_799).ok(),
            jiff: Some(second(jiff::Timestamp::MAX)),
            system: Some(std::time::UNIX_EPOCH + std::time::Duration::from_secs(253_402_300_799)),
            decimal: Some(Decimal::MAX),
            large: big("1E-6176"),
            count: Some(i64::MAX.unsigned_abs()),
        },
        Limits {
            _id: 3,
            decimal: Some(Decimal::from_i128_with_scale(-1, 28)),
            large: big("0E-3"),
            ..NONE
        },
    ];
    all.insert_many(&limits).await.unwrap();
    for one in limits {
        assert_eq!(all.find_by_id(one._id).await.unwrap(), Some(one));
    }
    env.close().await;
}

#[tokio::test]
async fn a_value_that_cannot_be_stored_is_an_error_of_its_field() {
    let env = Env::open().await;
    let all = env.collection::<Limits>();
    let one_second = std::time::Duration::from_secs(1);
    let cases = [
        (
            "system",
            Limits {
                system: Some(std::time::UNIX_EPOCH - one_second),
                ..NONE
            },
            "before 1970",
        ),
        (
            "large",
            Limits {
                large: "1E-7000".parse().ok(),
                ..NONE
            },
            "exponent",
        ),
        (
            "large",
            Limits {
                large: format!("{}1", "1".repeat(34)).parse().ok(),
                ..NONE
            },
            "digits",
        ),
        (
            "count",
            Limits {
                count: Some(u64::MAX),
                ..NONE
            },
            "i64",
        ),
    ];
    for (field, document, reason) in cases {
        let error = all.insert_one(&document).await.unwrap_err();
        let Error::Encode { path, source } = &error else {
            panic!("{error:?}")
        };
        assert_eq!(path, field);
        if field != "count" {
            assert!(source.to_string().contains(reason), "{source}");
        }
    }
    let error = all
        .find(|l| l.large().eq("1E-7000".parse::<BigDecimal>().unwrap()))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("large"), "{error}");
    assert_eq!(all.estimated_count().await.unwrap(), 0);
    env.close().await;
}

#[tokio::test]
async fn a_stored_value_out_of_range_is_an_error_of_its_field() {
    let env = Env::open().await;
    let all = env.collection::<Limits>();
    let date = bson::DateTime::from_millis;
    let decimal = |text: &str| text.parse::<bson::Decimal128>().unwrap();
    let cases = [
        doc! { "chrono": date(i64::MIN) },
        doc! { "time": date(i64::MAX) },
        doc! { "jiff": date(253_402_300_800_000) },
        doc! { "system": date(-1) },
        doc! { "decimal": decimal("1E+29") },
        doc! { "decimal": decimal("0.12345678901234567890123456789") },
        doc! { "decimal": decimal("NaN") },
        doc! { "large": decimal("-Infinity") },
        doc! { "decimal": true },
        doc! { "chrono": 5_i64 },
        doc! { "count": -1_i64 },
    ];
    for case in cases {
        let field = case.keys().next().unwrap().clone();
        let mut document = doc! { "_id": 9_i64 };
        document.extend(case);
        all.driver()
            .clone_with_type::<marula::bson::Document>()
            .insert_one(&document)
            .await
            .unwrap();
        let error = all.find_by_id(9).await.unwrap_err();
        let Error::Decode { path, .. } = &error else {
            panic!("{error:?}")
        };
        assert_eq!(*path, field, "{error}");
        all.delete_by_id(9).await.unwrap();
    }
    env.close().await;
}

#[tokio::test]
async fn decimals_of_any_exponent_are_read_if_their_digits_fit() {
    let env = Env::open().await;
    let all = env.collection::<Limits>();
    for (stored, read) in [
        ("1E+3", "1000"),
        ("0E+9", "0"),
        ("-5E-28", "-0.0000000000000000000000000005"),
        (
            "1.5000000000000000000000000000000",
            "1.5000000000000000000000000000",
        ),
        ("0E-40", "0.0000000000000000000000000000"),
    ] {
        let stored = stored.parse::<bson::Decimal128>().unwrap();
        all.driver()
            .clone_with_type::<marula::bson::Document>()
            .insert_one(&doc! { "_id": 1_i64, "decimal": stored, "large": stored })
            .await
            .unwrap();
        let found = all.find_by_id(1).required().await.unwrap();
        assert_eq!(found.decimal.unwrap().to_string(), read);
        assert_eq!(found.large.unwrap(), read.parse::<BigDecimal>().unwrap());
        all.delete_by_id(1).await.unwrap();
    }
    env.close().await;
}

#[test]
fn a_time_is_stored_as_the_millisecond_in_which_it_is() {
    let expected = Ok(Bson::from(bson::DateTime::from_millis(-1)));
    assert_eq!(
        stored(chrono::DateTime::from_timestamp(-1, 999_999_999).unwrap()),
        expected
    );
    assert_eq!(stored(jiff::Timestamp::from_nanosecond(-1).unwrap()), expected);
    let time = time::OffsetDateTime::from_unix_timestamp_nanos(-1).unwrap();
    assert_eq!(stored(time), expected);
    let shifted = time.to_offset(time::UtcOffset::from_hms(2, 0, 0).unwrap());
    assert_eq!(stored(shifted), expected);
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "deep")]
struct Deep {
    _id: i64,
    value: Bson,
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "deep")]
struct DeepWithVersion {
    _id: i64,
    value: Bson,
    #[document(version)]
    version: i64,
}

/// The limit of the nesting is the same with and without maintained fields.
#[tokio::test]
async fn deep_values_are_stored_with_maintained_fields() {
    let env = Env::open().await;
    let value = (0..150).fold(Bson::Int32(1), |inner, _| Bson::Document(doc! { "a": inner }));
    let plain = Deep {
        _id: 1,
        value: value.clone(),
    };
    let mut versioned = DeepWithVersion {
        _id: 2,
        value,
        version: 0,
    };
    let (deep, deep_with_version) = (env.collection::<Deep>(), env.collection::<DeepWithVersion>());
    deep.insert_one(&plain).await.unwrap();
    deep_with_version.save(&mut versioned).await.unwrap();
    deep_with_version.save(&mut versioned).await.unwrap();
    assert_eq!(deep.find_by_id(1).required().await.unwrap(), plain);
    assert_eq!(
        deep_with_version.find_by_id(2).required().await.unwrap(),
        versioned
    );
    env.close().await;
}
