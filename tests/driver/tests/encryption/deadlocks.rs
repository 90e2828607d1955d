//! Prose test 9: the reads of schemas and keys do not wait for the connection of the operation.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use marula_driver::{
    Client,
    bson::{Document, doc},
    encryption::{AutoEncryptionOptions, EncryptionAlgorithm},
    event::{EventListener, SdamEvent},
};

use super::{
    automatic::{Automatic, Sent, listening, local, take},
    support::NAMESPACE,
};

/// The options of a client, and what is expected.
struct Case {
    number: usize,
    max_pool_size: u32,
    bypasses: bool,
    has_key_vault_client: bool,
    /// The commands of the client, and of the clients that it creates, with their databases.
    sent: &'static [&'static str],
    clients: usize,
}

const fn case(
    number: usize,
    (max_pool_size, bypasses, has_key_vault_client): (u32, bool, bool),
    sent: &'static [&'static str],
    clients: usize,
) -> Case {
    Case {
        number,
        max_pool_size,
        bypasses,
        has_key_vault_client,
        sent,
        clients,
    }
}

const LIST: &str = "listCollections hospital";
const KEYS: &str = "find encryption";
const INSERT: &str = "insert hospital";
const FIND: &str = "find hospital";

/// The table of the specification, except for case 5: this driver does not encrypt the commands on the key vault, so the schema of
/// the key vault is not read.
const CASES: [Case; 8] = [
    case(1, (1, false, false), &[LIST, KEYS, INSERT, FIND], 2),
    case(2, (1, false, true), &[LIST, INSERT, FIND], 2),
    case(3, (1, true, false), &[FIND, KEYS], 2),
    case(4, (1, true, true), &[FIND], 1),
    case(5, (0, false, false), &[LIST, KEYS, INSERT, FIND], 1),
    case(6, (0, false, true), &[LIST, INSERT, FIND], 1),
    case(7, (0, true, false), &[FIND, KEYS], 1),
    case(8, (0, true, true), &[FIND], 1),
];

fn names(sent: &Sent) -> Vec<String> {
    let named = |(name, command): (String, Document)| {
        format!("{name} {}", command.get_str("$db").unwrap_or_default())
    };
    take(sent).into_iter().map(named).collect()
}

pub(crate) async fn client_side_encryption_prose_9_a_pool_of_one_connection_suffices() {
    let automatic = Automatic::new().await;
    let encryption = automatic.setup.encryption();
    let encrypted = encryption
        .encrypt("string0", automatic.key, EncryptionAlgorithm::Deterministic)
        .await
        .expect("a value");
    let database = automatic.setup.client().database("hospital");
    for case in CASES {
        automatic.stored().drop().await.expect("a drop");
        let validator = doc! { "$jsonSchema": automatic.schema() };
        database
            .create_collection("patients")
            .validator(validator)
            .await
            .expect("a collection");
        let (key_vault_options, key_vault_sent) = listening(automatic.options("maxPoolSize=1"));
        let (mut options, sent) =
            listening(automatic.options(&format!("maxPoolSize={}", case.max_pool_size)));
        let clients = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&clients);
        options.sdam_listener = Some(EventListener::new(move |event: &SdamEvent| {
            if matches!(event, SdamEvent::TopologyOpening { .. }) {
                counted.fetch_add(1, Ordering::Relaxed);
            }
        }));
        let mut encryption = AutoEncryptionOptions::new(NAMESPACE, local())
            .bypass_auto_encryption(case.bypasses)
            .extra_options(automatic.analysis.extra_options());
        if case.has_key_vault_client {
            encryption =
                encryption.key_vault_client(Client::with_options(key_vault_options).expect("a client"));
        }
        let client = Client::with_auto_encryption(options, encryption).expect("a client");
        let patients = client.database("hospital").collection::<Document>("patients");
        if case.bypasses {
            let document = doc! { "_id": 0, "ssn": encrypted.clone() };
            automatic.stored().insert_one(&document).await.expect("an insert");
        } else {
            let document = doc! { "_id": 0, "ssn": "string0" };
            patients.insert_one(&document).await.expect("an insert");
        }
        let found = patients.find_one(doc! { "_id": 0 }).await.expect("a find");
        let number = case.number;
        assert_eq!(found, Some(doc! { "_id": 0, "ssn": "string0" }), "case {number}");
        assert_eq!(names(&sent), case.sent, "case {number}");
        let of_key_vault: &[&str] = if case.has_key_vault_client { &[KEYS] } else { &[] };
        assert_eq!(names(&key_vault_sent), of_key_vault, "case {number}");
        assert_eq!(clients.load(Ordering::Relaxed), case.clients, "case {number}");
    }
}
