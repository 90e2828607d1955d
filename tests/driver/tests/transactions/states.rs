//! The states of a session, and the fields of the commands in each.

use marula_driver::{
    ErrorKind, Result, TRANSIENT_TRANSACTION_ERROR, TransactionState,
    bson::{Document, doc},
    options::{ReadConcern, ReadPreference, ReadPreferenceMode, TransactionOptions, WriteConcern},
};
use marula_driver_tests::standalone;

use super::Bank;

fn refusal<T: std::fmt::Debug>(result: Result<T>) -> String {
    let error = result.expect_err("a refusal");
    assert!(matches!(error.kind(), ErrorKind::InvalidArgument(_)), "{error:?}");
    error.to_string()
}

#[tokio::test]
async fn the_commands_of_a_transaction_have_its_fields() {
    let bank = Bank::open().await;
    let mut session = bank.client.start_session().await.unwrap();
    let start = session.start_transaction().read_concern(ReadConcern::majority());
    start.write_concern(WriteConcern::majority()).await.unwrap();
    let local = bank.accounts.with_read_concern(ReadConcern::local());
    let local = local.with_write_concern(WriteConcern::nodes(1));
    local
        .insert_one(&doc! { "_id": 1 })
        .session(&mut session)
        .await
        .unwrap();
    local.find_one(doc! {}).session(&mut session).await.unwrap();
    session.commit_transaction().await.unwrap();
    let commands = bank.commands.commands();
    let [insert, find, commit] = commands.as_slice() else {
        panic!("{commands:?}")
    };
    for command in [insert, find, commit] {
        assert_eq!(command.get_document("lsid").unwrap(), &session.id().unwrap());
        assert_eq!(command.get_i64("txnNumber").unwrap(), 1);
        assert!(!command.get_bool("autocommit").unwrap());
    }
    assert!(insert.get_bool("startTransaction").unwrap());
    assert_eq!(
        insert.get_document("readConcern").unwrap(),
        &doc! { "level": "majority" }
    );
    for command in [find, commit] {
        assert!(!command.contains_key("startTransaction") && !command.contains_key("readConcern"));
    }
    assert!(!insert.contains_key("writeConcern"));
    assert_eq!(
        commit.get_document("writeConcern").unwrap(),
        &doc! { "w": "majority" }
    );
    assert_eq!(commit.get_str("$db").unwrap(), "admin");
}

#[tokio::test]
async fn a_command_with_a_read_concern_of_its_own_is_sent_as_it_is() {
    let bank = Bank::open().await;
    let mut session = bank.client.start_session().await.unwrap();
    let start = session.start_transaction().read_concern(ReadConcern::majority());
    start.await.unwrap();
    let find = doc! { "find": "accounts", "readConcern": { "level": "local" } };
    let database = bank.client.database("bank");
    database.run_command(find).session(&mut session).await.unwrap();
    let command = bank.commands.only_command();
    let concerns = command.iter().filter(|(key, _)| *key == "readConcern").count();
    assert_eq!(concerns, 1, "{command}");
}

#[tokio::test]
async fn the_states_permit_what_the_specification_says() {
    let bank = Bank::open().await;
    let mut session = bank.client.start_session().await.unwrap();
    assert_eq!(session.transaction_state(), TransactionState::None);
    assert!(refusal(session.commit_transaction().await).contains("No transaction started"));
    assert!(refusal(session.abort_transaction().await).contains("No transaction started"));

    session.start_transaction().await.unwrap();
    assert_eq!(session.transaction_state(), TransactionState::Starting);
    assert!(refusal(session.start_transaction().await).contains("Transaction already in progress"));
    session.commit_transaction().await.unwrap();
    session.commit_transaction().await.unwrap();
    assert_eq!(bank.names(), "", "an empty transaction sends nothing");
    let abort = refusal(session.abort_transaction().await);
    assert!(abort.contains("Cannot call abortTransaction after calling commitTransaction"));

    session.start_transaction().await.unwrap();
    session.abort_transaction().await.unwrap();
    assert_eq!(session.transaction_state(), TransactionState::Aborted);
    assert!(refusal(session.abort_transaction().await).contains("Cannot call abortTransaction twice"));
    let commit = refusal(session.commit_transaction().await);
    assert!(commit.contains("Cannot call commitTransaction after calling abortTransaction"));

    session.start_transaction().await.unwrap();
    bank.accounts
        .insert_one(&doc! {})
        .session(&mut session)
        .await
        .unwrap();
    assert_eq!(session.transaction_state(), TransactionState::InProgress);
    assert!(refusal(session.start_transaction().await).contains("already in progress"));
    session.commit_transaction().await.unwrap();
    session.commit_transaction().await.unwrap();
    assert_eq!(session.transaction_state(), TransactionState::Committed);
    assert_eq!(bank.names(), "insert* commitTransaction commitTransaction");

    bank.accounts
        .insert_one(&doc! {})
        .session(&mut session)
        .await
        .unwrap();
    assert_eq!(session.transaction_state(), TransactionState::None);
    assert!(!session.in_transaction());
    assert_eq!(bank.names(), "insert");
    assert_eq!(bank.stored().await, 2);

    session.start_transaction().await.unwrap();
    session.end().await;
    assert!(refusal(session.start_transaction().await).contains("the session has ended"));
    assert!(refusal(session.commit_transaction().await).contains("the session has ended"));
}

