//! Runs pipelines.

use std::pin::Pin;

use crate::{
    base::{
        bson::RawDocumentBuf,
        error::Result,
        stage_versions::{self, requiring},
    },
    document::decode::ReadAs,
    driver::options::AggregateOptions,
    models::{model::Model, projection::Output},
    path::field::Field,
    query::{
        aggregate::{Pipeline, write::Written},
        handle::{
            Collection,
            action::{Session, forward_options, in_session},
        },
        observe::Call,
        read::documents::Documents,
    },
};

/// The collection that a pipeline reads, and the options of the call. Created by
/// [`Collection::aggregate`].
#[derive(Debug)]
pub struct On<'a, D> {
    collection: &'a Collection<D>,
    options: AggregateOptions,
    session: Session<'a>,
}

impl<D: Model> Collection<D> {
    /// An aggregation pipeline on the documents of this collection; see
    /// [`aggregate`](crate::aggregate). It is run by [`all`](Pipeline::all),
    /// [`first`](Pipeline::first) or [`stream`](Pipeline::stream). The documents that were
    /// soft-deleted are left out, unless the handle is [`with_deleted`](Collection::with_deleted); those
    /// of other collections, in lookups and unions, are too, unless they are read
    /// [`with_deleted`](Pipeline::with_deleted). The hook
    /// [`after_load`](crate::Hooks::after_load) does not run on results.
    ///
    /// ```no_run
    /// # use marula::{Collection, Document, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "orders")]
    /// # struct Order { _id: i64, customer: i64, total: i64 }
    /// # async fn run(orders: Collection<Order>) -> marula::Result<()> {
    /// let by_customer = orders.aggregate().match_(|o| o.total().gt(0)).count_by(|o| o.customer());
    /// for customer in by_customer.all().await? {
    ///     println!("{}: {}", customer.key, customer.count);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn aggregate(&self) -> Pipeline<D, D, On<'_, D>> {
        Pipeline::on(On {
            collection: self,
            options: AggregateOptions::default(),
            session: None,
        })
    }
}

impl<'a, In: Model, S> Pipeline<In, S, On<'a, In>> {
    crate::driver::__aggregate_options! { forward_options { on: AggregateOptions } }
}

