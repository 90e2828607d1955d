//! `#[document(validate = garde)]` and `#[document(validate = validator)]`.

use crate::common::Env;
use marula::error::InvalidFields;
use marula::{Document, Embedded, Error, Model};
use serde::{Deserialize, Serialize};
// The derive calls it as a method for nested fields.
use validator::Validate as _;

#[derive(Clone, Serialize, Deserialize, Document, garde::Validate)]
#[document(collection = "people", validate = garde, validate = Person::check)]
struct Person {
    #[garde(skip)]
    _id: i64,
    #[garde(length(min = 1))]
    name: String,
    #[garde(dive)]
    addresses: Vec<Address>,
}

#[derive(Clone, Serialize, Deserialize, Embedded, garde::Validate)]
struct Address {
    #[garde(ascii)]
    zip: String,
}

impl Person {
    fn check(&self) -> Result<(), &'static str> {
        if self.name == "?" {
            Err("an unknown name")
        } else {
            Ok(())
        }
    }
}

#[derive(Clone, Serialize, Deserialize, Document, validator::Validate)]
#[document(collection = "orders", validate = validator)]
struct Order {
    _id: i64,
    #[validate(length(min = 1, message = "a number is missing"))]
    number: String,
    #[validate(nested)]
    lines: Vec<Line>,
}

#[derive(Clone, Serialize, Deserialize, Embedded, validator::Validate)]
struct Line {
    #[validate(range(min = 1))]
    qty: i32,
}

/// Each write of a whole document is refused with the same fields, and nothing is sent.
async fn refused<D: Model + Clone>(env: &Env, document: &D, fields: &[(&str, &str)]) {
    let all = env.db.collection::<D>();
    let id = |_| marula::Filter::everything();
    let errors = [
        all.insert_one(document)
            .await
            .map(drop)
            .expect_err("the document is invalid"),
        all.insert_many([document])
            .await
            .map(drop)
            .expect_err("the document is invalid"),
        all.replace(document)
            .await
            .map(drop)
            .expect_err("the document is invalid"),
        all.find_one_and_replace(id, document)
            .await
            .map(drop)
            .expect_err("the document is invalid"),
        all.save(document)
            .await
            .map(drop)
            .expect_err("the document is invalid"),
        all.save(&mut document.clone())
            .await
            .map(drop)
            .expect_err("the document is invalid"),
        all.bulk()
            .insert(document)
            .await
            .map(drop)
            .expect_err("the document is invalid"),
        all.bulk()
            .save(document)
            .await
            .map(drop)
            .expect_err("the document is invalid"),
    ];
    for error in errors {
        let found = error.invalid_fields().iter();
        let found: Vec<(&str, &str)> = found.map(|f| (f.path.as_str(), f.message.as_str())).collect();
        assert_eq!(found, fields, "{error}");
    }
    assert_eq!(all.estimated_count().await.expect("a count"), 0);
}

#[tokio::test]
async fn documents_are_validated_by_garde() {
    let env = Env::start().await;
    let mut person = Person {
        _id: 1,
        name: String::new(),
        addresses: vec![
            Address {
                zip: "8001".to_owned(),
            },
            Address { zip: "ä".to_owned() },
        ],
    };
    let fields = [
        ("addresses[1].zip", "not ascii"),
        ("name", "length is lower than 1"),
    ];
    refused(&env, &person, &fields).await;
    let people = env.db.collection::<Person>();
    let error = people.insert_one(&person).await.unwrap_err();
    assert_eq!(error.to_string(), "the document of Person is invalid");
    let Error::Validation {
        model: "Person",
        source,
    } = &error
    else {
        panic!("{error}");
    };
    assert_eq!(
        source.to_string(),
        "addresses[1].zip: not ascii; name: length is lower than 1"
    );
    let fields = source
        .downcast_ref::<InvalidFields>()
        .expect("the invalid fields");
    assert!(fields.report().is::<garde::Report>());

    // Both checks run.
    (person.name, person.addresses) = ("?".to_owned(), Vec::new());
    let error = people.insert_one(&person).await.unwrap_err();
    assert!(error.invalid_fields().is_empty());
    person.name = "Ada".to_owned();
    people.insert_one(&person).await.unwrap();
    env.stop().await;
}

#[tokio::test]
async fn documents_are_validated_by_validator() {
    let env = Env::start().await;
    let mut order = Order {
        _id: 1,
        number: String::new(),
        lines: vec![Line { qty: 1 }, Line { qty: 0 }],
    };
    let fields = [("lines[1].qty", "range"), ("number", "a number is missing")];
    refused(&env, &order, &fields).await;
    let orders = env.db.collection::<Order>();
    let error = orders.insert_one(&order).await.unwrap_err();
    let Error::Validation { source, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(
        source.to_string(),
        "lines[1].qty: range; number: a number is missing"
    );
    order.number = "N1".to_owned();
    order.lines.clear();
    orders.save(&mut order).await.unwrap();
    env.stop().await;
}
