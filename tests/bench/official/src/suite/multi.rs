//! The tasks with many documents.
//!
//! As in the client of this project, the write models of bulk writes are created in the measured
//! phase.

use std::hint::black_box;

use futures_util::TryStreamExt;
use marula_bench_shared::harness::{Assignment, Body, Failure, PhaseFuture};
use mongodb::{
    Namespace,
    bson::{Document, doc},
    options::{DeleteOneModel, InsertOneModel, ReplaceOneModel, WriteModel},
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
            let namespace = self.place.corpus.namespace();
            let models = self.documents.iter().map(|document| insert(&namespace, document));
            let done = self.place.database.client().bulk_write(models).await?;
            expect(
                "inserted",
                count(done.inserted_count),
                self.documents.len() as u64,
            )
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

    /// `corpus_1` to `corpus_10`.
    fn namespaces(&self) -> impl Iterator<Item = Namespace> + Clone + use<> {
        let database = self.place.database.name().to_owned();
        (1..=10).map(move |number| Namespace::new(database.clone(), format!("corpus_{number}")))
    }
}

fn insert(namespace: &Namespace, document: &Document) -> WriteModel {
    let model = InsertOneModel::builder().namespace(namespace.clone());
    model.document(document.clone()).build().into()
}

fn count(count: i64) -> u64 {
    u64::try_from(count).unwrap_or_default()
}

impl Body for BulkWriteMixed {
    fn setup(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.place.drop())
    }

    fn before(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            self.place.drop().await?;
            for namespace in self.namespaces() {
                self.place.database.create_collection(&namespace.coll).await?;
            }
            Ok(())
        })
    }

    fn run(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            let models = self.documents.iter().zip(self.namespaces().cycle());
            let models = models.flat_map(|(document, namespace)| {
                [
                    insert(&namespace, document),
                    ReplaceOneModel::builder()
                        .namespace(namespace.clone())
                        .filter(doc! {})
                        .replacement(document.clone())
                        .build()
                        .into(),
                    DeleteOneModel::builder()
                        .namespace(namespace)
                        .filter(doc! {})
                        .build()
                        .into(),
                ]
            });
            let done = self.place.database.client().bulk_write(models).await?;
            let all = self.documents.len() as u64;
            expect("inserted", count(done.inserted_count), all)?;
            expect("replaced", count(done.matched_count), all)?;
            expect("deleted", count(done.deleted_count), all)
        })
    }

    fn teardown(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.place.drop())
    }
}
