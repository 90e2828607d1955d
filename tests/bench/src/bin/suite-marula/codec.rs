//! The BSON tasks: encodes and decodes `Document`s.
//!
//! They compare `into_raw_document` and `bson::decode_document` of this driver with
//! `Document::to_vec` and `Document::from_reader` of crate bson, with a new buffer for each
//! document. Both programs use `bson::Document`.

use std::hint::black_box;

use marula_bench_shared::harness::{Assignment, Body, Failure, PhaseFuture, Task, data::Archive};
use marula_driver::bson::{Document, IntoDocument, decode_document, from_extended_json, to_vec};

fn document(assignment: &Assignment) -> Result<Document, Failure> {
    let file = match assignment.task {
        Task::FlatEncode | Task::FlatDecode => "flat_bson.json",
        Task::DeepEncode | Task::DeepDecode => "deep_bson.json",
        _ => "full_bson.json",
    };
    let text = assignment.data.text(Archive::ExtendedBson, file)?;
    Ok(from_extended_json(&text)?)
}

pub(crate) struct Encode {
    document: Document,
    units: u64,
}

impl Encode {
    pub(crate) fn new(assignment: &Assignment) -> Result<Self, Failure> {
        Ok(Self {
            document: document(assignment)?,
            units: assignment.units,
        })
    }
}

impl Body for Encode {
    fn run(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            for _ in 0..self.units {
                black_box(black_box(&self.document).into_raw_document()?);
            }
            Ok(())
        })
    }
}

pub(crate) struct Decode {
    bytes: Vec<u8>,
    units: u64,
}

impl Decode {
    pub(crate) fn new(assignment: &Assignment) -> Result<Self, Failure> {
        Ok(Self {
            bytes: to_vec(&document(assignment)?)?,
            units: assignment.units,
        })
    }
}

impl Body for Decode {
    fn run(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            for _ in 0..self.units {
                black_box(decode_document(black_box(&self.bytes))?);
            }
            Ok(())
        })
    }
}
