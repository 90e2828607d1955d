//! What MongoDB does not write in time series and capped collections.

use crate::{
    base::error::{Error, Result},
    driver::options::ServerRequirement,
    models::{managed::CollectionKind, model::Model},
    term::update::Update,
};

/// Fails to compile for the model of a time series. MongoDB updates its documents only by updates of
/// many, without upserts.
///
/// The compiler evaluates it where the method is used with the model, when it generates code:
/// `cargo check` does not report it.
pub(crate) const fn changes_one<D: Model>() {
    assert!(
        !matches!(D::BEHAVIOR.kind, CollectionKind::TimeSeries),
        "MongoDB does not change single documents of a time series: use `update_many`, which can change the meta field, \
         or `delete_many` and `insert_many`"
    );
}

/// Every collection permits changes of many documents.
pub(crate) const fn changes_many<D: Model>() {}

/// Fails for an upsert into a time series.
pub(crate) fn check_upsert<D: Model>() -> Result<()> {
    if D::BEHAVIOR.kind == CollectionKind::TimeSeries {
        return Err(Error::argument(format!(
            "`{}` is a time series, in which MongoDB does not upsert: insert the documents",
            D::COLLECTION
        )));
    }
    Ok(())
}

/// Fails for an empty update of a time series: it is sent as an operator on a field that is not
/// changed, and MongoDB allows only operators on the meta field.
pub(crate) fn check_empty<D: Model>(update: &Update<D>) -> Result<()> {
    if D::BEHAVIOR.kind == CollectionKind::TimeSeries && update.is_unchanged() {
        return Err(Error::argument(format!(
            "`{}` is a time series, in which MongoDB does not update by an empty update: do not call `update_many` for one",
            D::COLLECTION
        )));
    }
    Ok(())
}

/// Fails for a migration of a time series: it replaces documents.
pub(crate) fn check_migration<D: Model>() -> Result<()> {
    match D::BEHAVIOR.kind {
        CollectionKind::TimeSeries => Err(Error::argument(format!(
            "`{}` is a time series, whose documents MongoDB does not replace: they are upgraded when they are read",
            D::COLLECTION
        ))),
        CollectionKind::Capped | CollectionKind::Ordinary => Ok(()),
    }
}

/// The server version that a deletion needs.
pub(crate) fn of_delete<D: Model>(many: bool) -> Option<ServerRequirement> {
    match D::BEHAVIOR.kind {
        CollectionKind::TimeSeries if !many => Some(ServerRequirement::new(
            7,
            0,
            format!(
                "the deletion of one document of the time series `{}`",
                D::COLLECTION
            ),
        )),
        CollectionKind::Capped => Some(ServerRequirement::new(
            5,
            0,
            format!("a deletion in the capped collection `{}`", D::COLLECTION),
        )),
        CollectionKind::TimeSeries | CollectionKind::Ordinary => None,
    }
}

/// The server version that soft deletion and restoration need: both change the size of the document.
pub(crate) fn of_soft_delete<D: Model>() -> Option<ServerRequirement> {
    (D::BEHAVIOR.kind == CollectionKind::Capped).then(|| {
        ServerRequirement::new(
            5,
            3,
            format!(
                "soft deletion in the capped collection `{}`, which changes the size of documents,",
                D::COLLECTION
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::bson::DateTime;

    #[derive(serde::Serialize, serde::Deserialize, crate::Document)]
    #[document(collection = "readings", timeseries(time = at), crate = crate)]
    struct Reading {
        _id: i64,
        at: DateTime,
    }

    #[derive(serde::Serialize, serde::Deserialize, crate::Document)]
    #[document(collection = "people", crate = crate)]
    struct Person {
        _id: i64,
    }

    #[test]
    fn single_documents_of_a_time_series_are_not_changed() {
        // The methods evaluate it when they are compiled.
        let refused = std::panic::catch_unwind(changes_one::<Reading>).unwrap_err();
        let message = refused.downcast_ref::<&str>().unwrap();
        assert!(message.contains("use `update_many`"), "{message}");
        changes_one::<Person>();
        changes_many::<Reading>();
        assert!(check_upsert::<Reading>().is_err() && check_migration::<Reading>().is_err());
        check_upsert::<Person>().unwrap();
    }
}