impl<'a, In: Model, S: Output> Pipeline<In, S, On<'a, In>> {
    /// Runs the pipeline and returns a stream of its documents, which requests further batches as
    /// it is read.
    ///
    /// ```no_run
    /// # use marula::{Collection, Document, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "orders")]
    /// # struct Order { _id: i64, total: i64 }
    /// # async fn run(orders: Collection<Order>) -> marula::Result<()> {
    /// let mut large = orders.aggregate().match_(|o| o.total().gt(100)).stream().await?;
    /// while let Some(order) = large.try_next().await? {
    ///     println!("{}", order.total);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidPipeline`](crate::Error::InvalidPipeline) and the
    /// [errors of the action](Collection#errors), except [`Error::Decode`](crate::Error::Decode).
    pub fn stream(self) -> Pin<Box<dyn Future<Output = Result<Documents<S>>> + Send + 'a>> {
        let On {
            collection,
            options,
            session,
        } = self.on;
        let (stages, marks) = self.stages.into_parts();
        let call = Call::new::<In>(collection.namespace(), "aggregate").stages(&stages);
        let documents = Documents::of(collection.namespace().clone(), ReadAs::result(), call.clone());
        Box::pin(call.observe(async move {
            let driver = collection.driver();
            let stages = collection.gate()?.stages(stages, &marks)?;
            let options = requiring!(
                options,
                stage_versions::of_pipeline(&stages, &collection.namespace().collection)
            );
            let running = driver.aggregate(stages.into_stages()).with_options(options);
            let running = in_session!(session, running.with_type::<RawDocumentBuf>());
            Ok(documents(running.await?))
        }))
    }

    /// How the server would run the pipeline, instead of running it: awaiting the returned action returns the
    /// reply to `explain`. Nothing is written. For its options see
    /// [`Explain`](crate::driver::action::Explain).
    ///
    /// ```no_run
    /// # use marula::{Collection, Document, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "orders")]
    /// # struct Order { _id: i64, total: i64 }
    /// # async fn run(orders: Collection<Order>) -> marula::Result<()> {
    /// let reply = orders.aggregate().match_(|o| o.total().gt(100)).explain()?.await?;
    /// println!("{reply}");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidPipeline`](crate::Error::InvalidPipeline),
    /// [`Error::InvalidFilter`](crate::Error::InvalidFilter) and [`Error::Encode`](crate::Error::Encode) for an
    /// invalid pipeline.
    pub fn explain(self) -> Result<crate::driver::action::Explain<'a>> {
        let On {
            collection,
            options,
            session,
        } = self.on;
        let (stages, marks) = self.stages.into_parts();
        let stages = collection.gate()?.stages(stages, &marks)?.into_stages();
        let running = collection.raw().aggregate(stages).with_options(options);
        Ok(in_session!(session, running).explain())
    }

    /// Runs the pipeline and reads all documents into memory.
    ///
    /// ```no_run
    /// # use marula::{Collection, Document, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "orders")]
    /// # struct Order { _id: i64, total: i64 }
    /// # async fn run(orders: Collection<Order>) -> marula::Result<()> {
    /// let sample: Vec<Order> = orders.aggregate().sample(10).all().await?;
    /// # drop(sample);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidPipeline`](crate::Error::InvalidPipeline) and the
    /// [errors of the action](Collection#errors).
    pub fn all(self) -> Pin<Box<dyn Future<Output = Result<Vec<S>>> + Send + 'a>> {
        let running = self.stream();
        Box::pin(async move { running.await?.try_collect().await })
    }
}

/// Runs the pipeline as [`all`](Pipeline::all) does.
///
/// ```
/// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
/// let largest: Vec<Order> = orders.aggregate().sort(|o| o.total().desc()).limit(2).await?;
/// assert_eq!(largest.len(), 2);
/// # Ok(()) });
/// ```
impl<'a, In: Model, S: Output> IntoFuture for Pipeline<In, S, On<'a, In>> {
    type Output = Result<Vec<S>>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        self.all()
    }
}

impl<'a, In: Model, S: Output + Field> Pipeline<In, S, On<'a, In>> {
    /// Runs the pipeline with a limit of 1 and reads its first document; `None` if there is none.
    ///
    /// ```no_run
    /// # use marula::{Collection, Document, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "orders")]
    /// # struct Order { _id: i64, total: i64 }
    /// # async fn run(orders: Collection<Order>) -> marula::Result<()> {
    /// let largest = orders.aggregate().sort(|o| o.total().desc()).first().await?;
    /// # drop(largest);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of [`all`](Pipeline::all).
    pub fn first(self) -> Pin<Box<dyn Future<Output = Result<Option<S>>> + Send + 'a>> {
        let running = self.limit(1).stream();
        Box::pin(async move { running.await?.try_next().await })
    }
}

impl<'a, In: Model> Pipeline<In, Written, On<'a, In>> {
    /// Runs a pipeline that ends with [`merge_into`](Pipeline::merge_into) or
    /// [`out`](Pipeline::out).
    ///
    /// ```no_run
    /// # use marula::{Collection, Document, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "orders")]
    /// # struct Order { _id: i64, total: i64 }
    /// # async fn run(orders: Collection<Order>) -> marula::Result<()> {
    /// orders.aggregate().match_(|o| o.total().lt(0)).out_to("refused").execute().await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidPipeline`](crate::Error::InvalidPipeline) and the
    /// [errors of the action](Collection#errors).
    pub fn execute(self) -> Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>> {
        let running = self.stream();
        Box::pin(async move { running.await.map(drop) })
    }
}
