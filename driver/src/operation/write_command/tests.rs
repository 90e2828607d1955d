//! Tests of the splitting into commands: which statements a command contains, whether it is
//! retryable, and that a retry contains the same statements.

use proptest::prelude::*;

use super::*;
use crate::{
    bson::{RawDocumentBuf, rawdoc},
    types::server_api::{ServerApi, ServerApiVersion},
};

const SMALL_BATCHES: usize = 3;

struct Statement {
    bytes: RawDocumentBuf,
    multi: bool,
}

fn statement(multi: bool, size: usize) -> Statement {
    Statement {
        bytes: rawdoc! { "q": {}, "u": { "$set": { "filler": "x".repeat(size) } } },
        multi,
    }
}

/// Statements whose sizes are known, as in bulk writes, or unknown, as for documents that are
/// serialized while they are sent.
struct Updates<'a> {
    all: &'a [Statement],
    is_measured: bool,
}

impl Statements for Updates<'_> {
    const KIND: WriteKind = WriteKind::Update;

    fn remaining(&self) -> usize {
        self.all.len()
    }

    fn position(&self, index: usize) -> usize {
        index
    }

    fn encoded_size(&self, index: usize) -> Option<usize> {
        self.is_measured.then(|| {
            self.all
                .get(index)
                .map(|statement| statement.bytes.as_bytes().len())
        })?
    }

    fn is_multi(&self, index: usize) -> bool {
        self.all[index].multi
    }

    fn overrides(&self) -> OperationOverrides {
        OperationOverrides::default()
    }

    fn write_options(&self, command: &mut CommandBuilder<'_>, _server: &HelloReply) {
        command.str("comment", "why");
    }

    fn append(&mut self, index: usize, buffer: &mut Vec<u8>) -> Result<()> {
        buffer.extend_from_slice(self.all[index].bytes.as_bytes());
        Ok(())
    }

    fn advance(&mut self, count: usize) -> Vec<(usize, Bson)> {
        self.all = &self.all[count..];
        Vec::new()
    }
}

fn server(max_message_size: i64, max_batch_size: usize) -> HelloReply {
    HelloReply {
        max_message_size_bytes: Some(max_message_size),
        max_write_batch_size: i64::try_from(max_batch_size).ok(),
        ..HelloReply::default()
    }
}

type Command<'c, 'a> = WriteCommand<'c, Updates<'a>>;

fn with_command(all: &[Statement], is_measured: bool, run: impl FnOnce(Command<'_, '_>)) {
    let namespace = Namespace::new("d", "c");
    let concern = WriteConcern::default();
    let mut statements = Updates { all, is_measured };
    run(WriteCommand::new(&namespace, &mut statements, &concern));
}

/// Writes the command as an attempt does. With `own_fields`, the fields that the driver adds have
/// the largest size that is reserved for them.
fn write(command: &mut Command<'_, '_>, server: &HelloReply, own_fields: bool) -> Vec<u8> {
    command.prepare(server);
    let mut bytes = Vec::new();
    let mut message = MessageWriter::begin(&mut bytes, 1, 48_000_000);
    let mut body = CommandBuilder::new(message.buffer);
    command.build(&mut body, server).unwrap();
    if own_fields {
        body.document("lsid", &rawdoc! { "id": "0123456789abcdef" });
        body.i64("txnNumber", 1);
        body.document("$clusterTime", &rawdoc! { "signature": "x".repeat(400) });
        body.server_api(ServerApi::new(ServerApiVersion::V1));
    }
    body.finish("d").unwrap();
    command.build_sequences(&mut message, server).unwrap();
    message.finish().unwrap();
    bytes
}

#[test]
fn only_the_statements_of_a_command_determine_its_retryability() {
    let statements = [statement(false, 1), statement(false, 1), statement(true, 1)];
    with_command(&statements, true, |mut command| {
        assert_eq!(
            command.properties().retry,
            Retry::No,
            "one command holds all three"
        );
        command.prepare(&server(48_000_000, 2));
        assert_eq!((command.properties().retry, command.count), (Retry::Write, 2));
        command.prepare(&server(48_000_000, 3));
        assert_eq!((command.properties().retry, command.count), (Retry::No, 3));
        command.prepare(&server(1_150, 3));
        assert_eq!(
            (command.properties().retry, command.count),
            (Retry::Write, 2),
            "split by size"
        );
    });
}

#[test]
fn a_retry_contains_the_same_statements_for_any_size_of_the_drivers_fields() {
    let statements: Vec<Statement> = (0..20).map(|_| statement(false, 80)).collect();
    for (limit, is_measured) in (2_000..2_300).flat_map(|limit| [(limit, true), (limit, false)]) {
        let server = server(limit, 100);
        with_command(&statements, is_measured, |mut command| {
            let first = write(&mut command, &server, false);
            let held = command.count;
            assert!(held > 1 && held < 20);
            let again = write(&mut command, &server, true);
            assert_eq!(command.count, held);
            assert!(again.len() > first.len());
            assert!(
                again.len() <= usize::try_from(limit).unwrap(),
                "{} of {limit}",
                again.len()
            );
            // The limits of another server do not change it.
            write(&mut command, &super::tests::server(1_500, SMALL_BATCHES), true);
            assert_eq!(command.count, held);
        });
    }
}

proptest! {
    #[test]
    fn a_command_contains_the_longest_prefix_that_the_limits_allow(
        is_measured: bool,
        models in prop::collection::vec((any::<bool>(), 0_usize..400), 1..30),
        max_message_size in 1_500_i64..4_000,
        max_batch_size in 1_usize..12,
    ) {
        let statements: Vec<Statement> =
            models.iter().map(|(multi, size)| statement(*multi && is_measured, *size)).collect();
        let server = server(max_message_size, max_batch_size);
        with_command(&statements, is_measured, |mut command| {
            let bytes = write(&mut command, &server, true);
            let held = &statements[..command.count];
            assert!(!held.is_empty() && held.len() <= max_batch_size);
            let limit = usize::try_from(max_message_size).unwrap();
            assert!(held.len() == 1 || bytes.len() <= limit, "{} of {limit}", bytes.len());
            let multi = held.iter().any(|statement| statement.multi);
            assert_eq!(command.properties().retry == Retry::No, multi);
            assert!(command.is_written);
            // One more statement would exceed the limits.
            if let Some(next) = statements.get(held.len()) && held.len() < max_batch_size {
                let size = next.bytes.as_bytes().len();
                assert!(bytes.len() + size > limit - crate::operation::RESERVED);
            }
        });
    }
}