#[tokio::test]
async fn errors_of_the_client_do_not_change_the_state() {
    let bank = Bank::open().await;
    let mut session = bank.client.start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let none: [Document; 0] = [];
    let many = bank.accounts.insert_many(&none);
    many.session(&mut session).await.unwrap_err();
    assert_eq!(session.transaction_state(), TransactionState::Starting);
    assert_eq!(bank.names(), "");
}

#[tokio::test]
async fn operations_in_a_transaction_cannot_set_concerns() {
    let bank = Bank::open().await;
    let mut session = bank.client.start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let (things, set) = (&bank.accounts, doc! { "$set": { "a": 1 } });
    macro_rules! refused {
        ($expected:literal, $setter:ident($value:expr); $($action:expr),* $(,)?) => {
            $(
                let refused = $action.$setter($value).session(&mut session).await;
                let why = refusal(refused.map(drop));
                assert!(why.contains($expected), "{why}");
            )*
        };
    }
    refused!("Cannot set write concern after starting a transaction", write_concern(WriteConcern::majority());
        things.insert_one(&doc! {}), things.insert_many(&[doc! {}]), things.update_one(doc! {}, &set),
        things.update_many(doc! {}, &set), things.replace_one(doc! {}, &doc! {}),
        things.delete_one(doc! {}), things.delete_many(doc! {}), things.find_one_and_delete(doc! {}),
        things.find_one_and_update(doc! {}, &set), things.find_one_and_replace(doc! {}, &doc! {}),
        things.aggregate([doc! { "$match": {} }]), things.drop(), bank.client.database("bank").drop(),
        bank.client.database("bank").create_collection("more"),
        things.create_index(marula_driver::IndexModel::new(doc! { "a": 1 })), things.drop_indexes(),
        things.bulk_write([marula_driver::WriteModel::insert_one(&doc! {})]),
        bank.client.bulk_write([things.insert_one_model(&doc! {})]),
    );
    refused!("Cannot set read concern after starting a transaction", read_concern(ReadConcern::majority());
        things.find(doc! {}), things.find_one(doc! {}), things.aggregate([doc! { "$match": {} }]),
        things.distinct("a", doc! {}), things.count_documents(doc! {}), things.estimated_document_count(),
    );
    let secondary = || ReadPreference::new(ReadPreferenceMode::Secondary);
    refused!("read preference in a transaction must be primary", read_preference(secondary());
        things.find(doc! {}), things.find_one(doc! {}), things.aggregate([doc! { "$match": {} }]),
        things.distinct("a", doc! {}), things.count_documents(doc! {}),
        bank.client.database("bank").run_command(doc! { "ping": 1 }),
    );
    assert_eq!(session.transaction_state(), TransactionState::Starting);
    assert_eq!(bank.names(), "", "nothing was sent");
}

