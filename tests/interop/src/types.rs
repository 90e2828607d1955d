//! Every BSON type: inserting, reading, finding by value; arithmetic of decimals and dates.

use crate::checks::Checks;
use crate::context::{Context, docs, field, ids, regex};
use mongodb::bson::oid::ObjectId;
use mongodb::bson::spec::BinarySubtype;
use mongodb::bson::{Binary, Bson, DateTime, Decimal128, JavaScriptCodeWithScope, Timestamp, Uuid, doc};
use mongodb::error::Result;

pub(crate) async fn run(checks: &mut Checks, context: &Context) -> Result<()> {
    round_trips(checks, context).await?;
    decimals(checks, context).await?;
    dates(checks, context).await?;
    uuids(checks, context).await?;
    timestamps(checks, context).await
}

fn decimal(text: &str) -> Result<Bson> {
    Ok(Bson::Decimal128(text.parse::<Decimal128>()?))
}

async fn round_trips(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("types");
    let binary = |subtype, bytes: &[u8]| {
        Bson::Binary(Binary {
            subtype,
            bytes: bytes.to_vec(),
        })
    };
    let values: Vec<(&str, &str, Bson)> = vec![
        ("double", "double", Bson::Double(0.1)),
        ("negative zero", "double", Bson::Double(-0.0)),
        ("infinity", "double", Bson::Double(f64::INFINITY)),
        ("not a number", "double", Bson::Double(f64::NAN)),
        ("string", "string", Bson::String("Grüße, \u{1F980}".to_owned())),
        (
            "string with a null byte",
            "string",
            Bson::String("a\0b".to_owned()),
        ),
        ("empty string", "string", Bson::String(String::new())),
        (
            "document",
            "object",
            Bson::Document(doc! { "z": 1, "a": { "b": [1, "x", Bson::Null] } }),
        ),
        ("empty document", "object", Bson::Document(doc! {})),
        ("binary", "binData", binary(BinarySubtype::Generic, &[0, 1, 255])),
        ("empty binary", "binData", binary(BinarySubtype::Generic, &[])),
        (
            "binary of a user's subtype",
            "binData",
            binary(BinarySubtype::UserDefined(0x80), b"x"),
        ),
        ("uuid", "binData", Bson::from(Uuid::from_bytes([9; 16]))),
        (
            "object id",
            "objectId",
            Bson::ObjectId(ObjectId::from_bytes([1; 12])),
        ),
        ("boolean", "bool", Bson::Boolean(false)),
        (
            "date",
            "date",
            Bson::DateTime(DateTime::from_millis(1_700_000_000_123)),
        ),
        (
            "date before 1970",
            "date",
            Bson::DateTime(DateTime::from_millis(-1)),
        ),
        ("least date", "date", Bson::DateTime(DateTime::MIN)),
        ("greatest date", "date", Bson::DateTime(DateTime::MAX)),
        ("null", "null", Bson::Null),
        ("code", "javascript", Bson::JavaScriptCode("f()".to_owned())),
        (
            "code with scope",
            "javascriptWithScope",
            Bson::JavaScriptCodeWithScope(JavaScriptCodeWithScope {
                code: "f(x)".to_owned(),
                scope: doc! { "x": 1 },
            }),
        ),
        ("symbol", "symbol", Bson::Symbol("s".to_owned())),
        ("int", "int", Bson::Int32(i32::MIN)),
        ("long", "long", Bson::Int64(i64::MAX)),
        (
            "timestamp",
            "timestamp",
            Bson::Timestamp(Timestamp {
                time: u32::MAX,
                increment: 7,
            }),
        ),
        ("decimal", "decimal", decimal("1.00")?),
        (
            "decimal with an exponent",
            "decimal",
            decimal("-9.999999999999999999999999999999999E+6144")?,
        ),
        ("decimal infinity", "decimal", decimal("-Infinity")?),
        ("decimal not a number", "decimal", decimal("NaN")?),
        ("least key", "minKey", Bson::MinKey),
        ("greatest key", "maxKey", Bson::MaxKey),
    ];
    for (id, (name, kind, value)) in values.into_iter().enumerate() {
        let id = id as i32;
        c.insert_one(doc! { "_id": id, "v": value.clone() }).await?;
        checks.eq(
            &format!("round trip: {name}"),
            field(c.find_one(doc! { "_id": id }).await, "v"),
            Some(value.clone()),
        );
        checks.eq(
            &format!("$type: {name}"),
            c.count_documents(doc! { "_id": id, "v": { "$type": kind } })
                .await,
            1,
        );
        checks.eq(
            &format!("found by value: {name}"),
            c.count_documents(doc! { "_id": id, "v": { "$eq": value } }).await,
            1,
        );
    }
    let regex = regex("^a/b", "imx")?;
    c.insert_one(doc! { "_id": "regex", "v": regex.clone() }).await?;
    checks.eq(
        "round trip: regular expression",
        field(c.find_one(doc! { "_id": "regex" }).await, "v"),
        Some(regex),
    );
    let array = Bson::Array(vec![
        Bson::Int32(1),
        Bson::Array(vec![]),
        Bson::Document(doc! { "a": [2_i64] }),
    ]);
    c.insert_one(doc! { "_id": "array", "v": array.clone() }).await?;
    checks.eq(
        "round trip: array",
        field(c.find_one(doc! { "_id": "array" }).await, "v"),
        Some(array),
    );
    Ok(())
}

