//! Conditions by the operators of encrypted fields, of which the encrypting client does not know one.

use std::collections::HashMap;

use super::{Address, Hospital, Old, OldFacets, Patient, Plain, WithPatients, patient};
use marula::aggregate::{GeoNear, VectorSearch};
use marula::bson::{Document as BsonDocument, doc};
use marula::encryption::Unchecked;
use marula::geo::Point;
use marula::{Document, Embedded, Error, Field, Filter, Path, Pipeline, Shape, prelude::*};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Wallet {
    #[document(encrypted(equality))]
    ssn: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "members")]
struct Member {
    _id: i64,
    #[document(encrypted(equality))]
    card: String,
    wallet: Wallet,
    #[serde(default)]
    meaning: Vec<f64>,
}

/// Patients with the members that a stage adds whose model the pipeline does not know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Shape)]
struct Both {
    patient: Patient,
    members: Vec<Member>,
}

fn is_unknown<T: std::fmt::Debug>(result: Result<T, Error>, place: &str) {
    let error = result.expect_err("a condition on a field that the client does not know");
    assert!(
        matches!(&error, Error::InvalidFilter { path, reason } if path == place && reason.contains("sent as it is")),
        "{error:?}"
    );
}

#[tokio::test]
async fn every_condition_of_a_filter_is_on_a_known_field() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    let db = hospital.with::<Patient>().await;
    let patients = db.collection::<Patient>();
    patients.insert_many((1..=2).map(patient)).await.unwrap();
    let both = || {
        let lookup = doc! { "from": "members", "localField": "_id", "foreignField": "_id", "as": "members" };
        patients
            .aggregate()
            .stage_raw(Unchecked(doc! { "$lookup": lookup }))
            .stage_raw(Unchecked(
                doc! { "$project": { "patient": "$$ROOT", "members": 1 } },
            ))
            .assume::<Both>()
    };
    let b = || Both::nav::<Both, marula::path::Read>(Path::root());
    let known = || b().patient().ssn().eq("457-55-0001");
    let card = || b().members().card().eq("4929");
    for (filter, place) in [
        (known() & card(), "patient.ssn"),
        (card() & known(), "members.card"),
        (known() | card(), "patient.ssn"),
        (!(b().patient().name().eq("x") | !card()), "members.card"),
        (
            b().members()
                .elem_match(|m| m._id().eq(1) & (m.card().exists() | m.card().ne("1"))),
            "members.card",
        ),
        (Filter::all([b().patient().age().gt(1), card()]), "patient.age"),
        (Filter::any([card(), b().patient().age().gt(1)]), "members.card"),
        (card().and(known()).or(b().patient().age().gt(1)), "members.card"),
        (b().members().wallet().ssn().eq("1"), "members.wallet.ssn"),
    ] {
        is_unknown(both().match_(|_| filter).all().await, place);
    }
    is_unknown(both().limit(1).match_(|_| card()).explain(), "members.card");
    // The same path, after a stage that replaces the documents.
    let replaced = patients
        .aggregate()
        .match_(|p| p.ssn().eq("457-55-0001"))
        .stage_raw(Unchecked(
            doc! { "$replaceWith": { "ssn": "$name", "name": "$name" } },
        ))
        .assume::<Patient>();
    is_unknown(replaced.match_(|p| p.ssn().eq("1")).all().await, "ssn");

    // Values that a stage replaces or removes, though the documents had encrypted ones.
    for stage in [
        vec![doc! { "$unset": "ssn" }, doc! { "$set": { "ssn": "$name" } }],
        vec![doc! { "$project": { "ssn": 0 } }],
        vec![doc! { "$set": { "ssn": { "$ifNull": ["$ssn", "$name"] } } }],
    ] {
        let stages = stage.into_iter().map(Unchecked);
        let changed = stages.fold(patients.aggregate(), Pipeline::stage_raw);
        is_unknown(changed.match_(|p| p.ssn().eq("1")).all().await, "ssn");
    }
    // A condition of another filter on a known field says nothing of this one.
    let raw = patients
        .aggregate()
        .assume::<BsonDocument>()
        .match_(|_| Filter::raw(Unchecked(doc! { "ssn": "457-55-0001" })))
        .stage_raw(Unchecked(doc! { "$replaceWith": { "ssn": "$name" } }))
        .assume::<Patient>();
    is_unknown(raw.match_(|p| p.ssn().eq("1")).all().await, "ssn");

    // Conditions on fields that are known are encrypted.
    let found = patients
        .aggregate()
        .match_(|p| p.ssn().eq("457-55-0001") | p.age().gt(60))
        .match_(|p| p.ssn().ne("1") & p.name().exists())
        .all()
        .await
        .unwrap();
    assert_eq!(found, [patient(1)]);
    // `Filter::everything` is an alternative that leaves no condition.
    let all = patients
        .aggregate()
        .match_(|p| Filter::everything() | p.ssn().eq("1"));
    assert_eq!(all.all().await.unwrap().len(), 2);
    // Also if another document has a plain field of this name.
    let all = patients
        .aggregate()
        .match_(|p| Filter::everything() | p.ssn().eq("1"))
        .stage_raw(Unchecked(doc! { "$replaceWith": { "ssn": "$name" } }))
        .assume::<BsonDocument>()
        .match_(|_| Filter::raw(Unchecked(doc! { "ssn": "patient 1" })));
    all.all().await.unwrap();
}

