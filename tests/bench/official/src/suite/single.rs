//! The tasks with a single document.

use std::hint::black_box;

use marula_bench_shared::harness::{Assignment, Body, Failure, PhaseFuture};
use mongodb::bson::{Document, doc};

use crate::place::{Place, document, expect};

pub(crate) struct RunCommand {
    place: Place,
    units: u64,
}

impl RunCommand {
    pub(crate) async fn new(assignment: &Assignment) -> Result<Self, Failure> {
        Ok(Self {
            place: Place::new(assignment).await?,
            units: assignment.units,
        })
    }
}

impl Body for RunCommand {
    fn run(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            let hello = doc! { "hello": true };
            for _ in 0..self.units {
                black_box(self.place.database.run_command(hello.clone()).await?);
            }
            Ok(())
        })
    }
}

pub(crate) struct FindOneById {
    place: Place,
    document: Document,
    units: u64,
}

impl FindOneById {
    pub(crate) async fn new(assignment: &Assignment) -> Result<Self, Failure> {
        Ok(Self {
            place: Place::new(assignment).await?,
            document: document(assignment)?,
            units: assignment.units,
        })
    }

    fn ids(&self) -> impl Iterator<Item = i32> + use<> {
        1..=i32::try_from(self.units).unwrap_or(i32::MAX)
    }
}

impl Body for FindOneById {
    fn setup(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            self.place.drop().await?;
            let tweets: Vec<_> = self
                .ids()
                .map(|id| {
                    let mut tweet = doc! { "_id": id };
                    tweet.extend(self.document.clone());
                    tweet
                })
                .collect();
            self.place.corpus.insert_many(&tweets).await?;
            Ok(())
        })
    }

    fn run(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            for id in self.ids() {
                let found = self.place.corpus.find_one(doc! { "_id": id }).await?;
                black_box(found.ok_or("nothing was found")?);
            }
            Ok(())
        })
    }

    fn teardown(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.place.drop())
    }
}

pub(crate) struct InsertOne {
    place: Place,
    document: Document,
    units: u64,
}

impl InsertOne {
    pub(crate) async fn new(assignment: &Assignment) -> Result<Self, Failure> {
        Ok(Self {
            place: Place::new(assignment).await?,
            document: document(assignment)?,
            units: assignment.units,
        })
    }
}

impl Body for InsertOne {
    fn setup(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.place.drop())
    }

    fn before(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.place.fresh())
    }

    fn run(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            for _ in 0..self.units {
                black_box(self.place.corpus.insert_one(&self.document).await?);
            }
            Ok(())
        })
    }

    fn after(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            let stored = self.place.corpus.count_documents(doc! {}).await?;
            expect("stored", stored, self.units)
        })
    }

    fn teardown(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.place.drop())
    }
}

/// Transactions with two inserts, by the convenient API.
pub(crate) struct Transactions {
    place: Place,
    document: Document,
    units: u64,
}

impl Transactions {
    pub(crate) async fn new(assignment: &Assignment) -> Result<Self, Failure> {
        Ok(Self {
            place: Place::new(assignment).await?,
            document: document(assignment)?,
            units: assignment.units,
        })
    }
}

impl Body for Transactions {
    fn setup(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.place.drop())
    }

    fn before(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.place.fresh())
    }

    fn run(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            let client = self.place.database.client();
            let (corpus, document) = (&self.place.corpus, &self.document);
            for _ in 0..self.units {
                let mut session = client.start_session().await?;
                let done =
                    session
                        .start_transaction()
                        .and_run((corpus, document), |session, (corpus, document)| {
                            Box::pin(async move {
                                corpus.insert_one(*document).session(&mut *session).await?;
                                corpus.insert_one(*document).session(session).await
                            })
                        });
                black_box(done.await?);
            }
            Ok(())
        })
    }

    fn after(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            let stored = self.place.corpus.count_documents(doc! {}).await?;
            expect("stored", stored, 2 * self.units)
        })
    }

    fn teardown(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.place.drop())
    }
}
