//! Stages that remove fields: `$unset` and `$redact`.

use crate::{
    base::bson::Bson,
    models::model::Fields,
    path::{AsPath, field::Field, marker::Nullable},
    query::aggregate::{Pipeline, nav},
    term::expr::{Expr, IntoExpr, Operand, Single, field_name},
};

/// What [`redact`](Pipeline::redact) does with a document. It is a value of expressions.
///
/// ```
/// # use marula_guide::*;
/// use marula::{aggregate::Redaction, expr::*};
/// let large = cond(gt(Order::fields().total(), 500), Redaction::Prune, Redaction::Descend);
/// assert_eq!(large.to_string(), r#"{"$cond": [{"$gt": ["$total", 500]}, "$$PRUNE", "$$DESCEND"]}"#);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Redaction {
    /// `$$DESCEND`: keeps the document, and decides on each embedded document in it.
    Descend,
    /// `$$PRUNE`: removes the document.
    Prune,
    /// `$$KEEP`: keeps the document with all that it contains.
    Keep,
}

impl<R> Operand<R> for Redaction {
    type Value = Redaction;
    fn into_operand(self) -> Expr<R, Redaction> {
        Expr::unchecked(match self {
            Redaction::Descend => "$$DESCEND",
            Redaction::Prune => "$$PRUNE",
            Redaction::Keep => "$$KEEP",
        })
    }
}

impl<In, S: Field, C> Pipeline<In, S, C> {
    /// Removes a field (`$unset`), which must be an `Option`, so that the documents can be read without it.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let orders = orders.aggregate().unset(|o| o.note()).all().await?;
    /// assert!(orders.iter().all(|order| order.note.is_none()));
    /// # Ok(()) });
    /// ```
    #[doc(alias = "$unset")]
    pub fn unset<A>(self, field: impl FnOnce(Fields<S>) -> A) -> Self
    where
        A: AsPath<Root = S, Mode: Single, Value: Nullable>,
    {
        let path = field(nav::<S>());
        self.stage("$unset", field_name(path.raw()).map(Bson::from))
    }

    /// Keeps or removes each document, and each embedded document in it, by an expression (`$redact`).
    ///
    /// The server evaluates the expression for a document. If it is [`Descend`](Redaction::Descend), it evaluates the
    /// same expression for each embedded document and each document in an array, with paths that start there:
    /// the path `$level` is the field `level` of the embedded document then. An embedded document that is removed must
    /// be an `Option` or an element of an array, so that the document can be read without it.
    ///
    /// ```
    /// # use marula::{Document, Embedded, Pipeline, aggregate::Redaction, expr::*, prelude::*};
    /// # #[derive(Embedded)]
    /// # struct Section { level: i32, text: String }
    /// # #[derive(Document)]
    /// # #[document(collection = "reports")]
    /// # struct Report { _id: i64, level: i32, sections: Vec<Section> }
    /// // Reports, and the sections in them, of the levels up to 2.
    /// let public = Pipeline::<Report>::new()
    ///     .redact(|r| cond(lte(r.level(), 2), Redaction::Descend, Redaction::Prune));
    /// assert_eq!(
    ///     public.to_string(),
    ///     r#"[{"$redact": {"$cond": [{"$lte": ["$level", 2]}, "$$DESCEND", "$$PRUNE"]}}]"#
    /// );
    /// ```
    #[doc(alias = "$redact")]
    pub fn redact<E: IntoExpr<S, Redaction>>(mut self, decision: impl FnOnce(Fields<S>) -> E) -> Self {
        let decision = decision(nav::<S>()).into_expr().into_raw();
        self.stages.marks.note_expression();
        self.stage("$redact", decision)
    }
}
