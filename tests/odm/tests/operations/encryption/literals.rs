//! Values with encrypted fields as parts of expressions and of filters of documents whose collection is another one.

use super::{Address, Hospital, Patient, Plain, patient};
use marula::bson::{Bson, doc};
use marula::encryption::Unchecked;
use marula::expr::{cond, expr, gt, lit};
use marula::schema::SyncMode;
use marula::{Database, Document, Embedded, Error, Expr, Filter, Model, Shape, Update, prelude::*};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Residence {
    address: Address,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Home(Address);

#[derive(Debug, Serialize, Deserialize, Document)]
#[document(collection = "lodgers")]
struct Lodger {
    _id: i64,
    residence: Residence,
}

#[derive(Debug, Serialize, Deserialize, Shape)]
struct Moved {
    home: Address,
}

#[derive(Debug, Serialize, Deserialize, Shape)]
struct Homes {
    homes: Vec<Option<Residence>>,
    first: Option<Home>,
}

#[derive(Debug, Serialize, Deserialize, Shape)]
struct Visited {
    addresses: Vec<Address>,
    last: Option<Residence>,
}

/// Contains itself; no model can have its encrypted field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Node {
    #[document(encrypted)]
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
    next: Option<Box<Node>>,
}

/// A value of unknown form, or one with an encrypted field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(untagged)]
enum Contact {
    At(Address),
    Raw(Bson),
}

#[test]
fn literals_of_types_that_contain_themselves_are_checked_at_every_level() {
    let node = |secret: Option<&str>, next: Option<Node>| Node {
        secret: secret.map(str::to_owned),
        next: next.map(Box::new),
    };
    let secret = || node(Some("Marktgasse"), None);
    is_refused(lit::<Plain, Node>(secret()).into_bson(), "secret");
    for next in [secret(), node(None, Some(secret()))] {
        is_refused(lit::<Plain, Node>(node(None, Some(next))).into_bson(), "next");
    }
    lit::<Plain, Node>(node(None, None)).into_bson().unwrap();
}

#[test]
fn scalars_have_no_encrypted_fields() {
    lit::<Plain, Contact>(Contact::Raw(1.into())).into_bson().unwrap();
    is_refused(lit::<Plain, Contact>(Contact::At(address())).into_bson(), "");
}

fn address() -> Address {
    Address {
        city: "Bern".to_owned(),
        street: "Marktgasse 1".to_owned(),
    }
}

fn residence() -> Residence {
    Residence { address: address() }
}

fn is_refused<T: std::fmt::Debug>(result: Result<T, Error>, field: &str) {
    let error = result.expect_err("a value with an encrypted field");
    let text = format!("{error:#}");
    assert!(
        matches!(&error, Error::InvalidPipeline { path, .. } if path == field),
        "{text}"
    );
    assert!(
        text.contains("sent as they are") && !text.contains("Marktgasse"),
        "{text}"
    );
}

async fn databases(hospital: &Hospital) -> [Database; 2] {
    let schema = hospital.schema().register::<Lodger>();
    let synced = schema.clone().sync(SyncMode::Additive).await;
    synced.expect("an encrypted collection");
    [hospital.db(), hospital.encrypted(schema).await]
}

