//! `findOneAndUpdate`, `findOneAndReplace` and `findOneAndDelete`.

use marula_driver::{Collection, bson::Document};

use super::{
    Done,
    args::{Args, UpdateArgument, finish, set, set_write},
    optional, return_document,
};
use crate::unified::stop::Step;

macro_rules! common {
    ($action:ident, $args:ident) => {
        set!($action, $args; raw_data <- boolean("rawData"),
            sort <- document("sort"), projection <- document("projection"), hint <- hint("hint"),
            collation <- collation("collation"), let_vars <- document("let"), max_time <- milliseconds("maxTimeMS"),
            comment <- bson("comment"));
        set_write!($action, $args);
    };
}

macro_rules! changing {
    ($action:ident, $args:ident) => {
        common!($action, $args);
        set!($action, $args;
            upsert <- boolean("upsert"), bypass_document_validation <- boolean("bypassDocumentValidation"));
        if let Some(which) = return_document(&mut $args)? {
            $action = $action.return_document(which);
        }
    };
}

pub(super) async fn run(collection: &Collection<Document>, name: &str, mut args: Args) -> Step<Option<Done>> {
    let mut session = args.session();
    let filter = args.required("filter", Args::document)?;
    let done = match name {
        "findOneAndUpdate" => {
            let mut action = match args.required("update", Args::update)? {
                UpdateArgument::Operators(update) => collection.find_one_and_update(filter, update),
                UpdateArgument::Pipeline(stages) => collection.find_one_and_update(filter, stages),
            };
            changing!(action, args);
            set!(action, args; array_filters <- documents("arrayFilters"));
            finish!(action, args, session);
            action.await
        }
        "findOneAndReplace" => {
            let replacement = args.required("replacement", Args::document)?;
            let mut action = collection.find_one_and_replace(filter, &replacement);
            changing!(action, args);
            finish!(action, args, session);
            action.await
        }
        "findOneAndDelete" => {
            let mut action = collection.find_one_and_delete(filter);
            common!(action, args);
            finish!(action, args, session);
            action.await
        }
        _ => return Ok(None),
    };
    Ok(Some(done.map(optional)))
}
