//! The ways by which a value of an encrypted field could be sent as it is: one row each, by a client with and one without
//! automatic encryption, with everything recorded that they send.

use std::pin::Pin;

use super::{Address, Hospital, Old, Patient, Plain, Ssn, WithPatients, patient};
use marula::bson::doc;
use marula::driver::options::ClientOptions;
use marula::encryption::Unchecked;
use marula::expr::lit;
use marula::schema::SyncMode;
use marula::{Client, Database, Expr, Filter, Result, Shape, Update, prelude::*};
use marula_driver_tests::ByteRecorder;

/// The value of every row.
const SECRET: &str = "zq-secret-457-55-5462-WMQ";

/// The result of a call with the value.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    /// The call is an error before the value is sent.
    Refused,
    /// The value is sent, encrypted.
    Encrypted,
}
use Outcome::{Encrypted, Refused};

type Running<'a> = Pin<Box<dyn Future<Output = Result<()>> + 'a>>;

struct Row {
    name: &'static str,
    plain: Outcome,
    encrypting: Outcome,
    run: for<'a> fn(&'a Database) -> Running<'a>,
}

/// A row: its name, the outcomes, and the call.
macro_rules! rows {
    ($($name:literal, $plain:ident, $encrypting:ident: |$db:ident| $call:expr;)*) => {
        [$(Row {
            name: $name,
            plain: $plain,
            encrypting: $encrypting,
            run: |$db| Box::pin(async move { $call.await.map(drop) }),
        }),*]
    };
}

#[derive(Debug, Shape)]
#[expect(dead_code, reason = "only the pipeline is of interest")]
struct Homes {
    home: Option<Address>,
}

fn secret() -> Patient {
    Patient {
        ssn: Ssn(SECRET.to_owned()),
        ..patient(7)
    }
}

fn address() -> Address {
    Address {
        city: "Bern".to_owned(),
        street: SECRET.to_owned(),
    }
}

fn patients(db: &Database) -> marula::Collection<Patient> {
    db.collection::<Patient>()
}

async fn inserted(db: &Database) -> Result<()> {
    let document = secret();
    patients(db).insert_one(&document).await?;
    patients(db).delete_by_id(7).await.map(drop)
}

async fn replaced(db: &Database) -> Result<()> {
    patients(db).replace(&secret()).await.map(drop)
}

async fn saved(db: &Database) -> Result<()> {
    patients(db).save(&secret()).await.map(drop)
}

async fn upserted(db: &Database) -> Result<()> {
    let initial = secret();
    let collection = patients(db);
    let upsert = collection.upsert_with(|p| p.id().eq(7), |p| p.name().set("x"), &initial);
    upsert.await.map(drop)
}

async fn written_in_bulk(db: &Database) -> Result<()> {
    let document = secret();
    patients(db).bulk().replace(&document).await.map(drop)
}

async fn found_by_expression(db: &Database) -> Result<()> {
    let expression = Expr::raw(doc! { "$eq": ["$name", SECRET] });
    patients(db).find(|_| Filter::expr(expression)).await.map(drop)
}

async fn found_after_a_lookup(db: &Database) -> Result<()> {
    let plain = db.collection::<Plain>();
    let joined = plain.aggregate().lookup::<WithPatients>();
    let joined = joined.on(|p| p._id(), |p| p.id());
    joined
        .match_(|w| w.patients().ssn().eq(SECRET))
        .all()
        .await
        .map(drop)
}

async fn found_in_a_lookup(db: &Database) -> Result<()> {
    let plain = db.collection::<Plain>();
    let joined = plain.aggregate().lookup::<WithPatients>();
    let joined = joined.pipeline::<Patient>(|_, patients| patients.match_(|p| p.ssn().eq(SECRET)));
    joined.all().await.map(drop)
}

async fn found_in_a_union(db: &Database) -> Result<()> {
    let plain = db.collection::<Plain>();
    let joined = plain.aggregate().union_with::<Patient>(|patients| {
        let moved = patients.assume::<Old>();
        moved.match_(|o| o.old().ssn().eq(SECRET)).assume::<Plain>()
    });
    joined.all().await.map(drop)
}

async fn raw_stage(db: &Database, is_stated: bool) -> Result<()> {
    let stage = doc! { "$match": { "$expr": { "$eq": [{ "$getField": "ssn" }, SECRET] } } };
    let collection = patients(db);
    let all = collection.aggregate();
    let all = if is_stated {
        all.stage_raw(Unchecked(stage))
    } else {
        all.stage_raw(stage)
    };
    all.all().await.map(drop)
}

