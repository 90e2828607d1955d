//! Queryable Encryption: equality, values without an index, and collections with their keys.

use marula_driver::{
    Client, Collection, ErrorKind,
    bson::{Binary, Bson, Document, Uuid, doc},
    encryption::{AutoEncryptionOptions, ClientEncryption, EncryptionAlgorithm},
    options::ClientOptions,
};
use marula_driver_tests::{Deployment, QueryAnalysis};
use marula_test_server::TestServer;

use super::{
    automatic::{local, recorded, take},
    support::{NAMESPACE, Setup, master_key},
};

/// A replica set with a data key, and the analysis of queries.
pub(crate) struct Queryable {
    pub(crate) setup: Setup,
    pub(crate) encryption: ClientEncryption,
    pub(crate) key: Uuid,
    analysis: QueryAnalysis,
}

impl Queryable {
    /// With a version of the server.
    pub(crate) async fn new(version: &str) -> Self {
        Self::with_analysis(version, QueryAnalysis::start().await).await
    }

    pub(crate) async fn with_analysis(version: &str, analysis: QueryAnalysis) -> Self {
        let server = TestServer::builder().replica_set().version(version).start();
        let deployment = Deployment::of(server.await.expect("the set starts"), "").await;
        let setup = Setup::on(deployment).await;
        let encryption = setup.encryption();
        let key = encryption.create_data_key("local").await.expect("a key");
        Self {
            setup,
            encryption,
            key,
            analysis,
        }
    }

    fn options(&self) -> ClientOptions {
        ClientOptions::parse(&self.setup.deployment.server.uri()).expect("a connection string")
    }

    fn client(&self, encryption: AutoEncryptionOptions) -> Client {
        Client::with_auto_encryption(self.options(), encryption).expect("a client")
    }

    /// A client that sends payloads of explicit encryption.
    pub(crate) fn explicit(&self) -> Client {
        self.client(AutoEncryptionOptions::new(NAMESPACE, local()).bypass_query_analysis(true))
    }

    /// Options of a client that makes the payloads itself.
    pub(crate) fn automatic_options(&self) -> AutoEncryptionOptions {
        AutoEncryptionOptions::new(NAMESPACE, local()).extra_options(self.analysis.extra_options())
    }

    pub(crate) fn automatic(&self) -> Client {
        self.client(self.automatic_options())
    }

    /// An encrypted field with the key.
    pub(crate) fn field(&self, path: &str, bson_type: &str, queries: Option<Bson>) -> Document {
        let mut field = doc! { "path": path, "bsonType": bson_type, "keyId": self.key };
        if let Some(queries) = queries {
            field.insert("queries", queries);
        }
        field
    }

    /// Creates a collection with encrypted fields. Returns it as a client sees it.
    pub(crate) async fn collection(
        &self,
        client: &Client,
        name: &str,
        fields: Vec<Document>,
    ) -> Collection<Document> {
        let database = self.setup.client().database("db");
        database
            .create_collection(name)
            .encrypted_fields(doc! { "fields": fields })
            .await
            .expect("a collection");
        client.database("db").collection(name)
    }
}

/// All documents that match, in the order of their identifiers.
pub(crate) async fn found(collection: &Collection<Document>, filter: Document) -> Vec<Document> {
    let mut documents = collection
        .find(filter)
        .sort(doc! { "_id": 1 })
        .await
        .expect("a find")
        .try_collect()
        .await
        .expect("documents");
    for document in &mut documents {
        document.remove("__safeContent__");
    }
    documents
}