async fn decimals(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("decimals");
    for (id, text) in ["1.00", "0.1", "0.2", "-3E+2", "9007199254740993"]
        .iter()
        .enumerate()
    {
        c.insert_one(doc! { "_id": id as i32, "v": decimal(text)? })
            .await?;
    }
    checks.eq(
        "decimal: equal to an int",
        ids(c.find(doc! { "v": 1 }).await).await,
        [0],
    );
    checks.eq(
        "decimal: equal to another scale",
        ids(c.find(doc! { "v": decimal("1.0")? }).await).await,
        [0],
    );
    checks.eq(
        "decimal: not equal to the nearest double",
        ids(c.find(doc! { "v": 0.1 }).await).await,
        [0_i32; 0],
    );
    checks.eq(
        "decimal: compares exactly with a long",
        ids(c.find(doc! { "v": { "$gt": 9_007_199_254_740_992_i64 } }).await).await,
        [4],
    );
    checks.eq(
        "decimal: sort",
        ids(c.find(doc! {}).sort(doc! { "v": 1 }).await).await,
        [3, 1, 2, 0, 4],
    );
    let sum = [
        doc! { "$match": { "_id": { "$in": [1, 2] } } },
        doc! { "$group": { "_id": Bson::Null, "sum": { "$sum": "$v" } } },
    ];
    checks.eq(
        "decimal: $sum is exact",
        docs(c.aggregate(sum).await).await,
        [doc! { "_id": Bson::Null, "sum": decimal("0.3")? }],
    );
    c.update_one(doc! { "_id": 0 }, doc! { "$inc": { "v": decimal("0.005")? } })
        .await?;
    checks.eq(
        "decimal: $inc",
        field(c.find_one(doc! { "_id": 0 }).await, "v"),
        Some(decimal("1.005")?),
    );
    c.update_one(doc! { "_id": 0 }, doc! { "$mul": { "v": 2 } })
        .await?;
    checks.eq(
        "decimal: $mul by an int",
        field(c.find_one(doc! { "_id": 0 }).await, "v"),
        Some(decimal("2.010")?),
    );
    let text = [
        doc! { "$match": { "_id": 3 } },
        doc! { "$project": { "_id": 0, "text": { "$toString": "$v" }, "parsed": { "$toDecimal": "1.50" } } },
    ];
    checks.eq(
        "decimal: to text and from it",
        docs(c.aggregate(text).await).await,
        [doc! { "text": "-3E+2", "parsed": decimal("1.50")? }],
    );
    Ok(())
}

