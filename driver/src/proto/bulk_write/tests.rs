//! Tests of splitting and merging.

use std::sync::Arc;

use super::*;
use crate::{
    Error, ErrorKind, Namespace, Result,
    bson::{Bson, Document, doc, to_vec},
    error::{ClientBulkWriteError, WriteConcernError, WriteFailure},
    types::write_result::ClientBulkWriteResult,
};

fn table<const N: usize>(names: [&str; N]) -> (NamespaceTable, [usize; N]) {
    let mut table = NamespaceTable::default();
    let indexes = names.map(|name| table.index_of(&Arc::new(Namespace::parse(name).unwrap())));
    (table, indexes)
}

fn write(size: usize, namespace: usize) -> Write {
    Write {
        size,
        namespace,
        is_multi: false,
    }
}

#[test]
fn equal_names_are_one_namespace() {
    let (mut table, indexes) = table(["d.a", "d.b", "d.a"]);
    assert_eq!(indexes, [0, 1, 0]);
    let same_name = Arc::new(Namespace::new("d.a", "c"));
    let other = Arc::new(Namespace::new("d", "a.c"));
    assert_eq!(table.index_of(&same_name), table.index_of(&other));
}

#[test]
fn a_batch_is_limited_by_the_number_of_writes() {
    let (mut table, [a]) = table(["d.a"]);
    let limits = Limits {
        writes: 2,
        bytes: 1000,
        single: 1000,
    };
    let batch = Batch::plan([write(10, a); 3], &mut table, limits);
    assert_eq!((batch.count, batch.bytes), (2, 20 + 17));
}

#[test]
fn a_batch_is_limited_by_the_size_of_its_ops_and_namespaces() {
    let (mut table, [a, b]) = table(["d.a", "d.b"]);
    let exactly = Limits {
        writes: 100,
        bytes: 10 + 17 + 10 + 17,
        single: 27,
    };
    let writes = [write(10, a), write(10, b)];
    assert_eq!(Batch::plan(writes, &mut table, exactly).count, 2);
    let less = Limits {
        bytes: exactly.bytes - 1,
        ..exactly
    };
    assert_eq!(Batch::plan(writes, &mut table, less).count, 1);
    // The namespace of the first write is not counted again.
    assert_eq!(Batch::plan([write(10, a); 3], &mut table, less).count, 3);
    // A command with one write has another limit.
    let one = Limits { bytes: 26, ..less };
    assert_eq!(Batch::plan(writes, &mut table, one).count, 1);
    let nothing = Limits { single: 26, ..less };
    assert_eq!(Batch::plan(writes, &mut table, nothing), Batch::default());
}

#[test]
fn a_batch_with_a_multi_write_is_not_retryable() {
    let (mut table, [a]) = table(["d.a"]);
    let multi = Write {
        is_multi: true,
        ..write(10, a)
    };
    let limits = Limits {
        writes: 2,
        bytes: 1000,
        single: 1000,
    };
    let batch = |writes: [Write; 3], table: &mut NamespaceTable| Batch::plan(writes, table, limits).is_multi;
    assert!(batch([write(10, a), multi, write(10, a)], &mut table));
    assert!(!batch([write(10, a), write(10, a), multi], &mut table));
}

const ID: Bson = Bson::Int32(7);

/// The writes at even positions are inserts, the others are updates.
fn written<'a>(position: usize) -> Option<Written<'a>> {
    if position.is_multiple_of(2) {
        Some(Written::Insert(&ID))
    } else {
        Some(Written::Update)
    }
}

fn succeeded(index: i32) -> Document {
    doc! { "ok": 1.0, "idx": index, "n": 1, "nModified": 1 }
}

fn failed(index: i32) -> Document {
    doc! { "ok": 0.0, "idx": index, "code": 11000, "errmsg": "duplicate", "n": 0,
    "keyPattern": { "_id": 1 }, "keyValue": { "_id": 1 } }
}