pub(crate) async fn client_side_encryption_prose_12_explicit_payloads_are_inserted_and_found() {
    let queryable = Queryable::new("7.0.0").await;
    let client = queryable.explicit();
    let (text, unindexed) = ("encrypted indexed value", "encrypted unindexed value");
    for (name, contention) in [("explicit_encryption", 0), ("explicit_encryption_c10", 10)] {
        let equality = doc! { "queryType": "equality", "contention": contention };
        let fields = vec![
            queryable.field("encryptedIndexed", "string", Some(equality.into())),
            queryable.field("encryptedUnindexed", "string", None),
        ];
        let collection = queryable.collection(&client, name, fields).await;
        let indexed = || {
            let encrypt = queryable
                .encryption
                .encrypt(text, queryable.key, EncryptionAlgorithm::Indexed);
            encrypt.contention_factor(contention)
        };
        // Cases 1 and 2: each value has a tag of its own.
        for id in 0..10 {
            let payload = indexed().await.expect("a payload");
            let document = doc! { "_id": id, "encryptedIndexed": payload };
            collection.insert_one(&document).await.expect("an insert");
        }
        let payload = indexed().query_type("equality").await.expect("a payload");
        let expected: Vec<Document> = (0..10)
            .map(|id| doc! { "_id": id, "encryptedIndexed": text })
            .collect();
        assert_eq!(
            found(&collection, doc! { "encryptedIndexed": payload.clone() }).await,
            expected,
            "{name}"
        );
        let count = collection
            .count_documents(doc! { "encryptedIndexed": payload })
            .await;
        assert_eq!(count.expect("a count"), 10);
        let other = queryable
            .encryption
            .encrypt("other", queryable.key, EncryptionAlgorithm::Indexed);
        let payload = other
            .contention_factor(contention)
            .query_type("equality")
            .await
            .expect("a payload");
        assert_eq!(found(&collection, doc! { "encryptedIndexed": payload }).await, []);
        // Case 3.
        let payload = queryable
            .encryption
            .encrypt(unindexed, queryable.key, EncryptionAlgorithm::Unindexed)
            .await;
        let document = doc! { "_id": 10, "encryptedUnindexed": payload.expect("a payload") };
        collection.insert_one(&document).await.expect("an insert");
        let expected = doc! { "_id": 10, "encryptedUnindexed": unindexed };
        assert_eq!(found(&collection, doc! { "_id": 10 }).await, [expected]);
        // Cases 4 and 5.
        let payload = indexed().await.expect("a payload");
        assert_eq!(
            queryable.encryption.decrypt(&payload).await.expect("a value"),
            Bson::from(text)
        );
        let payload = queryable
            .encryption
            .encrypt(unindexed, queryable.key, EncryptionAlgorithm::Unindexed)
            .await;
        let value = queryable.encryption.decrypt(&payload.expect("a payload")).await;
        assert_eq!(value.expect("a value"), Bson::from(unindexed));
    }
}

/// Without `encryptedFields` (case 2), nothing compiles: they are an argument.
pub(crate) async fn client_side_encryption_prose_21_data_keys_are_created_with_the_collection() {
    let queryable = Queryable::new("7.0.0").await;
    let encryption = &queryable.encryption;
    let database = queryable.setup.client().database("db");
    let fields = |key: Bson| doc! { "fields": [{ "path": "ssn", "bsonType": "string", "keyId": key }] };
    for provider in ["local", "aws"] {
        let create = |key: Bson| {
            let create = encryption.create_encrypted_collection(&database, "testing1", fields(key), provider);
            match master_key(provider) {
                Some(key) => create.master_key(key),
                None => create,
            }
        };
        // Case 2: `encryptedFields` are a required argument, which can be empty.
        let create_empty = encryption.create_encrypted_collection(&database, "testing1", doc! {}, provider);
        let error = create_empty.await.expect_err("no encryptedFields");
        assert!(matches!(error.kind(), ErrorKind::InvalidArgument(_)), "{error:?}");
        assert!(error.to_string().contains("encryptedFields"), "{error}");
        assert!(database.list_collection_names().await.expect("names").is_empty());
        // Case 3, first because it leaves only state collections.
        let error = create(Bson::Boolean(false)).await.expect_err("no UUID");
        let message = format!("{error:#}");
        assert!(
            message.contains("create.encryptedFields.fields.keyId"),
            "{message}"
        );
        let drop = database.collection::<Document>("testing1");
        drop.drop()
            .encrypted_fields(fields(Bson::Null))
            .await
            .expect("a drop");
        // Case 1.
        let (collection, created) = create(Bson::Null).await.expect("a collection");
        let error = collection
            .insert_one(&doc! { "ssn": "123-45-6789" })
            .await
            .expect_err("not encrypted");
        assert_eq!(
            (error.code(), matches!(error.kind(), ErrorKind::Write(_))),
            (Some(121), true),
            "{error:?}"
        );
        // Case 4.
        let key = created.get_array("fields").expect("fields")[0]
            .as_document()
            .and_then(|field| field.get("keyId"));
        let Some(Bson::Binary(Binary { bytes, .. })) = key else {
            panic!("{created}");
        };
        let key = Uuid::from_bytes(bytes.as_slice().try_into().expect("16 bytes"));
        let payload = encryption
            .encrypt("123-45-6789", key, EncryptionAlgorithm::Unindexed)
            .await
            .expect("a payload");
        collection
            .insert_one(&doc! { "ssn": payload })
            .await
            .expect("an insert");
        collection
            .drop()
            .encrypted_fields(&created)
            .await
            .expect("a drop");
        assert!(database.list_collection_names().await.expect("names").is_empty());
    }
}

