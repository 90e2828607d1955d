//! The tasks of the specified benchmarks with the driver and the ODM of this project.
//! `official/src/suite` has those of the official driver.

mod client_bulk_write;
mod codec;
mod gridfs;
mod multi;
mod odm;
mod odm_models;
mod parallel;
mod place;
mod single;

use std::process::ExitCode;

use marula_bench_shared::harness::{Assignment, Body, Failure, Missing, Task, serve};

fn main() -> ExitCode {
    serve(prepare)
}

const NO_JOINS: Missing = Missing("not supported: joins");

async fn prepare(assignment: Assignment) -> Result<Box<dyn Body>, Failure> {
    Ok(match assignment.task {
        Task::FlatEncode | Task::DeepEncode | Task::FullEncode => Box::new(codec::Encode::new(&assignment)?),
        Task::FlatDecode | Task::DeepDecode | Task::FullDecode => Box::new(codec::Decode::new(&assignment)?),
        Task::RunCommand => Box::new(single::RunCommand::new(&assignment).await?),
        Task::FindOneById => Box::new(single::FindOneById::new(&assignment).await?),
        Task::SmallInsertOne | Task::LargeInsertOne => Box::new(single::InsertOne::new(&assignment).await?),
        Task::FindMany => Box::new(multi::FindMany::new(&assignment).await?),
        Task::SmallBulkInsert | Task::LargeBulkInsert => Box::new(multi::BulkInsert::new(&assignment).await?),
        Task::SmallCollectionBulkWrite | Task::LargeCollectionBulkWrite => {
            Box::new(multi::BulkWriteInsert::new(&assignment).await?)
        }
        Task::SmallClientBulkWrite | Task::LargeClientBulkWrite => {
            Box::new(client_bulk_write::ClientBulkWriteInsert::new(&assignment).await?)
        }
        Task::MixedClientBulkWrite => {
            Box::new(client_bulk_write::ClientBulkWriteMixed::new(&assignment).await?)
        }
        Task::MixedCollectionBulkWrite => Box::new(multi::BulkWriteMixed::new(&assignment).await?),
        Task::TransactionTwoInserts => Box::new(single::Transactions::new(&assignment).await?),
        Task::LdjsonImport => Box::new(parallel::Import::new(&assignment).await?),
        Task::LdjsonExport => Box::new(parallel::Export::new(&assignment).await?),
        Task::OdmSmallCreation => odm::small_creation(&assignment).await?,
        Task::OdmSmallUpdate => odm::small_update(&assignment).await?,
        Task::OdmSmallFind => odm::small_find(&assignment).await?,
        Task::OdmLargeCreation => odm::large_creation(&assignment).await?,
        Task::OdmLargeUpdate => odm::large_update(&assignment).await?,
        Task::OdmNestedCreation => odm::nested_creation(&assignment).await?,
        Task::OdmNestedUpdate => odm::nested_update(&assignment).await?,
        Task::OdmNestedFind => odm::nested_find(&assignment).await?,
        Task::OdmNestedFindArray => odm::nested_find_array(&assignment).await?,
        Task::GridFsUpload | Task::GridFsMultiUpload => Box::new(gridfs::Upload::new(&assignment).await?),
        Task::GridFsDownload | Task::GridFsMultiDownload => {
            Box::new(gridfs::Download::new(&assignment).await?)
        }
        Task::OdmSmallFindForeignKey => return Err(NO_JOINS.into()),
    })
}