/// The counts of a reply with these fields; the others are 0.
fn summary(fields: &Document) -> Summary {
    let mut reply = doc! { "nInserted": 0, "nUpserted": 0, "nMatched": 0, "nModified": 0, "nDeleted": 0 };
    reply.extend(fields.clone());
    Summary::parse(&to_vec(&reply).unwrap()).unwrap()
}

/// Merges a command; returns whether the call continues.
fn command(
    merger: &mut ResultMerger,
    (offset, count): (usize, usize),
    reply: &Document,
    rows: &[Document],
) -> Result<bool> {
    merger.begin_command(offset, count, &summary(reply));
    for row in rows {
        if !merger.add_result(&to_vec(row).unwrap(), written)? {
            break;
        }
    }
    merger.end_command()
}

fn bulk_error(result: Result<ClientBulkWriteResult>) -> ClientBulkWriteError {
    match result.unwrap_err().kind() {
        ErrorKind::ClientBulkWrite(error) => (**error).clone(),
        other => panic!("{other:?}"),
    }
}

fn interrupted(merger: ResultMerger) -> Error {
    merger.interrupt(Error::invalid_reply("broken"))
}

#[test]
fn counts_and_results_of_commands_are_added() {
    let mut merger = ResultMerger::new(true, true);
    let reply = doc! { "nErrors": 0, "nInserted": 1, "nMatched": 1, "nModified": 1_i64 };
    assert!(command(&mut merger, (0, 2), &reply, &[succeeded(0), succeeded(1)]).unwrap());
    let upsert = doc! { "ok": 1.0, "idx": 1, "n": 1, "nModified": 0, "upserted": { "_id": null } };
    let reply = doc! { "nErrors": 0, "nInserted": 1, "nUpserted": 1 };
    assert!(command(&mut merger, (2, 2), &reply, &[succeeded(0), upsert]).unwrap());
    let result = merger.finish().unwrap();
    assert!(result.acknowledged);
    assert_eq!((result.inserted_count, result.upserted_count), (2, 1));
    assert_eq!((result.matched_count, result.modified_count), (1, 1));
    let verbose = result.verbose_results.unwrap();
    assert!(verbose.insert_results.keys().eq([&0, &2]));
    assert_eq!(verbose.update_results[&1].upserted_id, None);
    assert_eq!(verbose.update_results[&3].upserted_id, Some(Bson::Null));
    assert!(verbose.delete_results.is_empty());
}

#[test]
fn results_are_kept_only_if_they_are_verbose() {
    let mut merger = ResultMerger::new(true, false);
    command(&mut merger, (0, 1), &doc! { "nInserted": 1 }, &[succeeded(0)]).unwrap();
    assert_eq!(merger.finish().unwrap().verbose_results, None);
}

#[test]
fn an_ordered_bulk_write_ends_at_the_first_error() {
    let mut merger = ResultMerger::new(true, true);
    assert!(
        command(
            &mut merger,
            (0, 2),
            &doc! { "nInserted": 1, "nModified": 1 },
            &[succeeded(0)]
        )
        .unwrap()
    );
    let reply = doc! { "nErrors": 1, "nInserted": 0 };
    assert!(!command(&mut merger, (2, 3), &reply, &[failed(0), failed(1)]).unwrap());
    let error = bulk_error(merger.finish());
    assert_eq!(error.write_errors.len(), 1);
    assert_eq!(
        (error.write_errors[0].index, error.write_errors[0].code),
        (2, 11000)
    );
    assert_eq!(error.write_errors[0].key_value, Some(doc! { "_id": 1 }));
    assert_eq!(error.partial_result.unwrap().inserted_count, 1);
}

