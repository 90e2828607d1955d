//! Comparisons of documents that contain encrypted fields, in pipelines of a client with automatic encryption.

use super::{Address, Hospital, OldFacets, Patient, Plain, WithPatients, patient};
use marula::expr::expr;
use marula::{Collection, Error, Shape, prelude::*};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize, Shape)]
struct Moved {
    home: Option<Address>,
}

fn address() -> Address {
    Address {
        city: "Bern".to_owned(),
        street: "Marktgasse 1".to_owned(),
    }
}

fn is_rejected<T: std::fmt::Debug>(result: Result<T, Error>, field: &str) {
    let error = result.expect_err("the comparison of a document with an encrypted field");
    assert!(
        matches!(&error, Error::InvalidFilter { path, reason } if path == field && reason.contains("cannot be compared")),
        "{error:?}"
    );
}

async fn collections(hospital: &Hospital) -> (Collection<Patient>, Collection<Plain>) {
    let db = hospital.with::<Patient>().await;
    let patients = db.collection::<Patient>();
    let inserted = patients.insert_many((1..=3).map(patient)).await;
    inserted.expect("inserts");
    (patients, db.collection())
}

#[tokio::test]
async fn documents_with_encrypted_fields_are_not_compared_in_pipelines_over_their_own_collection() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    let (patients, plain) = collections(&hospital).await;
    let all = || patients.aggregate();
    is_rejected(
        all().match_(|p| p.address().eq(address())).all().await,
        "address.st",
    );
    is_rejected(
        all().match_(|p| !p.address().eq(address())).explain(),
        "address.st",
    );
    is_rejected(
        all()
            .limit(2)
            .match_(|p| p.id().eq(1) | p.address().is_in([address()]))
            .all()
            .await,
        "address.st",
    );
    let moved = || {
        all().project(|p| MovedExpr {
            home: expr(p.address()),
        })
    };
    is_rejected(moved().match_(|m| m.home().eq(address())).all().await, "home.st");
    let old = all().facet(|all| OldFacets {
        old: all().match_(|p| p.address().ne(address())),
    });
    is_rejected(old.all().await, "address.st");

    let joined = || plain.aggregate().lookup::<WithPatients>();
    let by_id = || joined().on(|p| p._id(), |p| p.id());
    is_rejected(
        by_id()
            .match_(|w| w.patients().elem_match(|p| p.address().eq(address())))
            .all()
            .await,
        "patients.address.st",
    );
    let inner = joined().pipeline::<Patient>(|_, patients| patients.match_(|p| p.address().eq(address())));
    is_rejected(inner.all().await, "address.st");
    let chains = plain.aggregate().graph_lookup::<WithPatients>();
    let chains = chains
        .restrict(|p| p.address().eq(address()))
        .on(|p| p._id(), |p| p.id(), |p| p.id());
    is_rejected(chains.all().await, "address.st");
    let union = plain
        .aggregate()
        .union_with::<Patient>(|p| p.match_(|p| p.address().eq(address())).assume::<Plain>());
    is_rejected(union.all().await, "address.st");

    // Conditions on the other fields, on the presence of the document and on encrypted fields.
    let found = all().match_(|p| p.address().exists() & p.address().city().eq("Bern"));
    assert_eq!(found.all().await.unwrap().len(), 2);
    let found = all().match_(|p| p.ssn().eq("457-55-0001") & p.address().street().exists());
    assert_eq!(found.all().await.unwrap(), [patient(1)]);
    let found = by_id().match_(|w| w.patients().elem_match(|p| p.name().eq("x")));
    assert!(found.all().await.unwrap().is_empty());
}
