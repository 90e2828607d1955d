//! Pipelines over encrypted fields: filters after stages that change the documents, and collections that they join.

use super::unknown::not_encrypted;
use super::{Address, Hospital, OldFacets, Patient, Plain, WithPatients, patient};
use marula::aggregate::Merge;
use marula::bson::doc;
use marula::expr::{eq, expr};
use marula::schema::SyncMode;
use marula::{Document, Error, Pipeline, Projection, Shape, prelude::*};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize, Projection)]
#[document(of = Patient)]
struct Aged {
    age: i32,
}

#[derive(Debug, Serialize, Deserialize, Document)]
#[document(collection = "lodgers")]
struct Lodger {
    _id: i64,
    address: Address,
}

#[derive(Debug, Serialize, Deserialize, Shape)]
struct Moved {
    home: Address,
}

fn is_unencrypted<T: std::fmt::Debug>(result: Result<T, Error>, field: &str) {
    match result.expect_err("a filter on an encrypted field") {
        Error::Encode { path, .. } if path == field => {}
        error => panic!("{error:?}"),
    }
}

/// A field of a projection has a plain type, and another name.
#[derive(Debug, Projection)]
#[document(of = Patient)]
struct Renamed {
    #[document(path = age)]
    #[expect(dead_code, reason = "the pipeline is refused")]
    years: i32,
}

#[derive(Debug, Shape)]
struct AgedFacets {
    #[expect(dead_code, reason = "the pipeline is refused")]
    aged: Vec<Aged>,
}

#[derive(Debug, Shape)]
struct Years {
    #[expect(dead_code, reason = "the pipeline is refused")]
    years: i32,
}

/// The types after a projection do not show where its values are.
#[tokio::test]
async fn filters_after_copies_of_projected_fields_are_checked() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    let patients = hospital.db().collection::<Patient>();
    let is_refused = |error: Error| assert!(matches!(error, Error::Encode { .. }), "{error:?}");
    let aged = || patients.aggregate().select::<Aged>();
    is_refused(
        aged()
            .count_by(|a| a.age())
            .match_(|c| c.key().eq(21))
            .all()
            .await
            .unwrap_err(),
    );
    is_refused(aged().match_expr(|a| eq(a.age(), 21)).all().await.unwrap_err());
    let years = aged().project(|a| YearsExpr { years: expr(a.age()) });
    is_refused(years.match_(|y| y.years().eq(21)).all().await.unwrap_err());
    let facets = aged().facet(|all| AgedFacetsFacets {
        aged: all().match_(|a| a.age().eq(21)),
    });
    is_refused(facets.all().await.unwrap_err());
    let renamed = patients.aggregate().select::<Renamed>();
    is_refused(renamed.match_(|r| r.years().eq(21)).all().await.unwrap_err());
    // Without a condition nothing is sent that could be a value.
    assert!(aged().count_by(|a| a.age()).all().await.unwrap().is_empty());
}

