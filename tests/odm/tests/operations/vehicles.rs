//! A collection of the documents of an enum.

use crate::common::Env;
use marula::bson::{Document as Doc, doc};
use marula::managed::BoxedError;
use marula::prelude::*;
use marula::schema::SyncMode;
use marula::{Document, Error, Hooks, Model, Ref};
use uuid::Uuid;

#[derive(Clone, Debug, PartialEq, Document)]
#[serde(tag = "kind", rename_all = "lowercase", rename_all_fields = "camelCase")]
#[document(
    collection = "vehicles",
    index(car.plate, unique, partial(car.plate > "")),
    index(truck.max_load, -id),
    json_schema,
    validate = Vehicle::check,
    hooks,
    schema_version(2, upgrade = upgrade)
)]
enum Vehicle {
    Car {
        #[serde(rename = "_id")]
        id: Option<Uuid>,
        plate: String,
        doors: i64,
    },
    Truck {
        #[serde(rename = "_id")]
        id: Option<Uuid>,
        max_load: i64,
        doors: i64,
    },
}

impl Vehicle {
    fn check(&self) -> Result<(), &'static str> {
        match self {
            Vehicle::Truck { max_load: 0, .. } => Err("a truck loads something"),
            _ => Ok(()),
        }
    }
}

impl Hooks for Vehicle {
    fn before_insert(&mut self) -> Result<(), BoxedError> {
        if let Vehicle::Car { plate, .. } = self {
            *plate = plate.to_uppercase();
        }
        Ok(())
    }
}

fn upgrade(_from: u32, document: &mut Doc) -> Result<(), &'static str> {
    document.entry("doors".to_owned()).or_insert_with(|| 4_i64.into());
    Ok(())
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "trips")]
struct Trip {
    _id: i64,
    vehicle: Ref<Vehicle>,
}

fn car(plate: &str) -> Vehicle {
    Vehicle::Car {
        id: Vehicle::new_id(),
        plate: plate.to_owned(),
        doors: 5,
    }
}

fn truck(max_load: i64) -> Vehicle {
    Vehicle::Truck {
        id: None,
        max_load,
        doors: 2,
    }
}

#[tokio::test]
async fn documents_of_all_variants_are_in_one_collection() {
    let env = Env::start().await;
    let plan = || env.db.schema().register::<Vehicle>();
    plan().sync(SyncMode::Full).await.expect("a schema");
    assert!(plan().plan().await.expect("a plan").is_empty());
    let vehicles = env.db.collection::<Vehicle>();
    let one = car("ab 1");
    vehicles.insert_one(&one).await.expect("an insert");
    let mut two = truck(7);
    vehicles.save(&mut two).await.expect("a save");
    let id = two.id().expect("the new id");
    vehicles.insert_many(&[truck(9)]).await.expect("an insert");

    let found = vehicles
        .find_by_id(*one.id())
        .required()
        .await
        .expect("a document");
    assert!(
        matches!(&found, Vehicle::Car { plate, .. } if plate == "AB 1"),
        "{found:?}"
    );
    assert_eq!(vehicles.find(|v| v.is_car()).await.expect("documents"), [found]);
    let heavy = vehicles
        .find(|v| v.truck().max_load().gt(5))
        .sort(|v| v.truck().max_load().asc());
    let heavy = heavy.await.expect("documents");
    assert_eq!((heavy.len(), &heavy[0]), (2, &two));
    // The other variant has a field of the same name.
    let cars = vehicles.find(|v| v.car().doors().lt(5)).await.expect("documents");
    assert_eq!(cars, []);

    let other = vehicles.update_by_id(id, |v| v.car().doors().set(3));
    assert_eq!(other.await.expect("an update").matched_count, 0);
    let update = vehicles.update_by_id(id, |v| v.truck().doors().set(3));
    assert_eq!(update.await.expect("an update").modified_count, 1);
    let changed = vehicles.find_one(|v| v.id().eq(id)).await.expect("a reply");
    assert!(matches!(changed, Some(Vehicle::Truck { doors: 3, .. })));

    let invalid = vehicles.insert_one(&truck(0)).await.unwrap_err();
    assert!(matches!(invalid, Error::Validation { .. }), "{invalid}");
    let twice = vehicles.insert_one(&car("AB 1")).await.unwrap_err();
    assert!(matches!(twice, Error::Duplicate { .. }), "{twice}");
    let raw = vehicles.driver().clone_with_type::<Doc>();
    let rejected = raw.insert_one(&doc! { "kind": "ship" }).await;
    assert!(rejected.is_err(), "the validator");

    let trip = Trip {
        _id: 1,
        vehicle: Ref::to(&two),
    };
    let loaded = vehicles.load([&trip.vehicle]).await.expect("documents");
    assert!(loaded.contains_key(trip.vehicle.id()));
    env.stop().await;
}

#[tokio::test]
async fn older_documents_are_upgraded() {
    let env = Env::start().await;
    let vehicles = env.db.collection::<Vehicle>();
    let raw = vehicles.driver().clone_with_type::<Doc>();
    let old = doc! { "_id": marula::bson::Uuid::new(), "kind": "car", "plate": "x", "schema_version": 1 };
    raw.insert_one(&old).await.expect("an insert");
    let found = vehicles.find_all().one().await.expect("a document");
    assert!(matches!(found, Vehicle::Car { doors: 4, .. }), "{found:?}");
    env.stop().await;
}
