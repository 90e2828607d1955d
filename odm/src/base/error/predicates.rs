//! Predicates of errors: their meaning, so that an application need not match on variants, also not on those of bulk
//! writes and of the driver.

use crate::{
    base::error::{Error, FailedWrite, FailedWriteReason},
    driver::{self, error::code},
};

impl Error {
    /// Whether a write violates a unique index: [`Error::Duplicate`], and an [`Error::BulkWrite`] of which at least one
    /// failed write does ([`FailedWrite::is_duplicate`] says which).
    ///
    /// A save of a bulk write whose `_id` exists with another version is a
    /// [version conflict](Error::is_version_conflict), not a duplicate. Duplicates that prevent the creation of a unique
    /// index are [`SchemaError::Duplicates`](crate::SchemaError::Duplicates), for which this is `false`.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let error = orders.insert_one(&order(1)).await.unwrap_err();
    /// assert!(error.is_duplicate());
    /// let error = orders.bulk().insert(&order(4)).insert(&order(1)).await.unwrap_err();
    /// assert!(error.is_duplicate());
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn is_duplicate(&self) -> bool {
        match self {
            Error::Duplicate { .. } => true,
            Error::Driver(error) => error.is_duplicate_key(),
            _ => self.failed_writes().iter().any(FailedWrite::is_duplicate),
        }
    }

    /// Whether no document matches a call that requires one: [`Error::NotFound`].
    ///
    /// It is `false` for a bulk write: a write that matches no document is not an error there. A replacement or a save of
    /// a document that was deleted is a [version conflict](Error::is_version_conflict).
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let error = orders.find_by_id(7).required().await.unwrap_err();
    /// assert!(error.is_not_found());
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Error::NotFound { .. })
    }

    /// Whether a time limit expired: one of the driver, such as `timeout` and `serverSelectionTimeoutMS`, or `max_time` on
    /// the server (code 50); see [`driver::Error::is_timeout`]. The server may have executed a write.
    ///
    /// An [`Error::BulkWrite`] is one if a time limit ended the bulk write, or is the reason of at least one failed write or
    /// write concern error. The writes in `performed` were executed.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// use std::time::Duration;
    /// let error = orders.find_all().timeout(Duration::from_nanos(1)).await.unwrap_err();
    /// assert!(error.is_timeout());
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        let is_expired = |code: i32| code == code::MAX_TIME_MS_EXPIRED;
        let concern_errors = match self {
            Error::BulkWrite { performed, .. } => performed.write_concern_errors.as_slice(),
            _ => &[],
        };
        self.driver().is_some_and(driver::Error::is_timeout)
            || self.any_code(is_expired)
            || concern_errors.iter().any(|error| is_expired(error.code))
    }

    /// Whether the stored document has another version than the struct, or was deleted: [`Error::VersionConflict`], and an
    /// [`Error::BulkWrite`] of which at least one failed write is such a conflict
    /// ([`FailedWrite::is_version_conflict`] says which). The others may have failed for other reasons.
    ///
    /// ```
    /// # use marula::{Document, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "pages")]
    /// # struct Page { _id: i64, #[document(version)] version: i64 }
    /// # marula_guide::run(async |marula_guide::Shop { db, .. }| {
    /// # let pages = db.collection::<Page>();
    /// let mut page = Page { _id: 1, version: 0 };
    /// pages.save(&mut page).await?;
    /// page.version = 7;
    /// assert!(pages.save(&mut page).await.unwrap_err().is_version_conflict());
    /// assert!(pages.bulk().replace(&page).await.unwrap_err().is_version_conflict());
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn is_version_conflict(&self) -> bool {
        match self {
            Error::VersionConflict { .. } => true,
            _ => self.failed_writes().iter().any(FailedWrite::is_version_conflict),
        }
    }

    /// Whether a document is invalid: by the functions of `#[document(validate = …)]` ([`Error::Validation`], also of a
    /// write of a bulk write), or by the validator of its collection on the server (code 121).
    ///
    /// An [`Error::BulkWrite`] is one if the server rejected at least one failed write for this reason
    /// ([`FailedWrite::is_validation`] says which). [`invalid_fields`](Error::invalid_fields) has the fields that a function
    /// found invalid.
    ///
    /// ```
    /// # use marula::{Document, prelude::*};
    /// #[derive(Document)]
    /// #[document(collection = "people", validate = adult)]
    /// struct Person {
    ///     _id: i64,
    ///     age: i32,
    /// }
    ///
    /// fn adult(person: &Person) -> Result<(), String> {
    ///     if person.age < 18 { Err(format!("{} is too young", person._id)) } else { Ok(()) }
    /// }
    /// # marula_guide::run(async |marula_guide::Shop { db, .. }| {
    /// # let people = db.collection::<Person>();
    /// let minor = Person { _id: 1, age: 17 };
    /// assert!(people.insert_one(&minor).await.unwrap_err().is_validation());
    /// assert!(people.bulk().insert(&minor).await.unwrap_err().is_validation());
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn is_validation(&self) -> bool {
        match self {
            Error::Validation { .. } => true,
            Error::InvalidBulkWrite { source, .. } => source.is_validation(),
            _ => self.any_code(|code| code == code::DOCUMENT_VALIDATION_FAILURE),
        }
    }

    /// Whether a document does not belong to the [scope](crate::Collection::scoped) of the handle that should have written it, also as a
    /// write of a bulk write.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let own = orders.scoped(|o| o.customer().eq(2));
    /// assert!(own.insert_one(&order(4)).await.unwrap_err().is_out_of_scope());
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn is_out_of_scope(&self) -> bool {
        match self {
            Error::OutOfScope { .. } => true,
            Error::InvalidBulkWrite { source, .. } => source.is_out_of_scope(),
            _ => false,
        }
    }

    /// Whether the deployment is temporarily unavailable, so that the same call can succeed later;
    /// see [`driver::Error::is_unavailable`].
    ///
    /// ```
    /// # use marula_guide::*;
    /// fn status(error: &Error) -> u16 {
    ///     if error.is_unavailable() { 503 } else { 500 }
    /// }
    /// # drop(status);
    /// ```
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        self.driver().is_some_and(driver::Error::is_unavailable)
    }

    fn failed_writes(&self) -> &[FailedWrite] {
        match self {
            Error::BulkWrite { failed, .. } => failed,
            _ => &[],
        }
    }

    /// Whether the server reported such a code: for the command, for a statement, or for a failed write of a bulk write,
    /// whose `source` can be the error of another command.
    fn any_code(&self, is: impl Fn(i32) -> bool) -> bool {
        let of_driver = self.driver().is_some_and(|error| {
            error.code().is_some_and(&is) || error.write_errors().iter().any(|write| is(write.code))
        });
        let failed = self.failed_writes().iter().filter_map(FailedWrite::error);
        of_driver || failed.map(|write| write.code).any(is)
    }
}

