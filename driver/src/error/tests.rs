//! Tests of the texts and predicates of errors.

use std::error::Error as _;

use super::*;

fn command(code: i32) -> Error {
    Error::new(ErrorKind::Command(CommandError {
        code,
        ..CommandError::default()
    }))
}

#[test]
fn temporary_errors_are_unavailable() {
    let network = Error::network(NetworkPhase::Read, std::io::ErrorKind::ConnectionReset.into());
    let interrupted = Error::new(ErrorKind::BulkWrite(Box::new(BulkWriteError {
        interrupted_by: Some(network.clone()),
        ..BulkWriteError::default()
    })));
    let concern = Error::new(ErrorKind::Write(WriteFailure {
        write_concern_error: Some(WriteConcernError {
            code: 189,
            ..WriteConcernError::default()
        }),
        ..WriteFailure::default()
    }));
    let overloaded = command(462).with_labels([SYSTEM_OVERLOADED_ERROR.to_owned()]);
    for error in [
        network,
        interrupted,
        concern,
        overloaded,
        command(10107),
        command(6),
    ] {
        assert!(error.is_unavailable(), "{error}");
    }
    let refused = Error::new(ErrorKind::Write(WriteFailure {
        write_error: Some(WriteError::default()),
        ..WriteFailure::default()
    }));
    for error in [
        refused,
        command(11000),
        command(50),
        Error::new(ErrorKind::Shutdown),
    ] {
        assert!(!error.is_unavailable(), "{error}");
    }
}

#[test]
fn the_error_of_a_performed_command_is_not_temporary() {
    let network = Error::network(NetworkPhase::Read, std::io::ErrorKind::TimedOut.into()).with_labels([
        RETRYABLE_WRITE_ERROR.to_owned(),
        TRANSIENT_TRANSACTION_ERROR.to_owned(),
    ]);
    let vault = Error::from(EncryptionError::KeyVault(network));
    assert!(vault.is_unavailable() && vault.is_network() && !vault.labels().is_empty());
    let reply = Error::from(EncryptionError::Reply(vault));
    for error in [reply.clone(), reply.into_timeout()] {
        assert!(!error.is_unavailable() && !error.is_network(), "{error:?}");
        assert!(
            error.labels().is_empty() && error.is_encryption() && error.is_timeout(),
            "{error:?}"
        );
        let text = format!("{error:#}");
        for part in ["performed the command", "key vault"] {
            assert!(text.contains(part), "{text}");
        }
    }
}

fn login(code: i32) -> Error {
    let refusal = CommandError {
        code,
        ..CommandError::default()
    };
    AuthenticationError::new("SCRAM-SHA-256", AuthenticationFailure::Refused(refusal)).into()
}

fn cleared_by(cause: Error) -> Error {
    Error::new(ErrorKind::Pool(PoolError::Cleared {
        address: ServerAddress::tcp("a", 1),
        cause: Some(Box::new(cause)),
    }))
}

#[test]
fn authentication_errors_without_rejected_credentials_are_unavailable() {
    for (code, expected) in [(1, true), (6, true), (91, true), (18, false), (8000, false)] {
        assert_eq!(login(code).is_unavailable(), expected, "{code}");
        assert_eq!(
            cleared_by(login(code)).is_unavailable(),
            expected,
            "{code}, through the pool"
        );
    }
    assert!(cleared_by(command(10107)).is_unavailable());
}

/// The texts of the error and of its sources.
fn chain(error: &Error) -> Vec<String> {
    let mut texts = vec![error.to_string()];
    let mut source = error.source();
    while let Some(error) = source {
        texts.push(error.to_string());
        source = error.source();
    }
    texts
}

