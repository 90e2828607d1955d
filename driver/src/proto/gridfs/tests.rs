//! Tests of the chunks, the files, the revisions and the indexes.

use super::{sequence::Layout, *};
use crate::{
    bson::{
        Binary, BinarySubtype, Bson, Document, ObjectId, RawDocumentBuf, Regex, Timestamp, doc, raw::CString,
        to_raw_document,
    },
    error::{ChunkFault, ErrorKind, GridFsError},
};

fn layout(length: u64, chunk_size: u32) -> Layout {
    Layout { length, chunk_size }
}

fn chunk(n: impl Into<Bson>, data: &[u8]) -> RawDocumentBuf {
    let data = Binary {
        subtype: BinarySubtype::Generic,
        bytes: data.to_vec(),
    };
    to_raw_document(&doc! { "_id": 1, "files_id": 7, "n": n.into(), "data": data }).expect("a chunk")
}

#[test]
fn chunks_of_a_range_are_calculated() {
    let file = layout(10, 4);
    assert_eq!(file.chunk_count(), 3);
    assert_eq!(file.bytes_of(2), 8..10);
    assert_eq!(file.bytes_of(3), 10..10);
    assert_eq!(file.chunks_of(&(0..10)), 0..3);
    assert_eq!(file.chunks_of(&(4..8)), 1..2);
    assert_eq!(file.chunks_of(&(5..5)), 1..2);
    assert_eq!(file.chunks_of(&(10..10)), 2..3);
    assert_eq!(layout(0, 4).chunk_count(), 0);
    assert_eq!(layout(u64::MAX, 1).chunk_count(), u64::MAX);
    assert_eq!(layout(u64::MAX, u32::MAX).bytes_of(u64::MAX), u64::MAX..u64::MAX);
}

#[test]
fn a_sequence_of_chunks_is_checked() {
    let mut chunks = ChunkSequence::new(layout(10, 4), 1..9);
    assert_eq!(chunks.check(&chunk(0, b"abcd")), Ok(1..4));
    assert_eq!(chunks.check(&chunk(1_i64, b"efgh")), Ok(0..4));
    assert_eq!(chunks.finish(), Err((2, ChunkFault::Missing)));
    assert_eq!(chunks.check(&chunk(2.0, b"ij")), Ok(0..1));
    assert_eq!(chunks.finish(), Ok(()));
    assert_eq!(
        chunks.check(&chunk(3, b"")),
        Ok(0..0),
        "an empty chunk at the end is ignored"
    );
    assert_eq!(chunks.check(&chunk(3, b"x")), Err((3, ChunkFault::Extra)));
}

#[test]
fn wrong_chunks_are_named() {
    let start = || ChunkSequence::new(layout(10, 4), 0..10);
    assert_eq!(start().check(&chunk(1, b"abcd")), Err((0, ChunkFault::Missing)));
    let wrong = ChunkFault::WrongSize {
        expected: 4,
        found: 3,
    };
    assert_eq!(start().check(&chunk(0, b"abc")), Err((0, wrong)));
    let mut twice = start();
    twice.check(&chunk(0, b"abcd")).expect("the first chunk");
    assert_eq!(twice.check(&chunk(0, b"abcd")), Err((0, ChunkFault::Duplicate)));
    for n in [Bson::Null, Bson::Int32(-1), Bson::Double(0.5)] {
        assert_eq!(
            start().check(&chunk(n, b"abcd")),
            Err((0, ChunkFault::Malformed("n")))
        );
    }
    let without_data = to_raw_document(&doc! { "n": 0, "data": "abcd" }).expect("a document");
    assert_eq!(
        start().check(&without_data),
        Err((0, ChunkFault::Malformed("data")))
    );
}

