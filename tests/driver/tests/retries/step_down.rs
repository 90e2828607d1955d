//! Prose tests of the specification "Connections Survive Primary Step Down".

use std::sync::{Arc, Mutex, PoisonError};

use marula_driver::{
    Client, Collection,
    bson::{Document, doc},
    event::{EventListener, PoolEvent},
    options::ClientOptions,
};
use marula_driver_tests::{Deployment, replica_set};

struct Fixture {
    deployment: Deployment,
    client: Client,
    pool: Arc<Mutex<Vec<PoolEvent>>>,
}

impl Fixture {
    /// A new replica set with the collection, and a client with retryWrites=false and write concern
    /// majority.
    async fn new() -> Self {
        let deployment = replica_set().await;
        let pool = Arc::<Mutex<Vec<PoolEvent>>>::default();
        let events = Arc::clone(&pool);
        let uri = format!(
            "{}&retryWrites=false&w=majority&heartbeatFrequencyMS=500",
            deployment.server.uri()
        );
        let mut options = ClientOptions::parse(&uri).expect("a connection string");
        options.pool_listener = Some(EventListener::new(move |event: &PoolEvent| {
            events
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(event.clone());
        }));
        let client = Client::with_options(options).expect("a client");
        let database = client.database("step-down");
        let things = database.collection::<Document>("step-down");
        things.drop().await.expect("dropped");
        database.create_collection("step-down").await.expect("created");
        Self {
            deployment,
            client,
            pool,
        }
    }

    fn things(&self) -> Collection<Document> {
        self.client.database("step-down").collection("step-down")
    }

    /// The number of times a pool was cleared.
    fn cleared(&self) -> usize {
        let events = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        let cleared = |event: &&PoolEvent| matches!(event, PoolEvent::PoolCleared { .. });
        events.iter().filter(cleared).count()
    }

    fn connections_created(&self) -> usize {
        let events = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        let created = |event: &&PoolEvent| matches!(event, PoolEvent::ConnectionCreated { .. });
        events.iter().filter(created).count()
    }

    /// Runs an insert that fails with this code, and one that succeeds.
    async fn insert_fails_once(&self, code: i32) {
        let point = doc! {
            "configureFailPoint": "failCommand", "mode": { "times": 1 },
            "data": { "failCommands": ["insert"], "errorCode": code },
        };
        let admin = self.deployment.client.database("admin");
        admin.run_command(point).await.expect("the fail point is set");
        let things = self.things();
        let error = things
            .insert_one(&doc! { "test": 1 })
            .await
            .expect_err("the fail point");
        assert_eq!(error.code(), Some(code), "{error}");
    }
}

#[tokio::test]
async fn connections_survive_step_down_prose_1() {
    let fixture = Fixture::new().await;
    let things = fixture.things();
    let five: Vec<Document> = (0..5).map(|n| doc! { "_id": n }).collect();
    things.insert_many(&five).await.unwrap();
    let mut cursor = things.find(doc! {}).batch_size(2).await.unwrap();
    for n in 0..2 {
        assert_eq!(cursor.try_next().await.unwrap(), Some(doc! { "_id": n }));
    }
    let created = fixture.connections_created();
    let server = &fixture.deployment.server;
    let old = server.primary().unwrap();
    let secondary = server
        .addresses()
        .into_iter()
        .find(|address| *address != old)
        .unwrap();
    let direct = format!("mongodb://{secondary}/?directConnection=true");
    let secondary = Client::connect(direct).await.unwrap();
    let freeze = doc! { "replSetFreeze": 0 };
    secondary.database("admin").run_command(freeze).await.unwrap();
    let step_down = doc! { "replSetStepDown": 30, "force": true };
    let admin = fixture.deployment.client.database("admin");
    admin.run_command(step_down).await.unwrap();
    assert_ne!(server.primary(), Some(old));
    for n in 2..5 {
        assert_eq!(cursor.try_next().await.unwrap(), Some(doc! { "_id": n }));
    }
    assert_eq!(cursor.try_next().await.unwrap(), None);
    assert_eq!(fixture.cleared(), 0);
    assert_eq!(
        fixture.connections_created(),
        created,
        "the batches used the same connection"
    );
}

#[tokio::test]
async fn connections_survive_step_down_prose_2() {
    let fixture = Fixture::new().await;
    fixture.insert_fails_once(10107).await;
    let created = fixture.connections_created();
    fixture.things().insert_one(&doc! { "test": 1 }).await.unwrap();
    assert_eq!(fixture.cleared(), 0);
    assert_eq!(fixture.connections_created(), created);
}

#[tokio::test]
async fn connections_survive_step_down_prose_3() {
    survives_shutdown(91).await;
}

#[tokio::test]
async fn connections_survive_step_down_prose_4() {
    survives_shutdown(11600).await;
}

async fn survives_shutdown(code: i32) {
    let fixture = Fixture::new().await;
    let created = fixture.connections_created();
    fixture.insert_fails_once(code).await;
    assert_eq!(fixture.cleared(), 1);
    let things = fixture.things();
    things
        .insert_one(&doc! { "test": 1 })
        .await
        .expect("the next insert succeeds");
    assert_eq!(fixture.connections_created(), created + 1);
}
