//! Task: a model with a UUID, a decimal, a date, options, lists, enums, maps and flattened fields.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use marula::bson::Decimal128;
use marula::{Document, Embedded, prelude::*};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::support::Env;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Payment {
    Card { last4: String },
    Cash,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Audit {
    created_by: String,
    created_at: DateTime<Utc>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "invoices")]
struct Invoice {
    #[serde(rename = "_id")]
    id: Uuid,
    total: Decimal128,
    paid_at: Option<time::OffsetDateTime>,
    note: Option<String>,
    tags: Vec<String>,
    payment: Payment,
    labels: HashMap<String, String>,
    #[serde(flatten)]
    audit: Audit,
}

#[tokio::test]
async fn a_model_with_fields_of_many_types() {
    let env = Env::start().await;
    let invoices = env.db.collection::<Invoice>();
    let invoice = Invoice {
        id: Invoice::new_id(),
        total: "19.90".parse().unwrap(),
        paid_at: Some(time::OffsetDateTime::UNIX_EPOCH),
        note: None,
        tags: vec!["new".to_owned()],
        payment: Payment::Card {
            last4: "4242".to_owned(),
        },
        labels: HashMap::from([("region".to_owned(), "south".to_owned())]),
        audit: Audit {
            created_by: "ada".to_owned(),
            created_at: DateTime::UNIX_EPOCH,
        },
    };
    assert_eq!(invoice.id.get_version_num(), 7);
    invoices.insert_one(&invoice).await.unwrap();
    let found = invoices
        .find_one(|i| {
            i.total().gt("19.5".parse::<Decimal128>().unwrap())
                & i.payment().card().last4().eq("4242")
                & i.labels().entry("region").eq("south")
                & i.audit().created_by().eq("ada")
                & i.audit().created_at().lt(marula::bson::DateTime::now())
                & i.paid_at().gte(time::OffsetDateTime::UNIX_EPOCH)
                & i.note().is_null()
        })
        .await
        .unwrap();
    assert_eq!(found, Some(invoice));
    assert!(!invoices.exists(|i| i.payment().is_cash()).await.unwrap());
    env.stop().await;
}