#[test]
fn bytes_are_divided_into_chunk_documents() {
    let id = Bson::String("an id".to_owned());
    for step in 1..=11 {
        let mut buffer = ChunkBuffer::new(&id, 4).expect("the id is valid");
        let mut count = 0_u8;
        for piece in b"0123456789".chunks(step) {
            let mut rest = piece;
            while !rest.is_empty() {
                let new_id = || {
                    count += 1;
                    ObjectId::from_bytes([count; 12])
                };
                let taken = buffer.push(rest, new_id).expect("few chunks");
                rest = &rest[taken..];
            }
        }
        assert_eq!(buffer.take().len(), 2, "the last chunk is not complete");
        let mut buffer = ChunkBuffer::new(&id, 4).expect("the id is valid");
        let mut rest: &[u8] = b"0123456789";
        while !rest.is_empty() {
            let taken = buffer
                .push(rest, || ObjectId::from_bytes([9; 12]))
                .expect("few chunks");
            rest = &rest[taken..];
        }
        buffer.end().expect("a small chunk");
        assert_eq!(buffer.layout(), layout(10, 4));
        let expected = |n: i32, data: &[u8]| {
            let bytes = data.to_vec();
            let data = Binary {
                subtype: BinarySubtype::Generic,
                bytes,
            };
            doc! { "_id": ObjectId::from_bytes([9; 12]), "files_id": "an id", "n": n, "data": data }
        };
        let found: Vec<Document> = buffer
            .take()
            .iter()
            .map(|chunk| crate::bson::decode_document(chunk.as_bytes()).expect("a document"))
            .collect();
        assert_eq!(
            found,
            [expected(0, b"0123"), expected(1, b"4567"), expected(2, b"89")]
        );
    }
}

#[test]
fn empty_files_have_no_chunks() {
    let mut buffer = ChunkBuffer::new(&Bson::Null, 4).expect("the id is valid");
    assert_eq!(buffer.push(b"", ObjectId::new).expect("no chunk"), 0);
    buffer.end().expect("no chunk");
    assert!(buffer.take().is_empty());
}

#[test]
fn a_buffer_is_full_after_4_mib_or_one_large_chunk() {
    let mut small = ChunkBuffer::new(&Bson::Null, 1).expect("the id is valid");
    for _ in 0..999 {
        small.push(b"x", ObjectId::new).expect("few chunks");
        assert!(!small.is_full());
    }
    small.push(b"x", ObjectId::new).expect("few chunks");
    assert!(small.is_full());
    let mut large = ChunkBuffer::new(&Bson::Null, 5 << 20).expect("the id is valid");
    let bytes = vec![0; 5 << 20];
    assert_eq!(
        large.push(&bytes, ObjectId::new).expect("few chunks"),
        bytes.len()
    );
    assert!(large.is_full());
}

#[test]
fn revisions_determine_sort_and_skip() {
    let of = |number| (Revision(number).direction(), Revision(number).skip());
    assert_eq!(of(0), (1, 0));
    assert_eq!(of(2), (1, 2));
    assert_eq!(of(-1), (-1, 0));
    assert_eq!(of(-2), (-1, 1));
    assert_eq!(of(i32::MIN), (-1, 2_147_483_647));
}

#[test]
fn indexes_are_compared_by_value() {
    let wanted = doc! { "filename": 1, "uploadDate": 1 };
    for keys in [
        doc! { "filename": 1.0, "uploadDate": 1_i64 },
        doc! { "filename": 1, "uploadDate": 1 },
    ] {
        assert!(has_index([&doc! { "_id": 1 }, &keys], &wanted));
    }
    for keys in [
        doc! { "uploadDate": 1, "filename": 1 },
        doc! { "filename": 1 },
        doc! { "filename": -1, "uploadDate": 1 },
        doc! { "filename": "text", "uploadDate": 1 },
        doc! { "filename": 1, "uploadDate": 1, "x": 1 },
    ] {
        assert!(!has_index([&keys], &wanted), "{keys}");
    }
}

#[test]
fn files_have_numbers_of_any_type() {
    for number in [
        Bson::Int32(5),
        Bson::Int64(5),
        Bson::Double(5.0),
        Bson::Decimal128("5".parse().expect("a number")),
    ] {
        let file = doc! { "_id": 1, "length": number.clone(), "chunkSize": number, "md5": "x" };
        let file = GridFsFile::from_document(file).expect("a valid file");
        assert_eq!((file.length, file.chunk_size), (5, 5));
        assert_eq!(file.other, doc! { "md5": "x" });
    }
}

#[test]
fn invalid_files_are_named() {
    let valid = doc! { "_id": 1, "length": 5, "chunkSize": 4 };
    for (field, value) in [
        ("length", Bson::Int32(-1)),
        ("length", Bson::Double(1.5)),
        ("length", Bson::Double(f64::NAN)),
        ("chunkSize", Bson::Int32(0)),
        ("chunkSize", Bson::Int64(1 << 40)),
        ("chunkSize", Bson::Null),
    ] {
        let mut file = valid.clone();
        file.insert(field, value);
        let error = GridFsFile::from_document(file).expect_err("the file is invalid");
        match error.kind() {
            ErrorKind::GridFs(GridFsError::InvalidFile { id, reason }) => {
                assert_eq!(*id, Bson::Int32(1));
                assert!(reason.contains(field), "{reason}");
            }
            other => panic!("expected an invalid file, found {other:?}"),
        }
    }
}

