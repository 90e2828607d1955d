//! Options of actions: as setters and as values, and the read concern, write concern and read
//! preference of one operation.

use marula_driver::{
    Collection, Database, ErrorKind,
    bson::{Document, doc},
    options::{
        AggregateOptions, CountDocumentsOptions, FindOptions, ReadConcern, ReadPreference,
        ReadPreferenceMode, WriteConcern,
    },
};
use marula_driver_tests::{CommandRecorder, replica_set};

/// A database of a replica set, and a recorder of the commands.
async fn database() -> (CommandRecorder, Database, impl Sized) {
    let deployment = replica_set().await;
    let recorder = CommandRecorder::default();
    let client = recorder.client_of(&deployment.server.uri());
    (recorder, client.database("options"), deployment)
}

/// The sent commands, without the fields of sessions and cluster times.
fn commands(recorder: &CommandRecorder) -> Vec<Document> {
    recorder
        .commands()
        .into_iter()
        .map(|mut command| {
            for key in ["lsid", "$clusterTime", "$db", "txnNumber"] {
                command.remove(key);
            }
            command
        })
        .collect()
}

#[tokio::test]
async fn options_given_as_a_value_are_sent_as_those_of_setters() {
    let (recorder, database, _deployment) = database().await;
    let things: Collection<Document> = database.collection("things");
    let kept = FindOptions::default()
        .sort(doc! { "a": -1 })
        .skip(2)
        .limit(7)
        .hint("_id_")
        .comment("why")
        .let_vars(doc! { "x": 1 });
    let first = things.find(doc! {}).with_options(kept.clone()).await.unwrap();
    let second = things
        .find(doc! {})
        .sort(doc! { "a": -1 })
        .skip(2)
        .limit(7)
        .hint("_id_")
        .comment("why")
        .let_vars(doc! { "x": 1 })
        .await
        .unwrap();
    drop((first, second));
    let sent = commands(&recorder);
    let [first, second] = &sent[..] else {
        panic!("{sent:?}");
    };
    assert_eq!(first, second);
    assert_eq!(
        *first,
        doc! {
            "find": "things", "filter": {}, "sort": { "a": -1 }, "skip": 2_i64, "limit": 7_i64, "let": { "x": 1 },
            "hint": "_id_", "comment": "why",
        }
    );
    // `findOne` reads one document, regardless of limit and batch size.
    things.find_one(doc! {}).with_options(kept.clone()).await.unwrap();
    things
        .count_documents(doc! {})
        .with_options(CountDocumentsOptions::from(&kept))
        .await
        .unwrap();
    let sent = commands(&recorder);
    assert_eq!(sent[0].get("limit"), Some(&1_i64.into()));
    assert_eq!(sent[0].get("singleBatch"), Some(&true.into()));
    assert_eq!(sent[1].get("hint"), Some(&"_id_".into()));
    let stages = sent[1].get_array("pipeline").unwrap();
    assert_eq!(stages.len(), 2, "neither $skip nor $limit: {stages:?}");
}

#[tokio::test]
async fn with_options_replaces_options_set_before() {
    let (recorder, database, _deployment) = database().await;
    let things: Collection<Document> = database.collection("things");
    things
        .find(doc! {})
        .skip(3)
        .with_options(FindOptions::default())
        .await
        .unwrap();
    assert_eq!(commands(&recorder), [doc! { "find": "things", "filter": {} }]);
}

#[tokio::test]
async fn a_value_that_cannot_be_encoded_is_reported_by_the_action_with_the_options() {
    let (recorder, database, _deployment) = database().await;
    let things: Collection<Document> = database.collection("things");
    let options = AggregateOptions::default().let_vars(doc! { "a\0b": 1 });
    for _ in 0..2 {
        let pipeline: [Document; 0] = [];
        let error = things
            .aggregate(pipeline)
            .with_options(options.clone())
            .await
            .unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Encode(_)), "{error}");
        assert!(error.to_string().contains("let_vars"), "{error}");
    }
    // The filter is an argument, which options do not replace.
    let error = things
        .find(doc! { "a\0b": 1 })
        .with_options(FindOptions::default())
        .await
        .unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Encode(_)), "{error}");
    assert!(commands(&recorder).is_empty());
}

