//! The BSON tasks: encodes and decodes `Document`s.

use std::hint::black_box;

use marula_bench_shared::harness::{Assignment, Body, Failure, PhaseFuture, Task, data::Archive};
use mongodb::bson::Document;

fn document(assignment: &Assignment) -> Result<Document, Failure> {
    let file = match assignment.task {
        Task::FlatEncode | Task::FlatDecode => "flat_bson.json",
        Task::DeepEncode | Task::DeepDecode => "deep_bson.json",
        _ => "full_bson.json",
    };
    let text = assignment.data.text(Archive::ExtendedBson, file)?;
    Ok(serde_json::from_str(&text)?)
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
                black_box(black_box(&self.document).to_vec()?);
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
            bytes: document(assignment)?.to_vec()?,
            units: assignment.units,
        })
    }
}

impl Body for Decode {
    fn run(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            for _ in 0..self.units {
                black_box(Document::from_reader(black_box(self.bytes.as_slice()))?);
            }
            Ok(())
        })
    }
}
