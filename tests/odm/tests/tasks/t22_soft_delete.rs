//! Task: deleted documents can be shown and restored, and are removed later.

use marula::bson::DateTime;
use marula::{Document, prelude::*};
use serde::{Deserialize, Serialize};

use crate::support::Env;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "customers", soft_delete = deleted_at)]
struct Customer {
    _id: i64,
    name: String,
    deleted_at: Option<DateTime>,
}

fn customer(id: i64, name: &str) -> Customer {
    Customer {
        _id: id,
        name: name.to_owned(),
        deleted_at: None,
    }
}

#[tokio::test]
async fn deleted_documents_are_not_found() {
    let env = Env::start().await;
    let customers = env.db.collection::<Customer>();
    let all = [customer(1, "ada"), customer(2, "bob"), customer(3, "eve")];
    customers.insert_many(&all).await.unwrap();
    assert_eq!(customers.delete_many(|c| c._id().gte(2)).await.unwrap(), 2);
    assert_eq!(customers.find_all().await.unwrap(), [customer(1, "ada")]);
    assert_eq!(customers.find_by_id(2).await.unwrap(), None);
    let bin = customers.only_deleted().find_all().await.unwrap();
    assert!(bin.len() == 2 && bin.iter().all(|c| c.deleted_at.is_some()));

    customers
        .restore(|c| c.name().eq("bob"))
        .required()
        .await
        .unwrap();
    assert_eq!(customers.find_by_id(2).await.unwrap(), Some(customer(2, "bob")));
    let limit = DateTime::from_millis(DateTime::now().timestamp_millis() + 1000);
    let bin = customers.only_deleted();
    let removed = bin
        .delete_permanently(|c| c.deleted_at().lt(limit))
        .await
        .unwrap();
    assert_eq!(removed, 1);
    assert_eq!(customers.with_deleted().find_all().await.unwrap().len(), 2);
    env.stop().await;
}