#[tokio::test]
async fn a_comment_that_cannot_be_encoded_is_reported_with_the_name_of_the_option() {
    let (recorder, database, _deployment) = database().await;
    let things: Collection<Document> = database.collection("things");
    let error = things
        .find(doc! {})
        .comment(doc! { "a\0b": 1 })
        .await
        .unwrap_err();
    let ErrorKind::Encode(error) = error.kind() else {
        panic!("{error}");
    };
    assert!(error.path().starts_with("comment.a"), "{error}");
    assert!(commands(&recorder).is_empty());
}

#[tokio::test]
async fn a_limit_of_0_counts_all_documents() {
    let (recorder, database, _deployment) = database().await;
    let things: Collection<Document> = database.collection("things");
    things.insert_many(&[doc! {}, doc! {}]).await.unwrap();
    assert_eq!(things.count_documents(doc! {}).limit(0).await.unwrap(), 2);
    drop(recorder);
}

#[tokio::test]
async fn an_operation_can_override_concerns_and_read_preference() {
    let (recorder, database, _deployment) = database().await;
    let things: Collection<Document> = database
        .collection("things")
        .with_read_concern(ReadConcern::local());
    let nearest = ReadPreference::new(ReadPreferenceMode::Nearest);
    let majority = ReadConcern::majority;
    things.insert_one(&doc! { "a": 1 }).await.unwrap();
    let _ = commands(&recorder);
    things
        .find_one(doc! {})
        .read_concern(majority())
        .read_preference(nearest.clone())
        .await
        .unwrap();
    things
        .count_documents(doc! {})
        .read_concern(majority())
        .read_preference(nearest.clone())
        .await
        .unwrap();
    things
        .estimated_document_count()
        .read_concern(majority())
        .read_preference(nearest.clone())
        .await
        .unwrap();
    things
        .distinct("a", doc! {})
        .read_concern(majority())
        .read_preference(nearest.clone())
        .await
        .unwrap();
    for command in commands(&recorder) {
        assert_eq!(
            command.get_document("readConcern").unwrap(),
            &doc! { "level": "majority" },
            "{command}"
        );
        assert_eq!(
            command.get_document("$readPreference").unwrap(),
            &doc! { "mode": "nearest" },
            "{command}"
        );
    }
    things.find_one(doc! {}).await.unwrap();
    let sent = commands(&recorder);
    assert_eq!(
        sent[0].get_document("readConcern").unwrap(),
        &doc! { "level": "local" }
    );
    let journaled = || {
        let mut concern = WriteConcern::majority();
        concern.journal = Some(true);
        concern
    };
    database
        .create_collection("others")
        .write_concern(journaled())
        .await
        .unwrap();
    things.drop().write_concern(journaled()).await.unwrap();
    database.drop().write_concern(journaled()).await.unwrap();
    let sent = commands(&recorder);
    let names: Vec<&String> = sent.iter().filter_map(|command| command.keys().next()).collect();
    assert_eq!(names, ["create", "drop", "dropDatabase"]);
    for command in &sent {
        assert_eq!(
            command.get_document("writeConcern").unwrap(),
            &doc! { "w": "majority", "j": true },
            "{command}"
        );
    }
}

#[tokio::test]
async fn an_inconsistent_read_preference_is_rejected() {
    let (recorder, database, _deployment) = database().await;
    let things: Collection<Document> = database.collection("things");
    let preference = ReadPreference::primary().with_max_staleness(std::time::Duration::from_secs(100));
    let error = things
        .find_one(doc! {})
        .read_preference(preference)
        .await
        .unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::InvalidArgument(_)), "{error}");
    assert!(commands(&recorder).is_empty());
}