async fn dates(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("dates");
    for (id, text) in [
        "2024-02-29T23:59:59.999Z",
        "2024-03-01T00:00:00Z",
        "1969-12-31T23:59:59.999Z",
    ]
    .iter()
    .enumerate()
    {
        c.insert_one(doc! { "_id": id as i32, "at": DateTime::parse_rfc3339_str(text)? })
            .await?;
    }
    let march = DateTime::parse_rfc3339_str("2024-03-01T00:00:00Z")?;
    checks.eq(
        "date: range",
        ids(c
            .find(doc! { "at": { "$lt": march } })
            .sort(doc! { "at": 1 })
            .await)
        .await,
        [2, 0],
    );
    let parts = doc! { "$project": {
        "_id": 0, "y": { "$year": "$at" }, "m": { "$month": "$at" }, "d": { "$dayOfMonth": "$at" },
        "w": { "$isoWeek": "$at" }, "ms": { "$millisecond": "$at" },
        "z": { "$hour": { "date": "$at", "timezone": "+02:00" } },
    } };
    checks.eq(
        "date: its parts",
        docs(c.aggregate([doc! { "$sort": { "_id": 1 } }, parts]).await).await,
        [
            doc! { "y": 2024, "m": 2, "d": 29, "w": 9, "ms": 999, "z": 1 },
            doc! { "y": 2024, "m": 3, "d": 1, "w": 9, "ms": 0, "z": 2 },
            doc! { "y": 1969, "m": 12, "d": 31, "w": 1, "ms": 999, "z": 1 },
        ],
    );
    let difference = [
        doc! { "$match": { "_id": 1 } },
        doc! { "$project": { "_id": 0, "d": { "$subtract": ["$at", DateTime::from_millis(0)] }, "n": { "$add": ["$at", 5] } } },
    ];
    let millis = march.timestamp_millis();
    checks.eq(
        "date: difference and sum",
        docs(c.aggregate(difference).await).await,
        [doc! { "d": millis, "n": DateTime::from_millis(millis + 5) }],
    );
    Ok(())
}

async fn uuids(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("uuids");
    let id = Uuid::parse_str("00112233-4455-6677-8899-aabbccddeeff")?;
    c.insert_one(doc! { "_id": id, "n": 1 }).await?;
    checks.eq(
        "uuid: found",
        c.find_one(doc! { "_id": id }).await,
        Some(doc! { "_id": id, "n": 1 }),
    );
    let generic = Bson::Binary(Binary {
        subtype: BinarySubtype::Generic,
        bytes: id.bytes().to_vec(),
    });
    checks.eq(
        "uuid: other binary is not equal",
        c.find_one(doc! { "_id": generic }).await,
        None::<()>,
    );
    checks.code_and_message(
        "uuid: duplicate",
        11000,
        "dup key: { _id: UUID(\"00112233-4455-6677-8899-aabbccddeeff\") }",
        c.insert_one(doc! { "_id": id }).await,
    );
    Ok(())
}

/// The server replaces empty timestamps, but only in top-level fields.
async fn timestamps(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("timestamps");
    let zero = Bson::Timestamp(Timestamp {
        time: 0,
        increment: 0,
    });
    c.insert_one(doc! { "_id": 1, "top": zero.clone(), "in": { "ts": zero.clone() } })
        .await?;
    let top = field(c.find_one(doc! {}).await, "top")?.and_then(|value| value.as_timestamp());
    checks.is(
        "timestamp: an empty one is filled in",
        top.is_some_and(|top| top.time > 0),
        true,
    );
    checks.eq(
        "timestamp: a nested one is not",
        field(c.find_one(doc! {}).await, "in"),
        Some(Bson::Document(doc! { "ts": zero })),
    );
    Ok(())
}