#[test]
fn a_file_with_other_fields_of_any_type_is_valid() {
    let mut file = doc! { "_id": 1, "length": 5, "chunkSize": 4 };
    let odd = doc! { "uploadDate": "today", "filename": 7, "metadata": ["a"] };
    file.extend(odd.clone());
    let file = GridFsFile::from_document(file).expect("a readable file");
    assert_eq!(
        (file.upload_date, file.filename, file.metadata),
        (None, None, None)
    );
    assert_eq!(file.other, odd);
    let nulls = doc! { "_id": 1, "length": 5, "chunkSize": 4, "uploadDate": null, "filename": null, "metadata": null };
    let file = GridFsFile::from_document(nulls).expect("a readable file");
    assert_eq!((file.filename, file.other), (None, doc! {}));
}

#[test]
fn values_that_no_server_accepts_are_no_ids() {
    let regex = Bson::RegularExpression(Regex {
        pattern: CString::try_from("").expect("a pattern"),
        options: CString::try_from("").expect("options"),
    });
    for id in [
        regex,
        Bson::Array(vec![Bson::Int32(1)]),
        Bson::Undefined,
        doc! { "$ne": null }.into(),
        doc! { "a": 1, "$b": 1 }.into(),
        doc! { "$ref": "c" }.into(),
        doc! { "$id": 1, "$ref": "c" }.into(),
        doc! { "$ref": 1, "$id": 1 }.into(),
        doc! { "$ref": "c", "$id": 1, "$db": 1 }.into(),
        doc! { "$ref": "c", "$id": 1, "$gt": 1 }.into(),
    ] {
        assert!(!is_valid_id(&id) && !is_valid_id_of_new_file(&id), "{id}");
    }
    for id in [
        Bson::Null,
        Bson::MinKey,
        doc! {}.into(),
        doc! { "a": { "$gt": 1 } }.into(),
        doc! { "$ref": "c", "$id": 1 }.into(),
        doc! { "$ref": "c", "$id": 1, "$db": "d", "x": 1 }.into(),
        Bson::Timestamp(Timestamp {
            time: 0,
            increment: 1,
        }),
    ] {
        assert!(is_valid_id(&id) && is_valid_id_of_new_file(&id), "{id}");
    }
    let zero = Bson::Timestamp(Timestamp {
        time: 0,
        increment: 0,
    });
    assert!(is_valid_id(&zero) && !is_valid_id_of_new_file(&zero));
}

#[test]
fn only_the_chunks_of_an_upload_are_selected() {
    let id = |n: u8| ObjectId::from_bytes([n; 12]);
    let batch = |ids: &[u8]| -> Vec<RawDocumentBuf> {
        let chunk = |n: &u8| to_raw_document(&doc! { "_id": id(*n), "files_id": 7 }).expect("a chunk");
        ids.iter().map(chunk).collect()
    };
    let file = Bson::Int32(7);
    let mut inserted = InsertedChunks::default();
    assert_eq!(inserted.filter(&file), None);
    inserted.begin_insert(&batch(&[3, 2]));
    let last = doc! { "files_id": 7, "_id": { "$in": [id(3), id(2)] } };
    assert_eq!(inserted.filter(&file), Some(last));
    inserted.insert_succeeded();
    let counted = doc! { "files_id": 7, "n": { "$lt": 2_i64 }, "_id": { "$gte": id(2), "$lte": id(3) } };
    assert_eq!(inserted.filter(&file), Some(counted));
    inserted.begin_insert(&batch(&[5]));
    let all = doc! { "$gte": id(2), "$lte": id(5) };
    let both = doc! {
        "files_id": 7,
        "$or": [{ "n": { "$lt": 2_i64 }, "_id": all.clone() }, { "_id": { "$in": [id(5)] } }],
    };
    assert_eq!(inserted.filter(&file), Some(both));
    // The result of the insert was unknown.
    inserted.begin_insert(&batch(&[4]));
    assert_eq!(inserted.filter(&file), Some(doc! { "files_id": 7, "_id": all }));
}