#[tokio::test]
async fn options_are_inherited_from_the_session_and_the_client() {
    let bank = Bank::with(marula_driver_tests::replica_set().await, |options| {
        options.read_concern = ReadConcern::local();
        options.write_concern = WriteConcern::nodes(1);
    });
    let defaults = TransactionOptions::default().write_concern(WriteConcern::majority());
    let start = bank.client.start_session().default_transaction_options(defaults);
    let mut session = start.await.unwrap();
    session.start_transaction().await.unwrap();
    bank.accounts
        .insert_one(&doc! {})
        .session(&mut session)
        .await
        .unwrap();
    session.commit_transaction().await.unwrap();
    let commands = bank.commands.commands();
    assert_eq!(
        commands[0].get_document("readConcern").unwrap(),
        &doc! { "level": "local" }
    );
    assert_eq!(
        commands[1].get_document("writeConcern").unwrap(),
        &doc! { "w": "majority" }
    );
    let unacknowledged = session.start_transaction().write_concern(WriteConcern::nodes(0));
    let why = refusal(unacknowledged.await);
    assert!(
        why.contains("transactions do not support unacknowledged write concerns"),
        "{why}"
    );
    let secondary = ReadPreference::new(ReadPreferenceMode::Secondary);
    session
        .start_transaction()
        .read_preference(secondary)
        .await
        .unwrap();
    let why = refusal(bank.accounts.find_one(doc! {}).session(&mut session).await);
    assert!(
        why.contains("read preference in a transaction must be primary"),
        "{why}"
    );
    let primary = ReadPreference::default();
    let find = bank.accounts.find_one(doc! {}).read_preference(primary);
    find.session(&mut session).await.unwrap();
    session.abort_transaction().await.unwrap();
}

/// An invalid write concern counts as acknowledged.
#[tokio::test]
async fn invalid_options_are_refused_whatever_level_has_them() {
    let bank = Bank::open().await;
    let mut contradiction = WriteConcern::nodes(0);
    contradiction.journal = Some(true);
    let mut endless = WriteConcern::majority();
    endless.w_timeout = Some(std::time::Duration::MAX);
    for (concern, expected) in [
        (contradiction, "w: 0 cannot be combined"),
        (endless, "wTimeoutMS"),
    ] {
        let invalid = TransactionOptions::default().write_concern(concern.clone());
        let start = bank.client.start_session().default_transaction_options(invalid);
        let mut session = start.await.unwrap();
        let why = refusal(session.start_transaction().await);
        assert!(why.contains(expected), "{why}");
        let why = refusal(bank.client.start_transaction().write_concern(concern).await);
        assert!(why.contains(expected), "{why}");
        let valid = session
            .start_transaction()
            .write_concern(WriteConcern::majority());
        valid.await.unwrap();
    }
}

#[tokio::test]
async fn a_snapshot_session_has_no_transactions() {
    let bank = Bank::open().await;
    let mut session = bank.client.start_session().snapshot(true).await.unwrap();
    let why = refusal(session.start_transaction().await);
    assert!(
        why.contains("Transactions are not supported in snapshot sessions"),
        "{why}"
    );
}

#[tokio::test]
async fn a_standalone_server_reports_that_it_has_no_transactions() {
    let bank = Bank::of(standalone().await);
    let mut tx = bank.client.start_transaction().await.unwrap();
    let error = bank
        .accounts
        .insert_one(&doc! {})
        .session(&mut tx)
        .await
        .unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Unsupported(why) if why.contains("require a replica set")),
        "{error}"
    );
    assert_eq!(bank.accounts.count_documents(doc! {}).await.unwrap(), 0);
}

#[tokio::test]
async fn a_network_error_is_transient_and_the_session_of_another_client_is_refused() {
    let bank = Bank::open().await;
    bank.accounts.insert_one(&doc! { "_id": 0 }).await.unwrap();
    bank.fail("insert", 1, doc! { "closeConnection": true }).await;
    let mut tx = bank.client.start_transaction().await.unwrap();
    let error = bank
        .accounts
        .insert_one(&doc! {})
        .session(&mut tx)
        .await
        .unwrap_err();
    assert!(
        error.is_network() && error.contains_label(TRANSIENT_TRANSACTION_ERROR),
        "{error}"
    );
    assert!(
        !error.contains_label(marula_driver::RETRYABLE_WRITE_ERROR),
        "{error}"
    );
    tx.abort().await.unwrap();
    let mut foreign = bank.deployment.client.start_transaction().await.unwrap();
    let error = bank.accounts.insert_one(&doc! {}).session(&mut foreign).await;
    assert!(refusal(error).contains("another client"));
}
