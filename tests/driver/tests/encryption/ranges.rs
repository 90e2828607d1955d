//! Queryable Encryption of ranges.

use marula_driver::{
    bson::{Binary, Bson, DateTime, Document, doc},
    encryption::{EncryptionAlgorithm, RangeOptions},
};

use super::queryable::{Queryable, found};

/// A type of field with a range index.
struct RangeType {
    name: &'static str,
    bson_type: &'static str,
    value: fn(i32) -> Bson,
    has_bounds: bool,
    precision: Option<i32>,
}

fn decimal(number: i32) -> Bson {
    Bson::Decimal128(number.to_string().parse().expect("a decimal"))
}

fn double(number: i32) -> Bson {
    Bson::Double(f64::from(number))
}

const TYPES: [RangeType; 7] = {
    const fn of(name: &'static str, bson_type: &'static str, value: fn(i32) -> Bson) -> RangeType {
        RangeType {
            name,
            bson_type,
            value,
            has_bounds: true,
            precision: None,
        }
    }
    [
        RangeType {
            has_bounds: false,
            ..of("DecimalNoPrecision", "decimal", decimal)
        },
        RangeType {
            precision: Some(2),
            ..of("DecimalPrecision", "decimal", decimal)
        },
        RangeType {
            has_bounds: false,
            ..of("DoubleNoPrecision", "double", double)
        },
        RangeType {
            precision: Some(2),
            ..of("DoublePrecision", "double", double)
        },
        of("Date", "date", |number| {
            Bson::DateTime(DateTime::from_millis(i64::from(number)))
        }),
        of("Int", "int", Bson::Int32),
        of("Long", "long", |number| Bson::Int64(i64::from(number))),
    ]
};

impl RangeType {
    fn options(&self) -> RangeOptions {
        let options = if self.has_bounds {
            RangeOptions::new((self.value)(0), (self.value)(200))
        } else {
            RangeOptions::default()
        };
        let options = options.trim_factor(1).sparsity(1);
        match self.precision {
            Some(precision) => options.precision(precision),
            None => options,
        }
    }

    fn queries(&self) -> Bson {
        let mut queries =
            doc! { "queryType": "range", "contention": 0_i64, "trimFactor": 1, "sparsity": 1_i64 };
        if self.has_bounds {
            queries.extend(doc! { "min": (self.value)(0), "max": (self.value)(200) });
        }
        if let Some(precision) = self.precision {
            queries.insert("precision", precision);
        }
        queries.into()
    }
}

pub(crate) async fn client_side_encryption_prose_22_ranges_of_all_types_are_found() {
    let queryable = Queryable::new("8.0.0").await;
    let client = queryable.explicit();
    let encrypt = async |value: Bson, options: RangeOptions| {
        let algorithm = EncryptionAlgorithm::Range(options);
        queryable
            .encryption
            .encrypt(&value, queryable.key, algorithm)
            .contention_factor(0)
            .await
    };
    for of_type in TYPES {
        let (name, value) = (of_type.name, of_type.value);
        let field = format!("encrypted{name}");
        let fields = vec![queryable.field(&field, of_type.bson_type, Some(of_type.queries()))];
        let collection = queryable.collection(&client, name, fields).await;
        for (id, number) in [0, 6, 30, 200].into_iter().enumerate() {
            let payload = encrypt(value(number), of_type.options()).await.expect(name);
            let document = doc! { "_id": id as i32, &field: payload };
            collection.insert_one(&document).await.expect(name);
        }
        // Case 1.
        let payload = encrypt(value(6), of_type.options()).await.expect(name);
        assert_eq!(
            queryable.encryption.decrypt(&payload).await.expect(name),
            value(6)
        );
        // Cases 2 to 4.
        let all: Vec<Document> = [0, 6, 30, 200]
            .into_iter()
            .zip(0..)
            .map(|(number, id): (i32, i32)| doc! { "_id": id, &field: value(number) })
            .collect();
        for (expression, expected) in [
            (
                doc! { "$and": [{ &field: { "$gte": value(6) } }, { &field: { "$lte": value(200) } }] },
                &all[1..],
            ),
            (
                doc! { "$and": [{ &field: { "$gte": value(0) } }, { &field: { "$lte": value(6) } }] },
                &all[..2],
            ),
            (doc! { "$and": [{ &field: { "$gt": value(30) } }] }, &all[3..]),
        ] {
            let filter =
                queryable
                    .encryption
                    .encrypt_expression(expression, queryable.key, of_type.options());
            let filter = filter.contention_factor(0).await.expect(name);
            assert_eq!(found(&collection, filter).await, expected, "{name}");
        }
        // Case 5.
        let expression = doc! { "$and": [{ "$lt": [format!("${field}"), value(30)] }] };
        let expression =
            queryable
                .encryption
                .encrypt_expression(expression, queryable.key, of_type.options());
        let expression = expression.contention_factor(0).await.expect(name);
        assert_eq!(
            found(&collection, doc! { "$expr": expression }).await,
            &all[..2],
            "{name}"
        );
        // Cases 6 and 7.
        if of_type.has_bounds {
            let error = encrypt(value(201), of_type.options()).await.expect_err(name);
            assert!(
                error.to_string().contains("less than or equal to the maximum"),
                "{name}: {error}"
            );
            let other = match value(6) {
                Bson::Int32(_) => Bson::Double(6.0),
                _ => Bson::Int32(6),
            };
            encrypt(other, of_type.options()).await.expect_err(name);
        }
        // Case 8.
        if matches!(of_type.bson_type, "date" | "int" | "long") {
            let error = encrypt(value(6), of_type.options().precision(2))
                .await
                .expect_err(name);
            assert!(error.to_string().contains("precision"), "{name}: {error}");
        }
    }
}

/// Prose test 23: the default options are those of libmongocrypt.
pub(crate) async fn client_side_encryption_prose_23_ranges_have_defaults() {
    let queryable = Queryable::new("8.0.0").await;
    let length = async |options: RangeOptions| {
        let algorithm = EncryptionAlgorithm::Range(options);
        let encrypt = queryable.encryption.encrypt(&123_i32, queryable.key, algorithm);
        let payload: Binary = encrypt.contention_factor(0).await.expect("a payload");
        payload.bytes.len()
    };
    let options = || RangeOptions::new(0, 1000);
    let default = length(options()).await;
    assert_eq!(length(options().sparsity(2).trim_factor(6)).await, default);
    assert!(length(options().trim_factor(0)).await > default);
}
