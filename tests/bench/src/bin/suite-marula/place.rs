//! The client, the database and the collection of the tasks.

use marula_bench_shared::harness::{Assignment, COLLECTION, Failure, Task, data::Archive};
use marula_driver::{
    Client, Collection, Database,
    bson::{Document, from_extended_json},
    options::WriteConcern,
};

/// A client and the database of the task.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) database: Database,
    pub(crate) corpus: Collection<Document>,
}

impl Place {
    /// With write concern `w: 1`; other options have their defaults.
    pub(crate) async fn new(assignment: &Assignment) -> Result<Self, Failure> {
        let client = Client::connect(assignment.uri()?).await?;
        let database = client
            .database(&assignment.database)
            .with_write_concern(WriteConcern::nodes(1));
        let corpus = database.collection(COLLECTION);
        Ok(Self { database, corpus })
    }

    /// Drops the database, before and after a task.
    pub(crate) async fn drop(&self) -> Result<(), Failure> {
        Ok(self.database.drop().await?)
    }

    /// An empty collection.
    pub(crate) async fn fresh(&self) -> Result<(), Failure> {
        self.corpus.drop().await?;
        Ok(self.database.create_collection(COLLECTION).await?)
    }

    /// An empty database with `count` copies of a document.
    pub(crate) async fn fill(&self, document: &Document, count: u64) -> Result<(), Failure> {
        self.drop().await?;
        self.corpus.insert_many(&copies(document, count)?).await?;
        Ok(())
    }
}

/// The document of a task, from the archive `single_and_multi_document`.
pub(crate) fn document(assignment: &Assignment) -> Result<Document, Failure> {
    let file = match assignment.task {
        Task::FindOneById | Task::FindMany => "tweet.json",
        Task::LargeInsertOne
        | Task::LargeBulkInsert
        | Task::LargeCollectionBulkWrite
        | Task::LargeClientBulkWrite => "large_doc.json",
        _ => "small_doc.json",
    };
    Ok(from_extended_json(
        &assignment.data.text(Archive::Documents, file)?,
    )?)
}

pub(crate) fn copies(document: &Document, count: u64) -> Result<Vec<Document>, Failure> {
    Ok(vec![document.clone(); usize::try_from(count)?])
}

/// Checks the number of found or written documents.
pub(crate) fn expect(what: &str, found: u64, expected: u64) -> Result<(), Failure> {
    if found == expected {
        Ok(())
    } else {
        Err(format!("{what}: expected {expected}, got {found}").into())
    }
}
