//! Change streams in a session that has transactions.

use marula_driver::{
    ChangeStream, ChangeStreamEvent, ClientSession, ErrorKind,
    bson::{Document, doc},
};

use super::Bank;

async fn opened(bank: &Bank, session: &mut ClientSession) -> ChangeStream<ChangeStreamEvent<Document>> {
    let changes = bank.accounts.watch().session(session).await.expect("a stream");
    let _ = bank.names();
    changes
}

#[tokio::test]
async fn a_change_stream_is_not_read_in_a_transaction_and_continues_after_it() {
    let bank = Bank::open().await;
    let mut session = bank.client.start_session().await.unwrap();
    let mut changes = opened(&bank, &mut session).await;
    session.start_transaction().await.unwrap();
    bank.accounts
        .insert_one(&doc! { "_id": 1 })
        .session(&mut session)
        .await
        .unwrap();
    for _ in 0..2 {
        let error = changes.try_next().await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::InvalidArgument(_)), "{error:?}");
        assert!(
            error.to_string().contains("not opened in the transaction"),
            "{error}"
        );
        assert!(changes.is_alive());
    }
    session.commit_transaction().await.unwrap();
    let event = changes.try_next().await.unwrap().unwrap();
    assert_eq!(event.document_key, Some(doc! { "_id": 1 }));
    assert_eq!(bank.names(), "insert* commitTransaction getMore");
}

#[tokio::test]
async fn a_resume_does_not_join_a_transaction() {
    let bank = Bank::open().await;
    let mut session = bank.client.start_session().await.unwrap();
    let mut changes = opened(&bank, &mut session).await;
    // The getMore, the aggregate of the resume, and its retry.
    let admin = bank.deployment.client.database("admin");
    let failing = doc! {
        "configureFailPoint": "failCommand", "mode": { "times": 3 },
        "data": {
            "failCommands": ["getMore", "aggregate"], "errorCode": 6,
            "errorLabels": ["ResumableChangeStreamError"],
        },
    };
    admin.run_command(failing).await.unwrap();
    let error = changes.try_next().await.unwrap_err();
    assert_eq!(error.code(), Some(6), "{error}");
    assert!(changes.is_alive());
    let _ = bank.names();
    session.start_transaction().await.unwrap();
    bank.accounts
        .insert_one(&doc! { "_id": 1 })
        .session(&mut session)
        .await
        .unwrap();
    let error = changes.next_if_any().await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::InvalidArgument(_)), "{error:?}");
    assert!(changes.is_alive());
    session.commit_transaction().await.unwrap();
    let event = changes.try_next().await.unwrap().unwrap();
    assert_eq!(event.document_key, Some(doc! { "_id": 1 }));
    assert!(
        bank.names().starts_with("insert* commitTransaction aggregate"),
        "the resume is not part of the transaction"
    );
}

/// The server does not permit it.
#[tokio::test]
async fn a_change_stream_opened_in_a_transaction_is_refused_by_the_server() {
    let bank = Bank::open().await;
    bank.accounts.insert_one(&doc! {}).await.unwrap();
    let mut tx = bank.client.start_transaction().await.unwrap();
    let error = bank.accounts.watch().session(&mut tx).await.unwrap_err();
    assert_eq!(error.code(), Some(263), "{error}");
    tx.abort().await.unwrap();
}

/// The error ends the stream: no call can succeed.
#[tokio::test]
async fn a_change_stream_ends_with_its_session() {
    let bank = Bank::open().await;
    let mut session = bank.client.start_session().await.unwrap();
    let mut changes = opened(&bank, &mut session).await;
    drop(session);
    let error = changes.try_next().await.unwrap_err();
    assert!(error.to_string().contains("session has ended"), "{error}");
    assert!(!changes.is_alive());
}
