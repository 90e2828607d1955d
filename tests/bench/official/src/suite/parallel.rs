//! The tasks with files.

use std::{io::Write, path::PathBuf, sync::Arc};

use futures_util::TryStreamExt;
use marula_bench_shared::harness::{
    Assignment, Body, Failure, PhaseFuture,
    data::Archive,
    share::{share, workers},
};
use mongodb::bson::{Document, RawDocumentBuf, doc};
use tokio::{sync::Semaphore, task::JoinSet};

use crate::place::{Place, expect};

/// Number of documents of an exported file.
const PER_FILE: usize = 5_000;

fn sources(assignment: &Assignment) -> Result<Arc<Vec<PathBuf>>, Failure> {
    let files = assignment
        .data
        .files(Archive::Parallel, "ldjson_multi", assignment.units)?;
    Ok(Arc::new(files))
}

/// Inserts the documents of all files. Each worker takes the next file.
async fn import(place: &Place, files: &Arc<Vec<PathBuf>>) -> Result<(), Failure> {
    let (place, names) = (place.clone(), files.clone());
    share(files.len(), move |number| {
        let (place, names) = (place.clone(), names.clone());
        async move {
            let text = tokio::fs::read_to_string(&names[number]).await?;
            let documents: Result<Vec<Document>, _> = text.lines().map(serde_json::from_str).collect();
            place.corpus.insert_many(&documents?).ordered(false).await?;
            Ok(())
        }
    })
    .await
}

pub(crate) struct Import {
    place: Place,
    files: Arc<Vec<PathBuf>>,
}

impl Import {
    pub(crate) async fn new(assignment: &Assignment) -> Result<Self, Failure> {
        Ok(Self {
            place: Place::new(assignment).await?,
            files: sources(assignment)?,
        })
    }
}

impl Body for Import {
    fn setup(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.place.drop())
    }

    fn before(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.place.fresh())
    }

    fn run(&mut self) -> PhaseFuture<'_> {
        Box::pin(import(&self.place, &self.files))
    }

    fn after(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            let mut lines = 0;
            for file in self.files.iter() {
                lines += std::fs::read_to_string(file)?.lines().count();
            }
            let stored = self.place.corpus.count_documents(doc! {}).await?;
            expect("stored", stored, lines as u64)
        })
    }

    fn teardown(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.place.drop())
    }
}

/// Exports a collection: one cursor reads it, and one worker for each core writes files of JSON
/// lines.
pub(crate) struct Export {
    place: Place,
    files: Arc<Vec<PathBuf>>,
    folder: PathBuf,
    stored: u64,
}

impl Export {
    pub(crate) async fn new(assignment: &Assignment) -> Result<Self, Failure> {
        let process = std::process::id();
        Ok(Self {
            place: Place::new(assignment).await?,
            files: sources(assignment)?,
            folder: assignment.data.root().join(format!("export-{process}")),
            stored: 0,
        })
    }

    async fn export(&self) -> Result<(), Failure> {
        let permits = Arc::new(Semaphore::new(workers()));
        let mut writers = JoinSet::new();
        let corpus = self.place.corpus.clone_with_type::<RawDocumentBuf>();
        let mut cursor = corpus.find(doc! {}).await?;
        let mut batch = Vec::with_capacity(PER_FILE);
        let (mut found, mut more) = (0, true);
        while more {
            match cursor.try_next().await? {
                Some(document) => batch.push(document),
                None => more = false,
            }
            if batch.len() == PER_FILE || (!more && !batch.is_empty()) {
                found += batch.len() as u64;
                let path = self.folder.join(format!("{:03}.txt", writers.len()));
                let documents = std::mem::replace(&mut batch, Vec::with_capacity(PER_FILE));
                let permit = permits.clone().acquire_owned().await?;
                writers.spawn_blocking(move || {
                    let _permit = permit;
                    write(&path, &documents)
                });
            }
        }
        while let Some(written) = writers.join_next().await {
            written??;
        }
        expect("found", found, self.stored)
    }
}

fn write(path: &PathBuf, documents: &[RawDocumentBuf]) -> Result<(), Failure> {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    for document in documents {
        serde_json::to_writer(&mut file, document)?;
        file.write_all(b"\n")?;
    }
    file.flush()?;
    Ok(file.get_ref().sync_all()?)
}

impl Body for Export {
    fn setup(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            self.place.drop().await?;
            import(&self.place, &self.files).await?;
            self.stored = self.place.corpus.count_documents(doc! {}).await?;
            Ok(())
        })
    }

    fn before(&mut self) -> PhaseFuture<'_> {
        Box::pin(async { Ok(std::fs::create_dir_all(&self.folder)?) })
    }

    fn run(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.export())
    }

    fn after(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            let mut lines = 0;
            for file in std::fs::read_dir(&self.folder)? {
                lines += std::fs::read_to_string(file?.path())?.lines().count();
            }
            std::fs::remove_dir_all(&self.folder)?;
            expect("exported", lines as u64, self.stored)
        })
    }

    fn teardown(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.place.drop())
    }
}