#[tokio::test]
async fn values_of_expressions_have_no_encrypted_fields() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    for db in databases(&hospital).await {
        let lodgers = db.collection::<Lodger>();
        let moved =
            |home: fn() -> Expr<Lodger, Address>| lodgers.aggregate().project(|_| MovedExpr { home: home() });
        is_refused(moved(|| expr(address())).all().await, "st");
        is_refused(moved(|| lit(address())).explain(), "st");
        is_refused(
            moved(|| expr(cond(gt(Lodger::fields()._id(), 1), address(), address())))
                .all()
                .await,
            "st",
        );
        is_refused(
            lodgers
                .aggregate()
                .replace_with(|_| lit::<_, Residence>(residence()))
                .all()
                .await,
            "address.st",
        );
        let homes = |homes: fn() -> Expr<Lodger, Vec<Option<Residence>>>, first: Option<Home>| {
            lodgers.aggregate().project(|_| HomesExpr {
                homes: homes(),
                first: lit(first),
            })
        };
        is_refused(
            homes(|| lit([None, Some(residence())]), None).all().await,
            "address.st",
        );
        is_refused(
            homes(|| lit([None::<Residence>]), Some(Home(address())))
                .all()
                .await,
            "st",
        );
        let inner = lit::<Lodger, Home>(address());
        is_refused(inner.into_bson(), "st");
        let update = cond(
            gt(Lodger::fields()._id(), 1),
            Lodger::fields().residence(),
            residence(),
        )
        .into_bson();
        is_refused(
            update.map(|value| Update::<Lodger>::pipeline([doc! { "$set": { "residence": value } }])),
            "address.st",
        );
        // No value of an encrypted field.
        homes(|| lit([None::<Residence>]), None).all().await.unwrap();
        homes(|| lit(Vec::<Option<Residence>>::new()), None)
            .all()
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn documents_with_encrypted_fields_are_not_compared_in_other_collections() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    for (db, is_encrypting) in databases(&hospital).await.into_iter().zip([false, true]) {
        let plain = db.collection::<Plain>();
        let is_refused = |error: Error, field: &str| match error {
            Error::InvalidFilter { path, .. } if is_encrypting && path == field => {}
            Error::Encode { path, .. } if !is_encrypting && path == field => {}
            error => panic!("{error:?}"),
        };
        let lodgers = || plain.aggregate().assume::<Lodger>();
        let visited = || plain.aggregate().assume::<Visited>();
        for error in [
            lodgers()
                .match_(|l| l.residence().eq(residence()))
                .all()
                .await
                .unwrap_err(),
            lodgers()
                .match_(|l| !l.residence().address().eq(address()))
                .explain()
                .unwrap_err(),
            lodgers()
                .limit(1)
                .match_(|l| l._id().eq(1) | l.residence().is_in([residence()]))
                .all()
                .await
                .unwrap_err(),
        ] {
            is_refused(error, "residence.address.st");
        }
        for (error, field) in [
            (
                visited()
                    .match_(|v| v.addresses().contains(address()))
                    .all()
                    .await
                    .unwrap_err(),
                "addresses.st",
            ),
            (
                visited()
                    .match_(|v| {
                        v.addresses()
                            .elem_match(|a| a.city().eq("Bern") & a.street().exists())
                    })
                    .all()
                    .await
                    .unwrap_err(),
                "addresses.st",
            ),
            (
                visited()
                    .match_(|v| v.last().ne(residence()))
                    .all()
                    .await
                    .unwrap_err(),
                "last.address.st",
            ),
        ] {
            is_refused(error, field);
        }
        // Other fields, and the presence of the documents.
        lodgers()
            .match_(|l| l.residence().address().city().eq("Bern"))
            .all()
            .await
            .unwrap();
        visited()
            .match_(|v| v.last().exists() & v.addresses().size(2))
            .all()
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn the_fields_of_a_projection_are_those_of_its_model() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    let patients = hospital.with::<Patient>().await.collection::<Patient>();
    patients.insert_one(&patient(1)).await.unwrap();
    let patients = hospital.db().collection::<Patient>();
    // A field of the same name without a value of the model.
    #[derive(Debug, PartialEq, Serialize, Deserialize, Shape)]
    struct Masked {
        ssn: String,
    }
    let masked = patients
        .aggregate()
        .match_(|p| p.name().exists())
        .project(|_| MaskedExpr { ssn: lit("***") })
        .match_(|m| m.ssn().eq("***"));
    assert_eq!(masked.all().await.unwrap().len(), 1);
}

#[tokio::test]
async fn expressions_and_schemas_in_filters_and_update_pipelines_are_checked() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    let schema = hospital.schema().register::<Patient>();
    schema.clone().sync(SyncMode::Additive).await.unwrap();
    let plain = hospital.db().collection::<Patient>();
    let encrypting = hospital.encrypted(schema).await.collection::<Patient>();
    for filter in [
        doc! { "$jsonSchema": { "properties": { "ssn": { "enum": ["457-55-0001"] } } } },
        doc! { "$expr": { "$eq": [{ "$getField": "ssn" }, "457-55-0001"] } },
        doc! { "$nor": [{ "$expr": { "$in": [{ "address": { "st": "Marktgasse 1" } }, ["$$ROOT"]] } }] },
        doc! { "$where": "this.ssn === '457-55-0001'" },
    ] {
        let raw = || Filter::raw(filter.clone());
        for error in [
            plain.find(|_| raw()).all().await.unwrap_err(),
            plain.count(|_| raw()).await.unwrap_err(),
            plain.delete_one(|p| p.id().eq(1) & raw()).await.unwrap_err(),
            plain
                .update_one(|_| raw(), |p| p.name().set("x"))
                .await
                .unwrap_err(),
            encrypting
                .find(|p| p.id().eq(1) & !raw())
                .all()
                .await
                .unwrap_err(),
        ] {
            let text = error.to_string();
            assert!(
                matches!(&error, Error::InvalidFilter { .. }) && text.contains("encryption::Unchecked"),
                "{error:?}"
            );
        }
    }
    // A client without automatic encryption would send the value of a condition that the application states.
    for (filter, field) in [
        (doc! { "ssn": "457-55-0001" }, "ssn"),
        (
            doc! { "$or": [{ "_id": 1 }, { "address": { "st": "x" } }] },
            "address.st",
        ),
        (
            doc! { "$expr": { "$eq": ["$$CURRENT.address.st", "Marktgasse 1"] } },
            "address.st",
        ),
    ] {
        for filter in [Filter::raw(filter.clone()), Filter::raw(Unchecked(filter))] {
            let error = plain.find(|_| filter).all().await.unwrap_err();
            assert!(
                matches!(&error, Error::Encode { path, .. } if path == field),
                "{error:?}"
            );
        }
    }
    // A condition on the other fields.
    let by_name = doc! { "$jsonSchema": { "properties": { "name": { "enum": ["x"] } } } };
    let by_name = Filter::raw(Unchecked(by_name));
    assert_eq!(plain.count(|_| by_name).await.unwrap(), 0);
    let invalid = doc! { "$nor": [{ "$jsonSchema": Patient::json_schema() }] };
    let invalid = Filter::raw(Unchecked(invalid));
    assert_eq!(plain.count(|_| invalid).await.unwrap(), 0);

    encrypting.insert_one(&patient(1)).await.unwrap();
    for (stage, field) in [
        (doc! { "$set": { "ssn": "457-55-0002" } }, "ssn"),
        (
            doc! { "$set": { "address": { "$literal": { "st": "Marktgasse 2" } } } },
            "address.st",
        ),
        (doc! { "$unset": ["name", "age"] }, "age"),
    ] {
        let update = || Update::pipeline([doc! { "$set": { "name": "x" } }, stage.clone()]);
        for error in [
            encrypting.update_by_id(1, |_| update()).await.unwrap_err(),
            encrypting
                .find_one_and_update(|p| p.id().eq(1), |_| update())
                .await
                .unwrap_err(),
            encrypting.bulk().update_by_id(1, |_| update()).await.unwrap_err(),
        ] {
            let text = format!("{error:#}");
            assert!(
                text.contains(&format!("invalid update at `{field}`")) && text.contains("sent as they are"),
                "{text}"
            );
        }
        let error = plain.update_by_id(1, |_| update()).await.unwrap_err();
        assert!(matches!(error, Error::Encode { .. }), "{error:?}");
    }
    let renamed = || doc! { "$set": { "name": "x" } };
    let error = encrypting
        .update_by_id(1, |_| Update::pipeline([renamed()]))
        .await
        .unwrap_err();
    assert!(
        matches!(&error, Error::InvalidUpdate { reason, .. } if reason.contains("encryption::Unchecked")),
        "{error:?}"
    );
    assert_eq!(encrypting.find_by_id(1).required().await.unwrap(), patient(1));
}