#[test]
fn an_error_text_does_not_contain_that_of_its_source() {
    let io = || std::io::Error::new(std::io::ErrorKind::InvalidData, command(1));
    let network = || Error::network(NetworkPhase::Connect, io()).with_address(&ServerAddress::tcp("a", 1));
    let selection = Error::new(ErrorKind::ServerSelection(ServerSelectionError {
        wanted: "a write".to_owned(),
        timeout: std::time::Duration::from_secs(1),
        topology: format!("Unknown with a:1 (Unknown: {})", network().kind()),
        cause: Some(Box::new(network())),
        summary: "Unknown with a:1 (Unknown)".to_owned(),
        end: SelectionEnd::TimedOut,
    }));
    let interrupted = Error::new(ErrorKind::BulkWrite(Box::new(BulkWriteError {
        interrupted_by: Some(network()),
        ..BulkWriteError::default()
    })))
    .with_address(&ServerAddress::tcp("a", 1));
    assert_eq!(format!("{interrupted:#}").matches("(server ").count(), 1);
    let encode = crate::bson::to_vec(&1).unwrap_err();
    let decode = crate::bson::from_slice::<u8>(&[]).unwrap_err();
    for error in [
        network(),
        cleared_by(network()),
        cleared_by(selection.clone()),
        selection,
        interrupted,
        encode.into(),
        decode.into(),
        login(18),
    ] {
        let texts = chain(&error);
        for pair in texts.windows(2) {
            assert!(!pair[0].contains(&pair[1]), "{texts:#?}");
        }
        assert_eq!(format!("{error:#}"), texts.join(": "));
    }
}

#[test]
fn the_source_of_a_selection_error_is_the_network_error() {
    let cause = |kind: std::io::ErrorKind| {
        let network = Error::network(NetworkPhase::TlsHandshake, kind.into());
        let error = Error::new(ErrorKind::ServerSelection(ServerSelectionError {
            wanted: String::new(),
            timeout: std::time::Duration::ZERO,
            topology: String::new(),
            cause: Some(Box::new(network)),
            summary: String::new(),
            end: SelectionEnd::TimedOut,
        }));
        let source = error
            .source()
            .and_then(|source| source.downcast_ref::<Error>())
            .cloned();
        match source.unwrap().kind() {
            ErrorKind::Network(network) => network.io_kind(),
            other => panic!("{other:?}"),
        }
    };
    for kind in [
        std::io::ErrorKind::InvalidData,
        std::io::ErrorKind::ConnectionRefused,
    ] {
        assert_eq!(cause(kind), kind);
    }
}

#[test]
fn the_codes_of_a_client_bulk_write_are_those_of_its_first_write_concern_error() {
    let concern = |code| WriteConcernError {
        code,
        ..WriteConcernError::default()
    };
    let error = Error::new(ErrorKind::ClientBulkWrite(Box::new(ClientBulkWriteError {
        write_concern_errors: vec![concern(64), concern(91)],
        ..ClientBulkWriteError::default()
    })));
    assert_eq!(error.code(), Some(64));
    assert_eq!(error.write_concern_error(), Some(&concern(64)));
}

#[test]
fn a_write_may_have_a_write_error_and_a_write_concern_error() {
    let error = Error::new(ErrorKind::Write(WriteFailure {
        write_error: Some(WriteError {
            code: 11000,
            ..WriteError::default()
        }),
        write_concern_error: Some(WriteConcernError {
            code: 91,
            ..WriteConcernError::default()
        }),
    }));
    assert_eq!((error.code(), error.code_name()), (Some(11000), None));
    assert!(error.is_duplicate_key() && error.is_state_change() && error.is_server_shutdown());
    assert_eq!(error.write_concern_error().map(|concern| concern.code), Some(91));
    assert!(
        error.to_string().contains("11000") && error.to_string().contains("91"),
        "{error}"
    );
}

#[test]
fn a_write_concern_error_without_code_is_classified_by_its_message() {
    let concern = |message: &str| {
        Error::new(ErrorKind::Write(WriteFailure {
            write_concern_error: Some(WriteConcernError {
                message: message.to_owned(),
                ..WriteConcernError::default()
            }),
            ..WriteFailure::default()
        }))
    };
    assert!(concern("not master").is_state_change() && concern("node is recovering").is_state_change());
    assert!(!concern("waiting for replication timed out").is_state_change());
}

#[test]
fn a_reply_is_lost_after_these_errors() {
    let network = || Error::network(NetworkPhase::Read, std::io::ErrorKind::ConnectionReset.into());
    for error in [
        network(),
        network().into_timeout(),
        Error::protocol("not a reply"),
    ] {
        assert!(error.is_reply_lost(), "{error}");
    }
    for error in [
        Error::from(EncryptionError::KeyVault(network())),
        Error::from(EncryptionError::KeyVault(network())).into_timeout(),
        Error::from(EncryptionError::Reply(network())),
        command(11000),
    ] {
        assert!(!error.is_reply_lost(), "{error}");
    }
}
