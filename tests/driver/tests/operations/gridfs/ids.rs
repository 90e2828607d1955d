//! Values that servers do not accept as `_id`: within a filter they are expressions.

use marula_driver::{
    ErrorKind, GridFsError,
    bson::{Bson, Regex, Timestamp, doc, raw::CString},
};

use super::{bucket, counts, gridfs, read};

fn refused() -> Vec<Bson> {
    let regex = Regex {
        pattern: CString::try_from(".*").expect("a pattern"),
        options: CString::try_from("").expect("options"),
    };
    vec![
        Bson::RegularExpression(regex),
        Bson::Array(vec!["a".into()]),
        Bson::Undefined,
        doc! { "$ne": null }.into(),
        doc! { "$gt": "" }.into(),
        doc! { "$in": ["a", "b"] }.into(),
        doc! { "a": 1, "$b": 1 }.into(),
    ]
}

#[tokio::test]
async fn other_files_are_not_changed() {
    let (_target, bucket) = bucket().await;
    for id in ["a", "b"] {
        bucket
            .upload_from_stream_with_id(id, id, &b"01234"[..])
            .await
            .unwrap();
    }
    for id in refused() {
        for result in [
            bucket.delete(&id).await,
            bucket.rename(&id, "x").await,
            bucket.open_download_stream(&id).await.map(|_| ()),
            read(&bucket, &id).await.map(|_| ()),
        ] {
            let error = result.unwrap_err();
            assert!(
                matches!(gridfs(&error), GridFsError::IdNotFound(of) if *of == id),
                "{error}"
            );
        }
    }
    assert_eq!(counts(&bucket).await, (2, 4));
    let renamed = bucket.find(doc! { "filename": "x" }).await.unwrap();
    assert_eq!(renamed.try_collect().await.unwrap(), []);
    for id in ["a", "b"] {
        assert_eq!(read(&bucket, id).await.unwrap(), b"01234");
    }
}

#[tokio::test]
async fn new_files_are_refused() {
    let (_target, bucket) = bucket().await;
    let mut ids = refused();
    // The server would replace it in the chunks.
    ids.push(Bson::Timestamp(Timestamp {
        time: 0,
        increment: 0,
    }));
    for id in ids {
        for result in [
            bucket.open_upload_stream_with_id(&id, "f").await.map(|_| ()),
            bucket
                .upload_from_stream_with_id(&id, "f", &b"01234"[..])
                .await
                .map(|_| ()),
        ] {
            let error = result.unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::InvalidArgument(_)), "{error:?}");
        }
    }
    assert_eq!(counts(&bucket).await, (0, 0));
}

#[tokio::test]
async fn references_are_ids() {
    let (_target, bucket) = bucket().await;
    for id in [
        doc! { "$ref": "c", "$id": 1 },
        doc! { "$ref": "c", "$id": 2, "$db": "d" },
    ] {
        bucket
            .upload_from_stream_with_id(&id, "f", &b"01234"[..])
            .await
            .unwrap();
        assert_eq!(read(&bucket, &id).await.unwrap(), b"01234");
    }
    bucket.rename(doc! { "$ref": "c", "$id": 1 }, "g").await.unwrap();
    bucket.delete(doc! { "$ref": "c", "$id": 1 }).await.unwrap();
    assert_eq!(counts(&bucket).await, (1, 2));
}