/// The commands that a client makes payloads for, and what remains of a document after an update.
pub(crate) async fn documents_are_updated_and_deleted_by_encrypted_values() {
    let queryable = Queryable::new("8.2.0").await;
    let client = queryable.automatic();
    let equality = doc! { "queryType": "equality", "contention": 4_i64 };
    let fields = vec![
        queryable.field("ssn", "string", Some(equality.clone().into())),
        queryable.field("name.last", "string", Some(equality.into())),
        queryable.field("note", "string", None),
    ];
    let patients = queryable.collection(&client, "patients", fields).await;
    let plain = queryable
        .setup
        .client()
        .database("db")
        .collection::<Document>("patients");
    let patient = |id: i32| doc! { "_id": id, "ssn": format!("number {id}"), "name": { "last": "Lovelace" }, "note": "text" };
    patients
        .insert_many(&(0..6).map(patient).collect::<Vec<_>>())
        .await
        .expect("inserts");
    let all: Vec<Document> = (0..6).map(patient).collect();
    assert_eq!(found(&patients, doc! { "name.last": "Lovelace" }).await, all);
    assert_eq!(
        found(&patients, doc! { "ssn": { "$in": ["number 1", "number 2"] } }).await,
        &all[1..3]
    );
    assert_eq!(
        found(
            &patients,
            doc! { "ssn": { "$ne": "number 0" }, "_id": { "$lt": 2 } }
        )
        .await,
        &all[1..2]
    );
    let count = patients.count_documents(doc! { "name.last": "Lovelace" }).await;
    assert_eq!(count.expect("a count"), 6);
    let tags = async |id: i32| {
        let stored = plain
            .find_one(doc! { "_id": id })
            .await
            .expect("a find")
            .expect("a document");
        stored.get_array("__safeContent__").cloned().unwrap_or_default()
    };
    let before = tags(1).await;
    let update = doc! { "$set": { "ssn": "another" } };
    let result = patients
        .update_one(doc! { "ssn": "number 1" }, update)
        .await
        .expect("an update");
    assert_eq!(result.modified_count, 1);
    let after = tags(1).await;
    assert_eq!((before.len(), after.len()), (2, 2));
    assert!(
        after.contains(&before[1]) && !after.contains(&before[0]),
        "the tag of the old value is removed"
    );
    assert_eq!(found(&patients, doc! { "ssn": "number 1" }).await, []);
    let replaced = patients
        .find_one_and_replace(doc! { "ssn": "another" }, &doc! { "ssn": "number 1" })
        .await
        .expect("a replacement")
        .expect("a document");
    assert_eq!(replaced.get_str("ssn").expect("a text"), "another");
    assert_eq!(tags(1).await.len(), 1);
    let unset = doc! { "$unset": { "ssn": 1 } };
    patients
        .update_one(doc! { "_id": 1 }, unset)
        .await
        .expect("an update");
    assert_eq!(tags(1).await.len(), 0);
    let deleted = patients
        .delete_one(doc! { "ssn": "number 2" })
        .await
        .expect("a delete");
    assert_eq!(deleted.deleted_count, 1);
    let cursor = patients
        .aggregate([
            doc! { "$match": { "ssn": "number 3" } },
            doc! { "$project": { "ssn": 1 } },
        ])
        .await
        .expect("an aggregation");
    let documents = cursor.try_collect().await.expect("documents");
    assert_eq!(documents, [doc! { "_id": 3, "ssn": "number 3" }]);
    let ids: Vec<Bson> = patients
        .distinct("_id", doc! { "ssn": "number 3" })
        .await
        .expect("values");
    assert_eq!(ids, [Bson::from(3)]);
    // The plan is that of the rewritten filter.
    let explained = patients
        .find(doc! { "ssn": "number 3" })
        .explain()
        .await
        .expect("a plan");
    let explained = format!("{explained:?}");
    assert!(
        explained.contains("__safeContent__") && !explained.contains("number 3"),
        "{explained}"
    );
    // The server supports no writes of several documents.
    assert!(
        patients
            .delete_many(doc! { "name.last": "Lovelace" })
            .await
            .is_err()
    );
    let update = doc! { "$set": { "note": "x" } };
    assert!(
        patients
            .update_many(doc! { "name.last": "Lovelace" }, update)
            .await
            .is_err()
    );
    let error = patients
        .find_one(doc! { "ssn": { "$gt": "a" } })
        .await
        .expect_err("no range index");
    assert!(
        error.to_string().contains("Invalid match expression operator"),
        "{error}"
    );
}