#[tokio::test]
async fn filters_after_stages_that_change_the_documents_are_checked() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    let db = hospital.db();
    let patients = db.collection::<Patient>();
    let (plain, lodgers) = (db.collection::<Plain>(), db.collection::<Lodger>());
    let aged = patients.aggregate().select::<Aged>();
    is_unencrypted(aged.match_(|a| a.age().eq(21)).all().await, "age");
    let addresses = lodgers.aggregate().replace_with(|l| l.address());
    is_unencrypted(addresses.match_(|a| a.street().exists()).all().await, "st");
    let moved = || {
        lodgers.aggregate().project(|l| MovedExpr {
            home: expr(l.address()),
        })
    };
    let address = Address {
        city: "Bern".to_owned(),
        street: "Marktgasse 1".to_owned(),
    };
    is_unencrypted(moved().match_(|m| m.home().eq(&address)).all().await, "home.st");
    is_unencrypted(
        moved().match_(|m| m.home().street().is_missing()).explain(),
        "home.st",
    );
    assert!(
        moved()
            .match_(|m| m.home().city().eq("Bern"))
            .all()
            .await
            .unwrap()
            .is_empty()
    );

    let joined = || {
        plain
            .aggregate()
            .lookup::<WithPatients>()
            .on(|p| p._id(), |p| p.id())
    };
    is_unencrypted(
        joined().match_(|w| w.patients().ssn().eq("1")).all().await,
        "patients.ssn",
    );
    is_unencrypted(
        joined()
            .match_(|w| w.patients().elem_match(|p| p.name().eq("x") & p.age().gt(1)))
            .all()
            .await,
        "patients.age",
    );
    is_unencrypted(
        joined()
            .unwind(|w| w.patients())
            .match_(|_, p| !p.age().lt(1))
            .assume::<Plain>()
            .all()
            .await,
        "patients.age",
    );
    let by_name = joined().match_(|w| w.patients().name().eq("x") & w.patients().size(1));
    assert!(by_name.all().await.unwrap().is_empty());
    let inner = plain.aggregate().lookup::<WithPatients>();
    let inner = inner.pipeline::<Patient>(|_, patients| patients.match_(|p| p.age().between(1, 5)));
    is_unencrypted(inner.all().await, "age");
    let chains = plain.aggregate().graph_lookup::<WithPatients>();
    let chains = chains
        .restrict(|p| p.ssn().ne("1"))
        .on(|p| p._id(), |p| p.id(), |p| p.id());
    is_unencrypted(chains.all().await, "ssn");
    let facets = patients.aggregate().facet(|all| OldFacets {
        old: all().match_(|p| p.age().gt(60)),
    });
    is_unencrypted(facets.all().await, "age");
    // The type of the documents is not that of a model with encrypted fields.
    let assumed = plain.aggregate().assume::<Patient>();
    is_unencrypted(assumed.match_(|p| p.ssn().eq("1")).all().await, "ssn");

    for error in [
        patients.aggregate().out_to("copies").execute().await.unwrap_err(),
        patients
            .aggregate()
            .merge_into(Merge::new())
            .execute()
            .await
            .unwrap_err(),
    ] {
        assert!(
            matches!(&error, Error::InvalidPipeline { path, .. } if path == "ssn"),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn the_collections_that_a_pipeline_joins_are_known_as_encrypted() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    let db = hospital.with::<Patient>().await;
    let (plain, patients) = (db.collection::<Plain>(), db.collection::<Patient>());
    plain.insert_one(&Plain { _id: 1 }).await.unwrap();
    patients.insert_many((1..=2).map(patient)).await.unwrap();
    let joined = plain.aggregate().lookup::<WithPatients>();
    let joined = joined.on(|p| p._id(), |p| p.id()).all().await.unwrap();
    assert_eq!(joined[0].patients, [patient(1)]);
    let inner = plain.aggregate().lookup::<WithPatients>();
    let inner = inner.pipeline::<Patient>(|_, patients| patients.match_(|p| p.ssn().eq("457-55-0002")));
    assert_eq!(inner.all().await.unwrap()[0].patients, [patient(2)]);

    let acme = db.client().database("acme");
    let plain = acme.collection::<Plain>();
    plain.insert_one(&Plain { _id: 1 }).await.unwrap();
    let joined = || plain.aggregate().lookup::<WithPatients>();
    let union = plain.aggregate().union_with::<Patient>(Pipeline::assume::<Plain>);
    let chains = plain.aggregate().graph_lookup::<WithPatients>();
    for (error, collection) in [
        (
            joined().on(|p| p._id(), |p| p.id()).all().await.unwrap_err(),
            "acme.patients",
        ),
        (
            joined()
                .from("old")
                .on(|p| p._id(), |p| p.id())
                .all()
                .await
                .unwrap_err(),
            "acme.old",
        ),
        (union.all().await.unwrap_err(), "acme.patients"),
        (
            chains
                .from("old")
                .on(|p| p._id(), |p| p.id(), |p| p.id())
                .all()
                .await
                .unwrap_err(),
            "acme.old",
        ),
    ] {
        let (namespace, fields) = not_encrypted(&error);
        assert_eq!(namespace, collection);
        assert!(fields.contains(&"ssn".to_owned()), "{fields:?}");
    }
    // No model that is read has encrypted fields.
    let assumed = plain.aggregate().assume::<Patient>().match_(|p| p.ssn().eq("1"));
    let error = assumed.all().await.unwrap_err();
    assert!(
        matches!(&error, Error::InvalidFilter { path, .. } if path == "ssn"),
        "{error:?}"
    );
    let _ = Pipeline::<Patient>::new();
}

#[tokio::test]
async fn values_outside_of_the_range_of_a_field_are_errors_that_name_it() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    let patients = hospital.with::<Patient>().await.collection::<Patient>();
    let first = patient(1);
    patients.insert_one(&first).await.unwrap();
    let old = Patient {
        age: 201,
        ..patient(2)
    };
    let mut saved = old.clone();
    let reason = "model `Patient` declares the values of this encrypted field from 0 to 200";
    for error in [
        patients.insert_one(&old).await.unwrap_err(),
        patients.insert_many([&first, &old]).await.unwrap_err(),
        patients.save(&mut saved).await.unwrap_err(),
        patients.replace_one(|p| p.id().eq(1), &old).await.unwrap_err(),
        patients.bulk().insert(&old).await.unwrap_err(),
    ] {
        let text = format!("{error:#}");
        assert!(
            text.contains("`age`") && text.contains(reason) && !text.contains("201"),
            "{text}"
        );
    }
    for error in [
        patients.find(|p| p.age().gt(201)).all().await.unwrap_err(),
        patients
            .count(|p| p.id().gt(0) & !p.age().is_in([5, -1]))
            .await
            .unwrap_err(),
        patients.delete_one(|p| p.age().between(-7, 5)).await.unwrap_err(),
    ] {
        assert!(
            matches!(&error, Error::InvalidFilter { path, reason: found } if path == "age" && found.contains(reason)),
            "{error:?}"
        );
    }
    for error in [
        patients.update_by_id(1, |p| p.age().set(-1)).await.unwrap_err(),
        patients
            .find_one_and_update(|p| p.id().eq(1), |p| p.age().set(201))
            .await
            .unwrap_err(),
    ] {
        assert!(
            matches!(&error, Error::InvalidUpdate { path, reason: found } if path == "age" && found.contains(reason)),
            "{error:?}"
        );
    }
    // The bounds themselves are values.
    patients
        .update_by_id(1, |p| p.age().set(200))
        .required()
        .await
        .unwrap();
    assert_eq!(patients.count(|p| p.age().between(0, 200)).await.unwrap(), 1);
    // What libmongocrypt says of values that are not checked before.
    let raw = patients.driver().clone_with_type::<marula::bson::Document>();
    raw.find(doc! { "age": { "$gt": 201 } })
        .await
        .expect_err("a bound outside of the range");
    raw.find(doc! { "age": { "$gte": -1 } })
        .await
        .expect_err("a bound outside of the range");
    let update = raw.update_one(doc! { "_id": 1 }, doc! { "$set": { "age": 201 } });
    let error = update.await.expect_err("a value outside of the range");
    assert!(
        error.to_string().contains("`update` on hospital.patients"),
        "{error}"
    );
}

#[tokio::test]
async fn a_collection_that_is_created_again_has_the_same_keys() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    let schema = hospital.schema().register::<Patient>();
    schema.clone().sync(SyncMode::Additive).await.unwrap();
    let running = hospital.encrypted(schema.clone()).await.collection::<Patient>();
    running.insert_one(&patient(1)).await.unwrap();
    let keys = hospital.keys().await;
    let dropped = hospital.encrypted(schema.clone()).await;
    let dropped = dropped.driver().collection::<marula::bson::Document>("patients");
    dropped.drop().await.unwrap();
    schema.clone().sync(SyncMode::Additive).await.unwrap();
    assert_eq!(hospital.keys().await, keys);
    running.insert_one(&patient(2)).await.unwrap();
    let others = hospital.encrypted(schema).await.collection::<Patient>();
    assert_eq!(others.find(|p| p.age().gt(20)).await.unwrap(), [patient(2)]);
    let stored = hospital.stored(2).await;
    assert!(super::is_encrypted(stored.get("ssn")), "{stored}");
}
