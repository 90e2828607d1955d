//! Encrypted fields: models, schemas, and clients with automatic encryption. Without libmongocrypt the tests that need it
//! print a message and pass, or fail if `MARULA_REQUIRE_MONGOCRYPT` is set, as in `.ci/run`.

mod comparisons;
mod conversions;
mod documents;
mod hidden;
mod input;
mod leaks;
mod limits;
mod literals;
mod models;
mod operands;
mod pipelines;
mod plain_client;
mod plans;
mod ranges;
mod repaired;
mod unknown;

use marula::bson::{BinarySubtype, Bson, Document as BsonDocument, doc};
use marula::driver::encryption::{
    AutoEncryptionOptions, ClientEncryption, ClientEncryptionOptions, KmsProviders,
};
use marula::driver::options::ClientOptions;
use marula::schema::{DataKeys, Schema, SyncMode};
use marula::{Client, Database, Document, Embedded, Model, Shape};
use marula_driver_tests::QueryAnalysis;
use marula_test_server::TestServer;
use serde::{Deserialize, Serialize};

/// Conversions of models that are not written, only described.
macro_rules! described {
    ($($t:ty => $stored:ty;)*) => { $(
        impl marula::codec::StoredAs<$t> for $stored {
            fn store(_: &$t) -> Result<Self, marula::bson::EncodeError> {
                unreachable!("nothing is written")
            }
            fn load(self) -> Result<$t, marula::bson::DecodeError> {
                unreachable!("nothing is read")
            }
        }
    )* };
}
use described;

pub(super) const VAULT: &str = "encryption.keys";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub(super) struct Address {
    pub(super) city: String,
    #[document(encrypted)]
    #[serde(rename = "st")]
    pub(super) street: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(transparent)]
pub(super) struct Ssn(String);

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(rename_all = "lowercase")]
pub(super) enum Ward {
    North,
    South,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub(super) struct Insurance {
    #[document(encrypted(equality, contention = 0))]
    pub(super) policy: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "patients", index(name), json_schema)]
pub(super) struct Patient {
    #[serde(rename = "_id")]
    pub(super) id: i64,
    pub(super) name: String,
    #[document(encrypted(equality, contention = 4))]
    pub(super) ssn: Ssn,
    #[document(encrypted(range(min = 0, max = 200, sparsity = 1, trim_factor = 6)))]
    pub(super) age: i32,
    #[document(encrypted(equality))]
    pub(super) ward: Ward,
    #[document(encrypted)]
    #[serde(rename = "remarks", default, skip_serializing_if = "Option::is_none")]
    pub(super) notes: Option<String>,
    #[document(encrypted)]
    pub(super) allergies: Vec<String>,
    pub(super) address: Option<Address>,
    #[serde(flatten)]
    pub(super) insurance: Insurance,
}

pub(super) fn patient(id: i64) -> Patient {
    Patient {
        id,
        name: format!("patient {id}"),
        ssn: Ssn(format!("457-55-{id:04}")),
        age: 20 + i32::try_from(id).expect("a small number"),
        ward: if id % 2 == 0 { Ward::North } else { Ward::South },
        notes: (id > 1).then(|| "stable".to_owned()),
        allergies: vec!["nuts".to_owned()],
        address: (id != 2).then(|| Address {
            city: "Bern".to_owned(),
            street: "Marktgasse 1".to_owned(),
        }),
        insurance: Insurance { policy: 1000 + id },
    }
}

/// A replica set, the analysis of queries, and a key vault.
pub(super) struct Hospital {
    pub(super) server: TestServer,
    pub(super) analysis: QueryAnalysis,
    pub(super) client: Client,
    pub(super) encryption: ClientEncryption,
}

impl Hospital {
    /// `None` without libmongocrypt.
    pub(super) async fn start(version: &str) -> Option<Self> {
        let server = TestServer::builder().replica_set().version(version).start();
        let server = server.await.expect("the server starts");
        let client = marula::connect(server.uri()).await.expect("a connection string");
        let options = ClientEncryptionOptions::new(VAULT, providers());
        let encryption = match ClientEncryption::new(client.driver(), options) {
            Ok(encryption) => encryption,
            Err(error) if std::env::var_os("MARULA_REQUIRE_MONGOCRYPT").is_none() => {
                eprintln!("skipped: {error}");
                return None;
            }
            Err(error) => panic!("{error}"),
        };
        Some(Hospital {
            server,
            analysis: QueryAnalysis::start().await,
            client,
            encryption,
        })
    }

    /// The database, as a client without automatic encryption sees it.
    pub(super) fn db(&self) -> Database {
        self.client.database("hospital")
    }

    pub(super) fn schema(&self) -> Schema {
        let keys = DataKeys::new(&self.encryption, "local");
        self.db().schema().encryption(keys)
    }

    /// The database of a client with automatic encryption and the encrypted fields of a schema.
    pub(super) async fn encrypted(&self, schema: Schema) -> Database {
        let options = schema
            .encrypted_fields_map(self.options())
            .await
            .expect("encrypted collections");
        self.client_with(options).database("hospital")
    }

    /// The same for a model, whose collection is created.
    pub(super) async fn with<D: Model>(&self) -> Database {
        let schema = self.schema().register::<D>();
        let synced = schema.clone().sync(SyncMode::Additive).await;
        synced.expect("an encrypted collection");
        self.encrypted(schema).await
    }

    /// Options of automatic encryption without encrypted fields.
    pub(super) fn options(&self) -> AutoEncryptionOptions {
        AutoEncryptionOptions::new(VAULT, providers()).extra_options(self.analysis.extra_options())
    }

    pub(super) fn client_with(&self, options: AutoEncryptionOptions) -> Client {
        let client = ClientOptions::parse(&self.server.uri()).expect("a connection string");
        Client::with_auto_encryption(client, options).expect("a client")
    }

    pub(super) async fn keys(&self) -> u64 {
        let keys = self.client.database("encryption");
        let keys = keys.driver().collection::<BsonDocument>("keys");
        keys.count_documents(doc! {}).await.expect("a count")
    }

    pub(super) async fn collections(&self) -> Vec<String> {
        let mut names = self.db().driver().list_collection_names().await.expect("names");
        names.sort();
        names
    }

    /// The stored form of a document.
    pub(super) async fn stored(&self, id: i64) -> BsonDocument {
        let patients = self.db();
        let patients = patients.driver().collection::<BsonDocument>("patients");
        let found = patients.find_one(doc! { "_id": id }).await;
        found.expect("a find").expect("a document")
    }
}

pub(super) fn providers() -> KmsProviders {
    KmsProviders::new().local(&[7; 96])
}

/// Whether a stored value is encrypted.
pub(super) fn is_encrypted(value: Option<&Bson>) -> bool {
    matches!(value, Some(Bson::Binary(binary)) if binary.subtype == BinarySubtype::Encrypted)
}

#[derive(Debug, Serialize, Deserialize, Document)]
#[document(collection = "plain")]
pub(super) struct Plain {
    pub(super) _id: i64,
}

/// Documents of [`Plain`] with joined patients.
#[derive(Debug, Shape)]
pub(super) struct WithPatients {
    #[document(flatten)]
    #[expect(dead_code, reason = "only the patients are of interest")]
    pub(super) plain: Plain,
    pub(super) patients: Vec<Patient>,
}

#[derive(Debug, Serialize, Deserialize, Shape)]
pub(super) struct Old {
    pub(super) old: Vec<Patient>,
}