#[test]
fn an_unordered_bulk_write_collects_all_errors() {
    let mut merger = ResultMerger::new(false, false);
    let reply = doc! { "nErrors": 2 };
    assert!(command(&mut merger, (0, 2), &reply, &[failed(1), failed(0)]).unwrap());
    assert!(command(&mut merger, (2, 2), &doc! { "nErrors": 1 }, &[failed(0)]).unwrap());
    let error = bulk_error(merger.finish());
    let indexes: Vec<usize> = error.write_errors.iter().map(|error| error.index).collect();
    assert_eq!(indexes, [0, 1, 2]);
    // One write of the second command succeeded.
    assert!(error.partial_result.is_some());
}

#[test]
fn a_partial_result_requires_a_success() {
    for (ordered, count, row, is_set) in [
        (true, 2, failed(0), false),
        (true, 2, failed(1), true),
        (false, 1, failed(0), false),
        (false, 2, failed(0), true),
    ] {
        let mut merger = ResultMerger::new(ordered, false);
        command(&mut merger, (0, count), &doc! { "nErrors": 1 }, &[row]).unwrap();
        let error = bulk_error(merger.finish());
        assert_eq!(error.partial_result.is_some(), is_set, "{ordered} {count}");
    }
}

#[test]
fn write_concern_errors_do_not_end_the_call() {
    let concern_error = |code| {
        Error::new(ErrorKind::Write(WriteFailure {
            write_concern_error: Some(WriteConcernError {
                code,
                ..WriteConcernError::default()
            }),
            ..WriteFailure::default()
        }))
    };
    let mut merger = ResultMerger::new(true, false);
    for (offset, code) in [(0, 91), (1, 64)] {
        merger.write_concern_error(concern_error(code).with_labels(["Label".to_owned()]));
        assert!(command(&mut merger, (offset, 1), &doc! { "nInserted": 1 }, &[]).unwrap());
    }
    let error = merger.finish().unwrap_err();
    assert!(error.contains_label("Label"));
    assert_eq!(error.code(), Some(91));
    let error = bulk_error(Err(error));
    let codes: Vec<i32> = error
        .write_concern_errors
        .iter()
        .map(|error| error.code)
        .collect();
    assert_eq!(codes, [91, 64]);
    assert_eq!(error.partial_result.unwrap().inserted_count, 2);
}

#[test]
fn an_error_is_embedded_if_results_are_known() {
    let merger = ResultMerger::new(true, true);
    assert!(matches!(interrupted(merger).kind(), ErrorKind::InvalidReply(_)));
    let mut merger = ResultMerger::new(true, true);
    command(&mut merger, (0, 1), &doc! { "nInserted": 1 }, &[succeeded(0)]).unwrap();
    let error = bulk_error(Err(interrupted(merger)));
    assert!(error.error.is_some());
    assert_eq!(error.partial_result.unwrap().inserted_count, 1);
    // The position of the error in the ordered bulk write is unknown.
    let mut merger = ResultMerger::new(true, true);
    merger.begin_command(0, 2, &summary(&doc! { "nErrors": 1 }));
    assert!(matches!(interrupted(merger).kind(), ErrorKind::InvalidReply(_)));
}

#[test]
fn malformed_results_are_errors() {
    for row in [
        doc! { "ok": 1.0, "n": 1 },
        doc! { "ok": 1.0, "idx": 0 },
        doc! { "ok": 1.0, "idx": -1, "n": 1 },
        doc! { "ok": 1.0, "idx": 2, "n": 1 },
        doc! { "ok": 0.0, "idx": "0" },
    ] {
        let mut merger = ResultMerger::new(true, true);
        let error = command(
            &mut merger,
            (0, 2),
            &doc! { "nInserted": 1 },
            std::slice::from_ref(&row),
        );
        assert!(
            matches!(error.unwrap_err().kind(), ErrorKind::InvalidReply(_)),
            "{row}"
        );
    }
    // The error that the reply counts is missing.
    let mut merger = ResultMerger::new(false, true);
    let missing = command(&mut merger, (0, 2), &doc! { "nErrors": 1 }, &[]);
    assert!(missing.is_err());
}
