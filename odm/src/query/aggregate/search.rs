//! The stages of Atlas Search: `$search` and `$searchMeta`.

use crate::{
    ast::document_item::{DocumentItem, raw_part},
    models::model::{Fields, Model},
    query::aggregate::{Pipeline, nav},
    term::search::{Search, SearchMeta},
};

impl<In, S: Model, C> Pipeline<In, S, C> {
    /// A full-text search in an index of Atlas Search (`$search`): the first stage of a pipeline. The closure returns an
    /// [operator](crate::search), or a [`Search`] with the options of the stage. The score is
    /// [`search_score`](crate::expr::search_score).
    ///
    /// Soft-deleted documents, and those outside of the scope of the handle, are left out by a `$match` stage after the search: the
    /// counts and facets of the search contain them.
    ///
    /// ```
    /// # use marula::{Document, Pipeline, prelude::*};
    /// use marula::search::text;
    /// # #[derive(Document)]
    /// # #[document(collection = "books")]
    /// # struct Book { _id: i64, title: String }
    /// let found = Pipeline::<Book>::new().search(|b| text(b.title(), "copper").fuzzy(1)).limit(10);
    /// assert_eq!(
    ///     found.to_string(),
    ///     concat!(
    ///         r#"[{"$search": {"text": {"query": "copper", "path": "title", "fuzzy": {"maxEdits": 1}}}}, "#,
    ///         r#"{"$limit": 10}]"#
    ///     )
    /// );
    /// ```
    #[doc(alias = "$search")]
    pub fn search<Q: Into<Search<S>>>(self, search: impl FnOnce(Fields<S>) -> Q) -> Self {
        let search = search(nav::<S>()).into().into_argument();
        self.stage("$search", search)
    }

    /// The same as [`search`](Pipeline::search) with a document, sent unchecked, for operators and options without a typed form.
    /// For a model with [encrypted fields](crate::encryption) it must be an
    /// [`Unchecked`](crate::encryption::Unchecked) document.
    ///
    /// ```
    /// # use marula::{Document, Pipeline, bson::doc, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "books")]
    /// # struct Book { _id: i64, title: String }
    /// let found = Pipeline::<Book>::new()
    ///     .search_raw(doc! { "text": { "query": "copper", "path": "title" } })
    ///     .limit(10);
    /// assert_eq!(
    ///     found.to_string(),
    ///     r#"[{"$search": {"text": {"query": "copper", "path": "title"}}}, {"$limit": 10}]"#
    /// );
    /// ```
    #[doc(alias = "$search")]
    pub fn search_raw(mut self, search: impl DocumentItem) -> Self {
        let search = raw_part(search);
        self.stages.marks.note_raw_stage(&search);
        self.stage("$search", Ok(search.document.into()))
    }

    /// The number of documents that a search finds, and its [facets](crate::search::facets), without the documents (`$searchMeta`,
    /// MongoDB 4.4.11+): the first stage of a pipeline. The result is one [`SearchMeta`].
    ///
    /// The counts contain soft-deleted documents and those of other kinds: exclude them by an operator. A handle with a scope rejects
    /// the stage.
    ///
    /// ```
    /// # use marula::{Document, Pipeline, prelude::*};
    /// use marula::search::text;
    /// # #[derive(Document)]
    /// # #[document(collection = "books")]
    /// # struct Book { _id: i64, title: String }
    /// let number = Pipeline::<Book>::new().search_meta(|b| text(b.title(), "copper").index("books").count_total());
    /// assert_eq!(
    ///     number.to_string(),
    ///     concat!(
    ///         r#"[{"$searchMeta": {"index": "books", "text": {"query": "copper", "path": "title"}, "#,
    ///         r#""count": {"type": "total"}}}]"#
    ///     )
    /// );
    /// ```
    #[doc(alias = "$searchMeta")]
    pub fn search_meta<Q: Into<Search<S>>>(
        self,
        search: impl FnOnce(Fields<S>) -> Q,
    ) -> Pipeline<In, SearchMeta, C> {
        let search = search(nav::<S>()).into().into_meta_argument();
        let mut pipeline = self.stage("$searchMeta", search);
        pipeline.stages.marks.note_no_values();
        pipeline.then()
    }
}
