//! The tasks of the client bulk write. The write models are created in the measured phase, as in
//! `multi`.

use marula_bench_shared::harness::{Assignment, Body, Failure, PhaseFuture};
use marula_driver::{
    Collection,
    bson::{Document, doc},
    options::WriteConcern,
};

use crate::place::{Place, copies, document, expect};

pub(crate) struct ClientBulkWriteInsert {
    place: Place,
    documents: Vec<Document>,
}

impl ClientBulkWriteInsert {
    pub(crate) async fn new(assignment: &Assignment) -> Result<Self, Failure> {
        Ok(Self {
            place: Place::new(assignment).await?,
            documents: copies(&document(assignment)?, assignment.units)?,
        })
    }
}

impl Body for ClientBulkWriteInsert {
    fn setup(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.place.drop())
    }

    fn before(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.place.fresh())
    }

    fn run(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            let corpus = &self.place.corpus;
            let models = self
                .documents
                .iter()
                .map(|document| corpus.insert_one_model(document));
            let done = self
                .place
                .database
                .client()
                .bulk_write(models)
                .write_concern(WriteConcern::nodes(1))
                .await?;
            expect("inserted", done.inserted_count, self.documents.len() as u64)
        })
    }

    fn teardown(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.place.drop())
    }
}

pub(crate) struct ClientBulkWriteMixed {
    place: Place,
    /// `corpus_1` to `corpus_10`.
    collections: Vec<Collection<Document>>,
    documents: Vec<Document>,
}

impl ClientBulkWriteMixed {
    pub(crate) async fn new(assignment: &Assignment) -> Result<Self, Failure> {
        let place = Place::new(assignment).await?;
        let collection = |number| place.database.collection(&format!("corpus_{number}"));
        Ok(Self {
            collections: (1..=10).map(collection).collect(),
            place,
            documents: copies(&document(assignment)?, assignment.units)?,
        })
    }
}

impl Body for ClientBulkWriteMixed {
    fn setup(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.place.drop())
    }

    fn before(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            self.place.drop().await?;
            for collection in &self.collections {
                self.place.database.create_collection(collection.name()).await?;
            }
            Ok(())
        })
    }

    fn run(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            let steps = self.documents.iter().zip(self.collections.iter().cycle());
            let models = steps.flat_map(|(document, collection)| {
                [
                    collection.insert_one_model(document),
                    collection.replace_one_model(doc! {}, document),
                    collection.delete_one_model(doc! {}),
                ]
            });
            let done = self
                .place
                .database
                .client()
                .bulk_write(models)
                .write_concern(WriteConcern::nodes(1))
                .await?;
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
