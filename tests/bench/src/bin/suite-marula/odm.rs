//! The ODM suite: models, typed filters and typed updates.
//!
//! Parsing the JSON text of a model is part of the tasks that create models. Updates change models
//! that `before` has stored, so that every iteration modifies documents; in the specification some
//! of them are dropped after the first iteration.

use std::{future::Future, hint::black_box, marker::PhantomData};

use marula::{
    Collection, Model, bson::ObjectId, driver::UpdateResult, driver::options::WriteConcern, prelude::*,
};
use marula_bench_shared::harness::{Assignment, Body, Failure, PhaseFuture, data::Archive};

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    odm_models::{LargeModel, NestedModel, SmallModel},
    place::expect,
};

const UPDATED: &str = "updated_value";

/// The operations of a model.
trait Subject: Model + Serialize + DeserializeOwned {
    const FILE: (Archive, &'static str);
    /// Sets new ids and returns them.
    fn renew(&mut self) -> Ids;
    /// The update of the update task.
    fn update(
        models: &Collection<Self>,
        id: ObjectId,
    ) -> impl Future<Output = marula::Result<UpdateResult>> + Send;
}

#[derive(Clone, Copy)]
struct Ids {
    id: ObjectId,
    /// In the nested model: the ids of `embedded_str_doc_1` and of the first element of the array.
    nested: ObjectId,
    item: ObjectId,
}

impl Ids {
    fn new() -> Self {
        let [id, nested, item] = [(); 3].map(|()| ObjectId::new());
        Self { id, nested, item }
    }
}

impl Subject for SmallModel {
    const FILE: (Archive, &'static str) = (Archive::FlatModels, "small_doc.json");

    fn renew(&mut self) -> Ids {
        let ids = Ids::new();
        self._id = ids.id;
        ids
    }

    async fn update(models: &Collection<Self>, id: ObjectId) -> marula::Result<UpdateResult> {
        models.update_by_id(id, |m| m.field1().set(UPDATED)).await
    }
}

impl Subject for LargeModel {
    const FILE: (Archive, &'static str) = (Archive::FlatModels, "large_doc.json");

    fn renew(&mut self) -> Ids {
        let ids = Ids::new();
        self._id = ids.id;
        ids
    }

    async fn update(models: &Collection<Self>, id: ObjectId) -> marula::Result<UpdateResult> {
        models.update_by_id(id, |m| m.field1().set(UPDATED)).await
    }
}

impl Subject for NestedModel {
    const FILE: (Archive, &'static str) = (Archive::NestedModels, "large_doc_nested.json");

    fn renew(&mut self) -> Ids {
        let ids = Ids::new();
        self._id = ids.id;
        self.embedded_str_doc_1.unique_id = ids.nested;
        if let Some(item) = self.embedded_str_doc_array.first_mut() {
            item.unique_id = ids.item;
        }
        ids
    }

    async fn update(models: &Collection<Self>, id: ObjectId) -> marula::Result<UpdateResult> {
        models
            .update_by_id(id, |m| m.embedded_str_doc_1().field1().set(UPDATED))
            .await
    }
}

struct Models<D> {
    text: String,
    units: u64,
    database: marula::Database,
    collection: Collection<D>,
    ids: Vec<Ids>,
}

impl<D: Subject> Models<D> {
    async fn new(assignment: &Assignment) -> Result<Self, Failure> {
        let (archive, file) = D::FILE;
        let text = assignment.data.text(archive, file)?;
        let database = marula::connect(assignment.uri()?)
            .await?
            .database(&assignment.database);
        let collection = database.collection().with_write_concern(WriteConcern::nodes(1));
        Ok(Self {
            text,
            units: assignment.units,
            database,
            collection,
            ids: Vec::new(),
        })
    }

    async fn drop(&self) -> Result<(), Failure> {
        Ok(self.database.driver().drop().await?)
    }

