//! Which commands a bucket sends, and where: the check of the indexes, files that are deleted by name,
//! files that other tools have stored.

use marula_driver::{
    Client,
    bson::{Bson, doc},
    event::CommandEvent,
    options::{ReadPreference, ReadPreferenceMode},
};
use marula_driver_tests::{Proxied, proxy::Action, recorded, replica_set};
use marula_test_server::TestServer;
use tokio::io::AsyncWriteExt;

use super::{bucket, chunks, counts, files, read};

/// A write is not polled while its check of the indexes runs.
#[tokio::test]
async fn uploads_do_not_wait_for_the_check_of_another_upload() {
    let deployment = Proxied::standalone(TestServer::builder()).await;
    let client = Client::connect(deployment.uri("", "")).await.unwrap();
    let bucket = client.database("d").gridfs_bucket().with_chunk_size(4);
    let mut is_first = true;
    deployment.proxies[0].set_rule(move |exchange| {
        if exchange.command == "find" && std::mem::take(&mut is_first) {
            Action::Delay
        } else {
            Action::Pass
        }
    });
    let mut first = bucket.open_upload_stream("a").await.unwrap();
    first.write_all(b"01234").await.unwrap();
    let mut flush = Box::pin(first.flush());
    let held = deployment.proxies[0].wait_for_requests("find", 1);
    tokio::select! {
        biased;
        result = &mut flush => panic!("the reply is held back, found {result:?}"),
        () = held => {}
    }
    drop(flush);

    bucket.upload_from_stream("b", &b"01234"[..]).await.unwrap();
    deployment.proxies[0].end_waits();
    first.close().await.unwrap();
    assert_eq!(counts(&bucket).await, (2, 4));
    let indexes = chunks(&bucket).list_index_names().await.unwrap();
    assert_eq!(indexes, ["_id_", "files_id_1_n_1"]);
}

/// A secondary may not have the newest files.
#[tokio::test]
async fn files_to_delete_by_name_are_read_from_the_primary() {
    let client = recorded(replica_set().await, "");
    let bucket = client
        .things()
        .database()
        .gridfs_bucket()
        .with_read_preference(ReadPreference::new(ReadPreferenceMode::Secondary));
    bucket.upload_from_stream("f", &b"01234"[..]).await.unwrap();
    let _ = client.commands.take();
    bucket.delete_by_name("f").await.unwrap();
    let primary = client
        .deployment
        .in_process("the address of the primary")
        .and_then(TestServer::primary);
    let mut finds = 0;
    for event in client.commands.take() {
        if let CommandEvent::Started(event) = event
            && event.command_name == "find"
        {
            finds += 1;
            assert_eq!(
                event.connection.address.to_string(),
                primary.expect("a primary").to_string()
            );
        }
    }
    assert_eq!(finds, 1);
    assert_eq!(
        counts(&bucket.with_read_preference(ReadPreference::default())).await,
        (0, 0)
    );
}

/// Only `length` and `chunkSize` are needed to read a file.
#[tokio::test]
async fn files_with_fields_of_other_types_are_read() {
    let (_target, bucket) = bucket().await;
    let odd = doc! { "filename": 7, "uploadDate": "today", "metadata": ["a", "b"] };
    let id = bucket.upload_from_stream("f", &b"01234"[..]).await.unwrap();
    files(&bucket)
        .update_one(doc! { "_id": &id }, doc! { "$set": &odd })
        .await
        .unwrap();
    bucket.upload_from_stream("g", &b"01234"[..]).await.unwrap();
    assert_eq!(read(&bucket, &id).await.unwrap(), b"01234");
    let found = bucket.find(doc! {}).await.unwrap().try_collect().await.unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!((&found[0].id, found[0].filename.as_deref()), (&id, None));
    for (name, value) in &odd {
        assert_eq!(found[0].other.get(name), Some(value));
    }
    assert_eq!(found[1].filename.as_deref(), Some("g"));
    assert_ne!(found[1].id, Bson::Null);
}
