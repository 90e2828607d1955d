//! Which statements a command holds, whether it may be retried, and that a retry holds the same.

use proptest::prelude::*;

use super::*;
use crate::{
    bson::rawdoc,
    types::server_api::{ServerApi, ServerApiVersion},
};

const SMALL_BATCHES: usize = 3;

fn statement(multi: bool, size: usize) -> Statement {
    Statement {
        kind: Kind::Update,
        bytes: rawdoc! { "q": {}, "u": { "$set": { "filler": "x".repeat(size) } } },
        id: None,
        multi,
        needs_4_4: false,
    }
}

fn server(max_message_size: i64, max_batch_size: usize) -> HelloReply {
    HelloReply {
        max_message_size_bytes: Some(max_message_size),
        max_write_batch_size: i64::try_from(max_batch_size).ok(),
        ..HelloReply::default()
    }
}

fn with_batch<R>(statements: &[Statement], run: impl FnOnce(BulkWriteBatch<'_, Updates>) -> R) -> R {
    let places: Vec<usize> = (0..statements.len()).collect();
    let namespace = Namespace::new("d", "c");
    let options = BulkWriteOptions {
        comment: Some("why".into()),
        ..BulkWriteOptions::default()
    };
    let concern = WriteConcern::default();
    run(BulkWriteBatch::new(
        &namespace, statements, &places, &options, &concern,
    ))
}

/// Writes the command as an attempt does, with as many bytes of the driver's own fields as are reserved for them at most.
fn write(batch: &mut BulkWriteBatch<'_, Updates>, server: &HelloReply, own_fields: bool) -> Vec<u8> {
    batch.prepare(server);
    let mut bytes = Vec::new();
    let mut message = MessageWriter::begin(&mut bytes, 1, 48_000_000);
    let mut command = CommandBuilder::new(message.buffer);
    batch.build(&mut command, server).unwrap();
    if own_fields {
        command.document("lsid", &rawdoc! { "id": "0123456789abcdef" });
        command.i64("txnNumber", 1);
        command.document("$clusterTime", &rawdoc! { "signature": "x".repeat(400) });
        command.server_api(ServerApi::new(ServerApiVersion::V1));
    }
    command.finish("d").unwrap();
    batch.build_sequences(&mut message, server).unwrap();
    message.finish().unwrap();
    bytes
}

#[test]
fn only_what_the_command_holds_decides_about_its_retry() {
    let statements = [statement(false, 1), statement(false, 1), statement(true, 1)];
    with_batch(&statements, |mut batch| {
        assert_eq!(batch.retry(), Retry::No, "one command holds all three");
        batch.prepare(&server(48_000_000, 2));
        assert_eq!((batch.retry(), batch.count), (Retry::Write, 2));
        batch.prepare(&server(48_000_000, 3));
        assert_eq!((batch.retry(), batch.count), (Retry::No, 3));
        batch.prepare(&server(1_150, 3));
        assert_eq!((batch.retry(), batch.count), (Retry::Write, 2), "split by size");
    });
}

#[test]
fn a_retry_holds_the_same_however_long_the_fields_of_the_driver_are() {
    let statements: Vec<Statement> = (0..20).map(|_| statement(false, 80)).collect();
    for limit in 2_000..2_300 {
        let server = server(limit, 100);
        with_batch(&statements, |mut batch| {
            let first = write(&mut batch, &server, false);
            let held = batch.count;
            assert!(held > 1 && held < 20);
            let again = write(&mut batch, &server, true);
            assert_eq!(batch.count, held);
            assert!(again.len() > first.len());
            assert!(
                again.len() <= usize::try_from(limit).unwrap(),
                "{} of {limit}",
                again.len()
            );
            // Not even another server's limits change it.
            write(&mut batch, &super::tests::server(1_500, SMALL_BATCHES), true);
            assert_eq!(batch.count, held);
        });
    }
}

proptest! {
    #[test]
    fn a_command_holds_the_longest_prefix_that_the_limits_allow(
        models in prop::collection::vec((any::<bool>(), 0_usize..400), 1..30),
        max_message_size in 1_500_i64..4_000,
        max_batch_size in 1_usize..12,
    ) {
        let statements: Vec<Statement> =
            models.iter().map(|(multi, size)| statement(*multi, *size)).collect();
        let server = server(max_message_size, max_batch_size);
        with_batch(&statements, |mut batch| {
            let bytes = write(&mut batch, &server, true);
            let held = &statements[..batch.count];
            assert!(!held.is_empty() && held.len() <= max_batch_size);
            let limit = usize::try_from(max_message_size).unwrap();
            assert!(held.len() == 1 || bytes.len() <= limit, "{} of {limit}", bytes.len());
            let multi = held.iter().any(|statement| statement.multi);
            assert_eq!(batch.retry() == Retry::No, multi);
            assert_eq!(batch.batch.sent, held.len());
            // One more would not have fitted.
            if let Some(next) = statements.get(held.len()) && held.len() < max_batch_size {
                let size = next.bytes.as_bytes().len();
                assert!(bytes.len() + size > limit - crate::operation::RESERVED);
            }
        });
    }
}
