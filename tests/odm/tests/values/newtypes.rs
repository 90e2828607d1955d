//! Newtypes around values of other crates.

use crate::database::Env;
use marula::{Document, Embedded, Model, prelude::*};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize, Embedded)]
struct Money(Decimal);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "accounts")]
struct Account {
    _id: i64,
    balance: Money,
}

#[tokio::test]
async fn a_newtype_has_the_operators_of_its_content() {
    let env = Env::open().await;
    let accounts = env.collection::<Account>();
    let account = Account {
        _id: 1,
        balance: Money("10.50".parse().unwrap()),
    };
    accounts.insert_one(&account).await.unwrap();
    let found = accounts.find(|a| a.balance().gte(account.balance)).await.unwrap();
    assert_eq!(found, std::slice::from_ref(&account));
    accounts
        .update_one(|a| a._id().eq(1), |a| a.balance().inc(Money(Decimal::ONE)))
        .await
        .unwrap();
    let changed = accounts.find_by_id(1).required().await.unwrap();
    assert_eq!(changed.balance.0.to_string(), "11.50");
    env.close().await;
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Email(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Embedded)]
#[serde(transparent)]
struct UserId {
    id: uuid::Uuid,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Visits(i64);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "users")]
struct User {
    #[serde(rename = "_id")]
    #[document(id = uuid_v7)]
    id: UserId,
    email: Email,
    second: Option<Email>,
    visits: Visits,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "sessions")]
struct Login {
    #[serde(rename = "_id", skip_serializing_if = "Option::is_none")]
    id: Option<UserId>,
}

#[tokio::test]
async fn a_newtype_takes_the_literals_and_ids_of_its_content() {
    let env = Env::open().await;
    let users = env.collection::<User>();
    let user = User {
        id: User::new_id(),
        email: Email("a@b.c".to_owned()),
        second: None,
        visits: Visits(1),
    };
    assert_eq!(user.id.id.get_version_num(), 7);
    users.insert_one(&user).await.unwrap();
    let found = users
        .find(|u| {
            u.email().eq("a@b.c") & u.email().is_in(["a@b.c"]) & u.visits().lt(2) & u.second().ne(Some("x"))
        })
        .await
        .unwrap();
    assert_eq!(found, std::slice::from_ref(&user));
    users
        .update_by_id(user.id.id, |u| (u.second().set(Some("d@e.f")), u.visits().inc(5)))
        .await
        .unwrap();
    let changed = users.find_by_id(user.id).required().await.unwrap();
    assert_eq!(
        (changed.second, changed.visits),
        (Some(Email("d@e.f".to_owned())), Visits(6))
    );

    let logins = env.collection::<Login>();
    logins.insert_one(&Login { id: None }).await.unwrap();
    let login = logins.find_all().one().await.unwrap();
    assert_eq!(login.id.unwrap().id.get_version_num(), 7);
    env.close().await;
}

/// Code that is generic over models passes ids by reference.
#[tokio::test]
async fn ids_by_reference() {
    async fn both<D: Model>(all: &marula::Collection<D>, id: &D::Id) -> (Option<D>, Vec<D>) {
        let found = all.find_by_id(D::id_ref(id)).await.unwrap();
        let others = all
            .find(|_| D::id_path().ne(D::id_ref(id)))
            .sort(|_| D::id_path().desc());
        (found, others.await.unwrap())
    }
    let env = Env::open().await;
    let logins = env.collection::<Login>();
    for _ in 0..2 {
        logins.insert_one(&Login { id: None }).await.unwrap();
    }
    let all = logins.find_all().sort(|l| l.id().asc()).await.unwrap();
    let (found, others) = both(&logins, &all[0].id).await;
    assert_eq!((found.as_ref(), &others[..]), (Some(&all[0]), &all[1..]));
    env.close().await;
}

#[derive(Clone, Debug, PartialEq, Embedded)]
struct Note {
    text: String,
}

#[derive(Clone, Debug, PartialEq, Embedded)]
struct Noted(Option<Note>);

#[derive(Clone, Debug, PartialEq, Embedded)]
#[serde(transparent)]
struct Marked {
    id: Option<marula::bson::ObjectId>,
}

#[derive(Clone, Debug, PartialEq, Embedded)]
#[serde(tag = "kind", content = "value")]
enum Change {
    Noted(Option<Note>),
    Moved(Noted),
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "changes")]
struct Changed {
    _id: i64,
    noted: Noted,
    marked: Marked,
    change: Change,
}

/// A field that is not there has the value of the content.
#[tokio::test]
async fn a_missing_newtype_of_an_option_is_none() {
    let env = Env::open().await;
    let changes = env.collection::<Changed>();
    let raw = changes.driver().clone_with_type::<marula::bson::Document>();
    for (id, kind) in [(1_i64, "Noted"), (2, "Moved")] {
        raw.insert_one(&marula::bson::doc! { "_id": id, "change": { "kind": kind } })
            .await
            .unwrap();
    }
    let found = changes.find_all().sort(|c| c._id().asc()).await.unwrap();
    let expected = [Change::Noted(None), Change::Moved(Noted(None))];
    for (found, change) in found.iter().zip(expected) {
        assert_eq!(
            (&found.noted, &found.marked),
            (&Noted(None), &Marked { id: None })
        );
        assert_eq!(found.change, change);
    }
    assert_eq!(found.len(), 2);
    env.close().await;
}
