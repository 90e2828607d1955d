//! Operations on GridFS buckets.

use marula_driver::{
    Error, GridFsBucket, GridFsFile,
    bson::{Binary, BinarySubtype, Bson, Document},
};

use super::{
    Done, Output,
    args::{Args, set},
    collected, optional,
};
use crate::unified::{
    matcher::bytes_of_hex,
    stop::{Step, failed},
};

pub(super) async fn run(bucket: &GridFsBucket, name: &str, args: Args) -> Step<Option<Done>> {
    Ok(Some(match name {
        "upload" | "uploadWithId" => upload(bucket, name, args).await?,
        "download" => download(bucket, args).await?,
        "downloadByName" => download_by_name(bucket, args).await?,
        "delete" | "deleteByName" => delete(bucket, name, args).await?,
        "rename" | "renameByName" => rename(bucket, name, args).await?,
        "drop" => drop_bucket(bucket, args).await?,
        "find" => find(bucket, args).await?,
        "findOne" => find_one(bucket, args).await?,
        _ => return Ok(None),
    }))
}

/// The bytes of the argument `source`: `{ $$hexBytes: "00ff" }`.
fn source(args: &mut Args) -> Step<Vec<u8>> {
    let source = args.required("source", Args::document)?;
    match source.get_str("$$hexBytes").ok().and_then(bytes_of_hex) {
        Some(bytes) if source.len() == 1 => Ok(bytes),
        _ => failed(format!("invalid source {source}")),
    }
}

async fn upload(bucket: &GridFsBucket, name: &str, mut args: Args) -> Step<Done> {
    let source = source(&mut args)?;
    let filename = args.required("filename", Args::string)?;
    let mut action = if name == "upload" {
        bucket.upload_from_stream(filename, source.as_slice())
    } else {
        bucket.upload_from_stream_with_id(args.required("id", Args::bson)?, filename, source.as_slice())
    };
    // Fields of the files collection document that drivers need not store, and MD5.
    for deprecated in ["contentType", "disableMD5"] {
        args.take(deprecated);
    }
    set!(action, args;
        chunk_size <- u32("chunkSizeBytes"), metadata <- document("metadata"), timeout <- milliseconds("timeoutMS"));
    args.finish()?;
    Ok(action.await.map(Output::Value))
}

/// The bytes of a download as a result.
fn bytes(result: Result<u64, Error>, bytes: Vec<u8>) -> Done {
    result.map(|_| {
        Output::Value(Bson::Binary(Binary {
            subtype: BinarySubtype::Generic,
            bytes,
        }))
    })
}

async fn download(bucket: &GridFsBucket, mut args: Args) -> Step<Done> {
    let mut destination = Vec::new();
    let mut action = bucket.download_to_stream(args.required("id", Args::bson)?, &mut destination);
    set!(action, args; timeout <- milliseconds("timeoutMS"));
    args.finish()?;
    Ok(bytes(action.await, destination))
}

async fn download_by_name(bucket: &GridFsBucket, mut args: Args) -> Step<Done> {
    let mut destination = Vec::new();
    let filename = args.required("filename", Args::string)?;
    let mut action = bucket.download_to_stream_by_name(filename, &mut destination);
    if let Some(revision) = args.integer("revision")? {
        match i32::try_from(revision) {
            Ok(revision) => action = action.revision(revision),
            Err(_) => return failed(format!("invalid revision {revision}")),
        }
    }
    set!(action, args; timeout <- milliseconds("timeoutMS"));
    args.finish()?;
    Ok(bytes(action.await, destination))
}

async fn delete(bucket: &GridFsBucket, name: &str, mut args: Args) -> Step<Done> {
    let mut action = if name == "delete" {
        bucket.delete(args.required("id", Args::bson)?)
    } else {
        bucket.delete_by_name(args.required("filename", Args::string)?)
    };
    set!(action, args; timeout <- milliseconds("timeoutMS"));
    args.finish()?;
    Ok(action.await.map(|()| Output::Nothing))
}

async fn rename(bucket: &GridFsBucket, name: &str, mut args: Args) -> Step<Done> {
    let new_filename = args.required("newFilename", Args::string)?;
    let mut action = if name == "rename" {
        bucket.rename(args.required("id", Args::bson)?, new_filename)
    } else {
        bucket.rename_by_name(args.required("filename", Args::string)?, new_filename)
    };
    set!(action, args; timeout <- milliseconds("timeoutMS"));
    args.finish()?;
    Ok(action.await.map(|()| Output::Nothing))
}

async fn drop_bucket(bucket: &GridFsBucket, mut args: Args) -> Step<Done> {
    let mut action = bucket.drop();
    set!(action, args; timeout <- milliseconds("timeoutMS"));
    args.finish()?;
    Ok(action.await.map(|()| Output::Nothing))
}

async fn find(bucket: &GridFsBucket, mut args: Args) -> Step<Done> {
    let mut action = bucket.find(args.required("filter", Args::document)?);
    set!(action, args;
        sort <- document("sort"), skip <- u64("skip"), limit <- integer("limit"), batch_size <- u32("batchSize"),
        max_time <- milliseconds("maxTimeMS"), allow_disk_use <- boolean("allowDiskUse"),
        no_cursor_timeout <- boolean("noCursorTimeout"), timeout <- milliseconds("timeoutMS"));
    args.finish()?;
    let cursor = action.await;
    Ok(collected(cursor.map(marula_driver::Cursor::<GridFsFile>::with_type::<Document>)).await)
}

async fn find_one(bucket: &GridFsBucket, mut args: Args) -> Step<Done> {
    let mut action = bucket
        .find_one(args.required("filter", Args::document)?)
        .with_type::<Document>();
    set!(action, args;
        sort <- document("sort"), skip <- u64("skip"), max_time <- milliseconds("maxTimeMS"),
        allow_disk_use <- boolean("allowDiskUse"), timeout <- milliseconds("timeoutMS"));
    args.finish()?;
    Ok(action.await.map(optional))
}