impl FailedWrite {
    /// Whether the write violates a unique index; see [`Error::is_duplicate`].
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let bulk = orders.bulk().insert(&order(4)).insert(&order(1)).ordered(false);
    /// let Err(Error::BulkWrite { failed, .. }) = bulk.await else { panic!("no duplicate") };
    /// assert!(failed[0].is_duplicate());
    /// assert_eq!(failed[0].operation.index, 1);
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn is_duplicate(&self) -> bool {
        self.error()
            .is_some_and(|error| code::is_duplicate_key(error.code))
    }

    /// Whether the validator of the collection rejected the write (code 121); see [`Error::is_validation`].
    ///
    /// ```
    /// # use marula::error::FailedWrite;
    /// fn invalid(failed: &[FailedWrite]) -> Vec<usize> {
    ///     failed.iter().filter(|write| write.is_validation()).map(|write| write.operation.index).collect()
    /// }
    /// # drop(invalid);
    /// ```
    #[must_use]
    pub fn is_validation(&self) -> bool {
        self.error()
            .is_some_and(|error| error.code == code::DOCUMENT_VALIDATION_FAILURE)
    }

    /// Whether the stored document has another version than the struct.
    ///
    /// ```no_run
    /// # use marula::{Document, Error, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "pages")]
    /// # struct Page { _id: i64, #[document(version)] version: i64 }
    /// # async fn run(pages: marula::Collection<Page>, page: Page) -> marula::Result<()> {
    /// if let Err(Error::BulkWrite { failed, .. }) = pages.bulk().replace(&page).await {
    ///     let lost = failed.iter().filter(|write| write.is_version_conflict());
    ///     println!("to be repeated: {:?}", lost.map(|write| write.operation.index).collect::<Vec<_>>());
    /// }
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn is_version_conflict(&self) -> bool {
        matches!(self.reason, FailedWriteReason::VersionConflict { .. })
    }
}
