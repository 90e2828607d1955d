//! The tasks with many documents.
//!
//! The write models of bulk writes are created in the measured phase, because creating one encodes
//! its document, which is part of the write.

use std::hint::black_box;

use marula_bench_shared::harness::{Assignment, Body, Failure, PhaseFuture};
use marula_driver::{
    WriteModel,
    bson::{Document, doc},
};

use crate::place::{Place, copies, document, expect};

pub(crate) struct FindMany {
    place: Place,
    document: Document,
    units: u64,
}

impl FindMany {
    pub(crate) async fn new(assignment: &Assignment) -> Result<Self, Failure> {
        Ok(Self {
            place: Place::new(assignment).await?,
            document: document(assignment)?,
            units: assignment.units,
        })
    }
}

impl Body for FindMany {
    fn setup(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.place.fill(&self.document, self.units))
    }

    fn run(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            let mut cursor = self.place.corpus.find(doc! {}).await?;
            let mut found = 0;
            while let Some(document) = cursor.try_next().await? {
                black_box(document);
                found += 1;
            }
            expect("found", found, self.units)
        })
    }

    fn teardown(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.place.drop())
    }
}

pub(crate) struct BulkInsert {
    place: Place,
    documents: Vec<Document>,
}

impl BulkInsert {
    pub(crate) async fn new(assignment: &Assignment) -> Result<Self, Failure> {
        Ok(Self {
            place: Place::new(assignment).await?,
            documents: copies(&document(assignment)?, assignment.units)?,
        })
    }
}

impl Body for BulkInsert {
    fn setup(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.place.drop())
    }

    fn before(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.place.fresh())
    }

    fn run(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            let done = self.place.corpus.insert_many(&self.documents).await?;
            let (done, all) = (done.inserted_ids.len(), self.documents.len());
            expect("inserted", done as u64, all as u64)
        })
    }

    fn teardown(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.place.drop())
    }
}

pub(crate) struct BulkWriteInsert {
    place: Place,
    documents: Vec<Document>,
}

impl BulkWriteInsert {
    pub(crate) async fn new(assignment: &Assignment) -> Result<Self, Failure> {
        Ok(Self {
            place: Place::new(assignment).await?,
            documents: copies(&document(assignment)?, assignment.units)?,
        })
    }
}

impl Body for BulkWriteInsert {
    fn setup(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.place.drop())
    }

    fn before(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.place.fresh())
    }

    fn run(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            let models = self.documents.iter().map(WriteModel::insert_one);
            let done = self.place.corpus.bulk_write(models).await?;
            expect("inserted", done.inserted_count, self.documents.len() as u64)
        })
    }

    fn teardown(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.place.drop())
    }
}

pub(crate) struct BulkWriteMixed {
    place: Place,
    documents: Vec<Document>,
}

impl BulkWriteMixed {
    pub(crate) async fn new(assignment: &Assignment) -> Result<Self, Failure> {
        Ok(Self {
            place: Place::new(assignment).await?,
            documents: copies(&document(assignment)?, assignment.units)?,
        })
    }
}

impl Body for BulkWriteMixed {
    fn setup(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.place.drop())
    }

    fn before(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.place.fresh())
    }

    fn run(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            let models = self.documents.iter().flat_map(|document| {
                [
                    WriteModel::insert_one(document),
                    WriteModel::replace_one(doc! {}, document),
                    WriteModel::delete_one(doc! {}),
                ]
            });
            let done = self.place.corpus.bulk_write(models).await?;
            let all = self.documents.len() as u64;
            expect("inserted", done.inserted_count, all)?;
            expect("replaced", done.matched_count, all)?;
            expect("deleted", done.deleted_count, all)
        })
    }

    fn teardown(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.place.drop())
    }
}
