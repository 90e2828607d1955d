//! The ODM suite: typed collections of serde structs, with filters and updates as documents.

use std::{hint::black_box, marker::PhantomData};

use marula_bench_shared::harness::{Assignment, Body, Failure, PhaseFuture, data::Archive};
use mongodb::{
    Collection,
    bson::{Document, doc, oid::ObjectId},
};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    odm_models::{LargeModel, NestedModel, SmallModel},
    place::{Place, expect},
};

/// A model of the suite.
trait Subject: Serialize + DeserializeOwned + Send + Sync + Unpin + 'static {
    /// The file with the JSON text of the model.
    const FILE: (Archive, &'static str);
    const COLLECTION: &'static str;
    /// The path of the field that the update task changes.
    const UPDATED: &'static str;
    /// Sets new ids and returns them.
    fn renew(&mut self) -> Ids;
}

/// The ids of one model.
#[derive(Clone, Copy)]
struct Ids {
    /// `_id`
    id: ObjectId,
    /// `embedded_str_doc_1.unique_id`. Only the nested model has it.
    nested: ObjectId,
    /// `unique_id` of the first element of `embedded_str_doc_array`. Only the nested model has it.
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
    const COLLECTION: &str = "small_models";
    const UPDATED: &str = "field1";

    fn renew(&mut self) -> Ids {
        let ids = Ids::new();
        self._id = ids.id;
        ids
    }
}

impl Subject for LargeModel {
    const FILE: (Archive, &'static str) = (Archive::FlatModels, "large_doc.json");
    const COLLECTION: &str = "large_models";
    const UPDATED: &str = "field1";

    fn renew(&mut self) -> Ids {
        let ids = Ids::new();
        self._id = ids.id;
        ids
    }
}

impl Subject for NestedModel {
    const FILE: (Archive, &'static str) = (Archive::NestedModels, "large_doc_nested.json");
    const COLLECTION: &str = "nested_models";
    const UPDATED: &str = "embedded_str_doc_1.field1";

    fn renew(&mut self) -> Ids {
        let ids = Ids::new();
        self._id = ids.id;
        self.embedded_str_doc_1.unique_id = ids.nested;
        if let Some(item) = self.embedded_str_doc_array.first_mut() {
            item.unique_id = ids.item;
        }
        ids
    }
}

/// The collection of a task.
struct Models<D: Send + Sync> {
    /// The JSON text of the model.
    text: String,
    /// Number of models per iteration.
    units: u64,
    place: Place,
    collection: Collection<D>,
    /// The ids of the models that [`fill`](Self::fill) has inserted.
    ids: Vec<Ids>,
}

impl<D: Subject> Models<D> {
    async fn new(assignment: &Assignment) -> Result<Self, Failure> {
        let (archive, file) = D::FILE;
        let text = assignment.data.text(archive, file)?;
        let place = Place::new(assignment).await?;
        let collection = place.database.collection(D::COLLECTION);
        Ok(Self {
            text,
            units: assignment.units,
            place,
            collection,
            ids: Vec::new(),
        })
    }

    /// Drops the database.
    async fn drop(&self) -> Result<(), Failure> {
        self.place.drop().await
    }

    /// Drops the collection, and inserts one model for each unit.
    async fn fill(&mut self) -> Result<(), Failure> {
        self.collection.drop().await?;
        let mut model: D = serde_json::from_str(&self.text)?;
        self.ids.clear();
        for _ in 0..self.units {
            self.ids.push(model.renew());
            self.collection.insert_one(&model).await?;
        }
        Ok(())
    }
}

/// Parses and inserts each model.
struct Creation<D: Send + Sync>(Models<D>);

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
            let stored = self.0.collection.count_documents(doc! {}).await?;
            self.0.collection.drop().await?;
            expect("stored", stored, self.0.units)
        })
    }

    fn teardown(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.0.drop())
    }
}

/// Updates one field of each model. [`fill`](Models::fill) inserts the models again before each
/// iteration, so that every update modifies a document.
struct Update<D: Send + Sync>(Models<D>);

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
                let update = doc! { "$set": { D::UPDATED: "updated_value" } };
                let result = self
                    .0
                    .collection
                    .update_one(doc! { "_id": ids.id }, update)
                    .await?;
                expect("updated", result.modified_count, 1)?;
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
    fn filter(ids: Ids) -> Document;
}

/// By `_id`.
struct ById;
/// By the id of `embedded_str_doc_1`.
struct ByNested;
/// By the id of the first element of `embedded_str_doc_array`.
struct ByItem;

impl Query<SmallModel> for ById {
    fn filter(ids: Ids) -> Document {
        doc! { "_id": ids.id }
    }
}

impl Query<NestedModel> for ByNested {
    fn filter(ids: Ids) -> Document {
        doc! { "embedded_str_doc_1.unique_id": ids.nested }
    }
}

impl Query<NestedModel> for ByItem {
    fn filter(ids: Ids) -> Document {
        doc! { "embedded_str_doc_array.unique_id": ids.item }
    }
}

/// Finds each model by one of its ids.
struct Find<D: Send + Sync, Q>(Models<D>, PhantomData<fn() -> Q>);

impl<D: Subject, Q: Query<D>> Body for Find<D, Q> {
    fn setup(&mut self) -> PhaseFuture<'_> {
        Box::pin(self.0.fill())
    }

    fn run(&mut self) -> PhaseFuture<'_> {
        Box::pin(async {
            for ids in &self.0.ids {
                let found = self.0.collection.find_one(Q::filter(*ids)).await?;
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

/// Defines the function of each task.
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