#[tokio::test]
async fn no_value_is_sent_as_it_is() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    let schema = hospital.schema().register::<Patient>();
    schema.clone().sync(SyncMode::Additive).await.unwrap();
    let primary = hospital.server.primary().expect("a primary");
    let rows = rows![
        "stored: insert", Refused, Encrypted: |db| inserted(db);
        "stored: replace", Refused, Encrypted: |db| replaced(db);
        "stored: save", Refused, Encrypted: |db| saved(db);
        "stored: upsert", Refused, Encrypted: |db| upserted(db);
        "stored: bulk", Refused, Encrypted: |db| written_in_bulk(db);
        "stored: set", Refused, Encrypted: |db| patients(db).update_by_id(7, |p| p.ssn().set(SECRET));
        "stored: set around", Refused, Encrypted: |db| patients(db).update_by_id(7, |p| p.address().set(address()));
        "stored: raw update", Refused, Encrypted:
            |db| patients(db).update_by_id(7, |_| Update::raw(doc! { "$set": { "ssn": SECRET } }));
        "stored: stages of an update", Refused, Refused:
            |db| patients(db).update_by_id(7, |_| Update::pipeline([Unchecked(doc! { "$set": { "ssn": SECRET } })]));
        "sent: condition", Refused, Encrypted: |db| patients(db).find(|p| p.ssn().eq(SECRET)).all();
        "sent: negated condition", Refused, Encrypted: |db| patients(db).count(|p| !p.ssn().eq(SECRET));
        "sent: condition of a pipeline", Refused, Encrypted:
            |db| patients(db).aggregate().limit(5).match_(|p| p.ssn().eq(SECRET)).all();
        "sent: condition on changed documents", Refused, Refused:
            |db| patients(db).aggregate().project(|p| HomesExpr { home: marula::expr::expr(p.address()) })
                .match_(|h| h.home().eq(address())).all();
        "sent: condition on a stated type", Refused, Refused:
            |db| db.collection::<Plain>().aggregate().assume::<Patient>().match_(|p| p.ssn().eq(SECRET)).all();
        "sent: condition after a lookup", Refused, Refused: |db| found_after_a_lookup(db);
        "sent: condition in a lookup", Refused, Encrypted: |db| found_in_a_lookup(db);
        "sent: condition on a stated type in a union", Refused, Refused: |db| found_in_a_union(db);
        "sent: comparison around the field", Refused, Refused: |db| patients(db).find(|p| p.address().eq(address())).all();
        "sent: scope", Refused, Refused: |db| patients(db).scoped(|p| p.address().eq(address())).find_all().all();
        "sent: literal", Refused, Refused:
            |db| patients(db).aggregate().project(|_| HomesExpr { home: lit(address()) }).all();
        "sent: raw expression", Refused, Refused: |db| found_by_expression(db);
        "sent: raw filter", Refused, Refused: |db| patients(db).find(|_| Filter::raw(doc! { "ssn": SECRET })).all();
        "sent: stated raw filter", Refused, Encrypted:
            |db| patients(db).find(|_| Filter::raw(Unchecked(doc! { "ssn": SECRET }))).all();
        "sent: raw stage", Refused, Refused: |db| raw_stage(db, false);
        "sent: filter of events", Refused, Refused: |db| patients(db).watch().filter(|p| p.ssn().eq(SECRET));
        "sent: raw stage of events", Refused, Refused:
            |db| patients(db).watch().raw_pipeline([doc! { "$match": { "fullDocument.ssn": SECRET } }]);
    ];
    for row in &rows {
        for (is_encrypting, expected) in [(false, row.plain), (true, row.encrypting)] {
            let wire = ByteRecorder::start(primary).await;
            let uri = format!(
                "mongodb://{}/?directConnection=true&serverMonitoringMode=poll",
                wire.address()
            );
            let options = ClientOptions::parse(&uri).expect("a connection string");
            let client = if is_encrypting {
                let encryption = schema
                    .clone()
                    .encrypted_fields_map(hospital.options())
                    .await
                    .unwrap();
                Client::with_auto_encryption(options, encryption).expect("a client")
            } else {
                Client::with_options(options).expect("a client")
            };
            let result = (row.run)(&client.database("hospital")).await;
            let name = row.name;
            match expected {
                Refused => {
                    let error = result.expect_err(name);
                    assert!(error.driver().is_none(), "{name}: {error:?}");
                }
                Encrypted => result.unwrap_or_else(|error| panic!("{name}: {error:?}")),
            }
            let sent = wire.recorded();
            let is_visible = sent
                .iter()
                .any(|bytes| bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes()));
            assert!(!is_visible, "{name}, encrypting: {is_encrypting}");
        }
    }
    // A value in a raw stage of a client without automatic encryption is stated by the application.
    raw_stage(&hospital.db(), true).await.unwrap();
}
