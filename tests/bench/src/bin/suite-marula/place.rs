//! Where the tasks work: one client, the database, the collection.

use marula_bench_shared::harness::{Assignment, COLLECTION, Failure, Task, data::Archive};
use marula_driver::{
    Client, Collection, Database,
    bson::{Document, from_extended_json},
    options::WriteConcern,
};

/// A connected client with the database of the task.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) database: Database,
    pub(crate) corpus: Collection<Document>,
}

impl Place {
    /// Write concern `w: 1`, otherwise the defaults.
    pub(crate) async fn new(assignment: &Assignment) -> Result<Self, Failure> {
        let client = Client::connect(assignment.uri()?).await?;
        let database = client
            .database(&assignment.database)
            .with_write_concern(WriteConcern::nodes(1));
        let corpus = database.collection(COLLECTION);
        Ok(Self { database, corpus })
    }

    /// For both ends of a task.
    pub(crate) async fn drop(&self) -> Result<(), Failure> {
        Ok(self.database.drop().await?)
    }

    /// An empty collection.
    pub(crate) async fn fresh(&self) -> Result<(), Failure> {
        self.corpus.drop().await?;
        Ok(self.database.create_collection(COLLECTION).await?)
    }

    /// An empty database with so many copies of a document.
    pub(crate) async fn fill(&self, document: &Document, count: u64) -> Result<(), Failure> {
        self.drop().await?;
        self.corpus.insert_many(&copies(document, count)?).await?;
        Ok(())
    }
}

/// The document of a task of the archive of single documents.
pub(crate) fn document(assignment: &Assignment) -> Result<Document, Failure> {
    let file = match assignment.task {
        Task::FindOneById | Task::FindMany => "tweet.json",
        Task::LargeInsertOne | Task::LargeBulkInsert | Task::LargeCollectionBulkWrite => "large_doc.json",
        _ => "small_doc.json",
    };
    Ok(from_extended_json(
        &assignment.data.text(Archive::Documents, file)?,
    )?)
}

pub(crate) fn copies(document: &Document, count: u64) -> Result<Vec<Document>, Failure> {
    Ok(vec![document.clone(); usize::try_from(count)?])
}

/// Whether as many were found or written as there must be.
pub(crate) fn expect(what: &str, found: u64, expected: u64) -> Result<(), Failure> {
    if found == expected {
        Ok(())
    } else {
        Err(format!("{what}: {found} instead of {expected}").into())
    }
}