/// The state collections are part of a transaction.
pub(crate) async fn transactions_insert_and_abort_encrypted_values() {
    let queryable = Queryable::new("8.2.0").await;
    let client = queryable.automatic();
    let equality = doc! { "queryType": "equality", "contention": 0_i64 };
    let fields = vec![queryable.field("ssn", "string", Some(equality.into()))];
    let patients = queryable.collection(&client, "patients", fields).await;
    let esc = queryable
        .setup
        .client()
        .database("db")
        .collection::<Document>("enxcol_.patients.esc");
    for (id, commits) in [(1, false), (2, true)] {
        let mut session = client.start_session().await.expect("a session");
        session.start_transaction().await.expect("a transaction");
        let document = doc! { "_id": id, "ssn": "123" };
        patients
            .insert_one(&document)
            .session(&mut session)
            .await
            .expect("an insert");
        let inside = patients
            .find_one(doc! { "ssn": "123" })
            .session(&mut session)
            .await;
        assert_eq!(
            inside
                .expect("a find")
                .and_then(|found| found.get_i32("_id").ok()),
            Some(id)
        );
        if commits {
            session.commit_transaction().await.expect("a commit");
        } else {
            session.abort_transaction().await.expect("an abort");
        }
        let count = esc.count_documents(doc! {}).await.expect("a count");
        assert_eq!(
            (count, found(&patients, doc! { "ssn": "123" }).await.len()),
            (u64::from(commits), usize::from(commits))
        );
    }
}

/// Prose test 4, cases 7 and 8: a bulk write of the client is split at 2 MiB.
pub(crate) async fn client_side_encryption_prose_4_bulk_writes_of_clients_are_split_at_2_mib() {
    let queryable = Queryable::new("8.2.0").await;
    let (client, sent) = recorded(queryable.options(), queryable.automatic_options());
    let coll2 = queryable
        .collection(&client, "coll2", vec![queryable.field("foo", "string", None)])
        .await;
    let size = 2_097_152;
    for (field, length) in [("unencrypted", size - 1_500), ("foo", size - 2_000 - 1_500)] {
        take(&sent);
        let documents = [1, 2].map(|id| doc! { "_id": format!("{field}_{id}"), field: "a".repeat(length) });
        let models = documents.iter().map(|document| coll2.insert_one_model(document));
        let result = client.bulk_write(models).await.expect("a bulk write");
        assert_eq!(result.inserted_count, 2);
        let commands = take(&sent);
        let count = commands.iter().filter(|(name, _)| name == "bulkWrite").count();
        assert_eq!(count, 2, "{field}");
    }
    // The limit is not one of a single write.
    let large = doc! { "unencrypted": "a".repeat(3 << 20) };
    let result = client.bulk_write([coll2.insert_one_model(&large)]).await;
    assert_eq!(result.expect("a bulk write").inserted_count, 1);
    let count = coll2.count_documents(doc! { "foo": { "$exists": true } }).await;
    assert_eq!(count.expect("a count"), 2);
}