    /// An empty collection, and one model for each unit.
    async fn fill(&mut self) -> Result<(), Failure> {
        self.collection.driver().drop().await?;
        let mut model: D = serde_json::from_str(&self.text)?;
        self.ids.clear();
        for _ in 0..self.units {
            self.ids.push(model.renew());
            self.collection.insert_one(&model).await?;
        }
        Ok(())
    }
}

struct Creation<D>(Models<D>);

impl<D: Subject> Body for Creation<D> {
    fn setup(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.0.drop())
    }

    fn run(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            for _ in 0..self.0.units {
                let model: D = serde_json::from_str(&self.0.text)?;
                self.0.collection.insert_one(&model).await?;
            }
            Ok(())
        })
    }

    fn after(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            let stored = self
                .0
                .collection
                .driver()
                .count_documents(marula_driver::bson::Document::new())
                .await?;
            self.0.collection.driver().drop().await?;
            expect("stored", stored, self.0.units)
        })
    }

    fn teardown(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.0.drop())
    }
}

struct Update<D>(Models<D>);

impl<D: Subject> Body for Update<D> {
    fn setup(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.0.drop())
    }

    fn before(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.0.fill())
    }

    fn run(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            for ids in &self.0.ids {
                let done = D::update(&self.0.collection, ids.id).await?;
                expect("updated", done.modified_count, 1)?;
            }
            Ok(())
        })
    }

    fn teardown(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.0.drop())
    }
}

/// A query for a model by one of its ids.
trait Query<D>: Send + Sync {
    fn find(models: &Collection<D>, ids: Ids) -> impl Future<Output = marula::Result<Option<D>>> + Send;
}

struct ById;
struct ByNested;
struct ByItem;

impl Query<SmallModel> for ById {
    async fn find(models: &Collection<SmallModel>, ids: Ids) -> marula::Result<Option<SmallModel>> {
        models.find_one(|m| m._id().eq(ids.id)).await
    }
}

impl Query<NestedModel> for ByNested {
    async fn find(models: &Collection<NestedModel>, ids: Ids) -> marula::Result<Option<NestedModel>> {
        models
            .find_one(|m| m.embedded_str_doc_1().unique_id().eq(ids.nested))
            .await
    }
}

impl Query<NestedModel> for ByItem {
    async fn find(models: &Collection<NestedModel>, ids: Ids) -> marula::Result<Option<NestedModel>> {
        models
            .find_one(|m| m.embedded_str_doc_array().any().unique_id().eq(ids.item))
            .await
    }
}

struct Find<D, Q>(Models<D>, PhantomData<fn() -> Q>);

impl<D: Subject, Q: Query<D>> Body for Find<D, Q> {
    fn setup(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.0.fill())
    }

    fn run(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            for ids in &self.0.ids {
                let found = Q::find(&self.0.collection, *ids).await?;
                black_box(found.ok_or("nothing was found")?);
            }
            Ok(())
        })
    }

    fn teardown(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.0.drop())
    }
}

async fn creation<D: Subject>(assignment: &Assignment) -> Result<Box<dyn Body>, Failure> {
    Ok(Box::new(Creation(Models::<D>::new(assignment).await?)))
}

async fn update<D: Subject>(assignment: &Assignment) -> Result<Box<dyn Body>, Failure> {
    Ok(Box::new(Update(Models::<D>::new(assignment).await?)))
}

async fn find<D: Subject, Q: Query<D> + 'static>(assignment: &Assignment) -> Result<Box<dyn Body>, Failure> {
    Ok(Box::new(Find::<D, Q>(
        Models::new(assignment).await?,
        PhantomData,
    )))
}

macro_rules! tasks {
    ($($name:ident $kind:ident<$($type:ident),*>;)*) => { $(
        pub(crate) async fn $name(assignment: &Assignment) -> Result<Box<dyn Body>, Failure> {
            $kind::<$($type),*>(assignment).await
        }
    )* };
}

tasks! {
    small_creation creation<SmallModel>;
    small_update update<SmallModel>;
    small_find find<SmallModel, ById>;
    large_creation creation<LargeModel>;
    large_update update<LargeModel>;
    nested_creation creation<NestedModel>;
    nested_update update<NestedModel>;
    nested_find find<NestedModel, ByNested>;
    nested_find_array find<NestedModel, ByItem>;
}