#[derive(Debug, Shape)]
#[expect(dead_code, reason = "only the pipeline is of interest")]
struct Near {
    #[document(flatten)]
    member: Member,
    metres: f64,
}

/// The filters of stages and of pipelines in stages, of documents whose model the pipeline does not know.
#[tokio::test]
async fn the_filters_of_all_stages_are_checked() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    let db = hospital.with::<Patient>().await;
    let (patients, plain) = (db.collection::<Patient>(), db.collection::<Plain>());
    let members = || patients.aggregate().assume::<Member>();

    let facets = patients.aggregate().facet(|all| OldFacets {
        old: all()
            .assume::<Member>()
            .match_(|m| m.card().eq("4929"))
            .assume::<Patient>(),
    });
    is_unknown(facets.all().await, "card");
    let inner = plain.aggregate().lookup::<WithPatients>();
    let inner = inner.pipeline::<Patient>(|_, patients| {
        let members = patients.assume::<Member>();
        members.match_(|m| m.card().eq("4929")).assume::<Patient>()
    });
    is_unknown(inner.all().await, "card");
    let union = plain.aggregate().union_with::<Patient>(|patients| {
        let members = patients.assume::<Member>();
        members.match_(|m| m.card().ne("4929")).assume::<Plain>()
    });
    is_unknown(union.all().await, "card");
    let near = GeoNear::<Member>::new(Point::new([8.54, 47.37])).filter(|m| m.card().eq("4929"));
    is_unknown(
        members()
            .geo_near(near, |metres| NearAdded { metres })
            .all()
            .await,
        "card",
    );
    let search = VectorSearch::<Member>::new("by_meaning", |m| m.meaning(), [0.5, 0.25], 10)
        .exact()
        .filter(|m| m.wallet().ssn().eq("1"));
    is_unknown(members().vector_search(search).all().await, "wallet.ssn");
    let chains = plain.aggregate().graph_lookup::<WithPatients>();
    let chains = chains
        .restrict(|p| p.ssn().eq("457-55-0001"))
        .on(|p| p._id(), |p| p.id(), |p| p.id());
    assert!(chains.all().await.unwrap().is_empty());
    // A lookup in BSON that reads the own collection again.
    let lookup = doc! { "from": "patients", "localField": "_id", "foreignField": "_id", "as": "old" };
    let again = |lookup| patients.aggregate().stage_raw(lookup).assume::<Old>();
    is_unknown(
        again(Unchecked(doc! { "$lookup": lookup }))
            .match_(|o| o.old().ssn().eq("457-55-0001"))
            .all()
            .await,
        "old.ssn",
    );
}

/// Addresses by the names of their fields, and a field that is none.
#[derive(Debug, Serialize, Deserialize, Shape)]
struct Addresses {
    name: String,
    #[serde(flatten)]
    by_name: HashMap<String, Address>,
}

#[tokio::test]
async fn only_documents_are_compared_with_the_values_of_a_flattened_map() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    let plain = hospital.with::<Patient>().await.collection::<Plain>();
    let all = || plain.aggregate().assume::<Addresses>();
    assert!(
        all()
            .match_(|a| a.name().eq("x") | a.name().is_in(["y"]))
            .all()
            .await
            .unwrap()
            .is_empty()
    );
    let home = || doc! { "home": { "$in": [{ "city": "Bern", "st": "Marktgasse 1" }] } };
    let error = all()
        .match_(|a| a.name().eq("x") & Filter::raw(home()))
        .all()
        .await
        .unwrap_err();
    assert!(error.to_string().contains("encryption::Unchecked"), "{error}");
    let stated = all().match_(|_| Filter::raw(Unchecked(home())));
    assert!(stated.all().await.unwrap().is_empty());
}
