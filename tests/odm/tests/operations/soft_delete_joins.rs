//! Soft-deleted documents of other collections: lookups, unions, `load`, and vector search.

use std::time::Duration;

use crate::common::{Env, Observed};
use marula::aggregate::VectorSearch;
use marula::bson::{Bson, DateTime, doc};
use marula::expr::*;
use marula::prelude::*;
use marula::schema::Apply;
use marula::{Collection, Document, Error, Pipeline, Shape};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "authors")]
struct Author {
    _id: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(
    collection = "notes",
    soft_delete = deleted_at,
    vector_search_index(name = "meanings", vector(meaning, dimensions = 2, similarity = "euclidean"))
)]
struct Note {
    _id: i64,
    author: i64,
    /// The note that this one answers.
    parent: Option<i64>,
    meaning: Vec<f32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deleted_at: Option<DateTime>,
}

#[derive(Debug, PartialEq, Shape)]
struct WithNotes {
    #[document(flatten)]
    author: Author,
    notes: Vec<Note>,
}

#[derive(Debug, PartialEq, Shape)]
struct WithParents {
    #[document(flatten)]
    note: Note,
    parents: Vec<Note>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Shape)]
struct Notes {
    all: Vec<Note>,
}

fn note(id: i64) -> Note {
    Note {
        _id: id,
        author: 1,
        parent: (id > 1).then_some(id - 1),
        meaning: vec![1.0, id as f32],
        deleted_at: None,
    }
}

/// Three notes of one author, of which the second is deleted.
async fn notes(env: &Env) -> (Collection<Author>, Collection<Note>) {
    let (authors, notes) = (env.db.collection::<Author>(), env.db.collection::<Note>());
    authors.insert_one(&Author { _id: 1 }).await.expect("a reply");
    notes
        .insert_many([note(1), note(2), note(3)])
        .await
        .expect("a reply");
    notes.delete_by_id(2).required().await.expect("a note");
    (authors, notes)
}

fn ids(notes: &[Note]) -> Vec<i64> {
    let mut ids: Vec<i64> = notes.iter().map(|note| note._id).collect();
    ids.sort_unstable();
    ids
}

#[tokio::test]
async fn lookups_by_fields_leave_out_deleted_documents() {
    let env = Env::start().await;
    if env.is_before(5, 0).await {
        return env.stop().await;
    }
    let (authors, _) = notes(&env).await;
    let lookup = || authors.aggregate().lookup::<WithNotes>();
    let found = async |pipeline: Pipeline<Author, WithNotes, _>| {
        let rows = pipeline.all().await.expect("a reply");
        ids(&rows[0].notes)
    };
    assert_eq!(found(lookup().on(|a| a._id(), |n| n.author())).await, [1, 3]);
    let all = lookup().with_deleted().on(|a| a._id(), |n| n.author());
    assert_eq!(found(all).await, [1, 2, 3]);
    let deleted = lookup().only_deleted().on(|a| a._id(), |n| n.author());
    assert_eq!(found(deleted).await, [2]);
    env.stop().await;
}

#[tokio::test]
async fn lookups_by_a_pipeline_leave_out_deleted_documents() {
    let env = Env::start().await;
    let (authors, _) = notes(&env).await;
    let lookup = || authors.aggregate().lookup::<WithNotes>();
    let found = async |pipeline: Pipeline<Author, WithNotes, _>| {
        let rows = pipeline.all().await.expect("a reply");
        ids(&rows[0].notes)
    };
    // The limit applies to live documents.
    let live = lookup().pipeline::<Note>(|a, notes| {
        notes
            .match_expr(|n| eq(n.author(), a._id()))
            .sort(|n| n._id().desc())
            .limit(2)
    });
    assert_eq!(found(live).await, [1, 3]);
    let all = lookup().pipeline::<Note>(|a, notes| {
        let notes = notes.with_deleted();
        notes.match_expr(|n| eq(n.author(), a._id()))
    });
    assert_eq!(found(all).await, [1, 2, 3]);
    let deleted = lookup().pipeline::<Note>(|_, notes| notes.only_deleted());
    assert_eq!(found(deleted).await, [2]);
    env.stop().await;
}

#[tokio::test]
async fn recursive_lookups_leave_out_deleted_documents() {
    let env = Env::start().await;
    let (_, notes) = notes(&env).await;
    let chain = || {
        let third = notes.aggregate().match_(|n| n._id().eq(3));
        third.graph_lookup::<WithParents>()
    };
    let found = async |pipeline: Pipeline<Note, WithParents, _>| {
        let rows = pipeline.all().await.expect("a reply");
        ids(&rows[0].parents)
    };
    let live = chain().on(|n| n.parent(), |p| p.parent(), |p| p._id());
    // The chain leads through the deleted note.
    assert_eq!(found(live).await, Vec::<i64>::new());
    let all = chain()
        .with_deleted()
        .on(|n| n.parent(), |p| p.parent(), |p| p._id());
    assert_eq!(found(all).await, [1, 2]);
    let restricted =
        chain()
            .restrict(|p| p.author().eq(1))
            .only_deleted()
            .on(|n| n.parent(), |p| p.parent(), |p| p._id());
    assert_eq!(found(restricted).await, [2]);
    let other_author =
        chain()
            .restrict(|p| p.author().eq(2))
            .only_deleted()
            .on(|n| n.parent(), |p| p.parent(), |p| p._id());
    assert_eq!(found(other_author).await, Vec::<i64>::new());
    env.stop().await;
}

#[tokio::test]
async fn unions_and_loads_leave_out_deleted_documents() {
    let env = Env::start().await;
    if env.is_before(4, 4).await {
        return env.stop().await;
    }
    let (_, notes) = notes(&env).await;
    let first = || notes.aggregate().match_(|n| n._id().eq(1));
    let live = first().union_with::<Note>(|n| n).all().await.unwrap();
    assert_eq!(ids(&live), [1, 1, 3]);
    let all = first().union_with::<Note>(|n| n.match_(|n| n._id().gt(1)).with_deleted());
    assert_eq!(ids(&all.all().await.unwrap()), [1, 2, 3]);
    let deleted = first().union_with::<Note>(Pipeline::only_deleted);
    assert_eq!(ids(&deleted.all().await.unwrap()), [1, 2]);

    let loaded = notes.load([1_i64, 2, 3]).await.unwrap();
    assert!(loaded.len() == 2 && !loaded.contains_key(&2));
    assert_eq!(notes.with_deleted().load([2_i64]).await.unwrap().len(), 1);
    let by_author = notes.load_by(|n| n.author(), [1_i64]).await.unwrap();
    assert_eq!(ids(&by_author[&1]), [1, 3]);
    env.stop().await;
}

#[tokio::test]
async fn a_facet_has_no_scope_of_its_own() {
    let env = Env::start().await;
    let (_, notes) = notes(&env).await;
    let facet = notes.aggregate().facet(|all| NotesFacets {
        all: all().with_deleted(),
    });
    let error = facet.all().await.unwrap_err();
    assert!(
        matches!(&error, Error::InvalidPipeline { .. }) && error.to_string().contains("on the collection"),
        "{error}"
    );
    env.stop().await;
}

#[tokio::test]
async fn a_vector_search_leaves_out_deleted_documents_after_its_limit() {
    let env = Env::start_with_search().await;
    if !env.is_own() {
        return env.stop().await;
    }
    let (_, notes) = notes(&env).await;
    // Stored as null, not left out.
    let update = doc! { "$set": { "deleted_at": null } };
    let raw = notes.driver();
    raw.update_one(doc! { "_id": 3_i64 }, update).await.unwrap();
    let schema = || env.db.schema().register::<Note>();
    let plan = schema().plan().await.unwrap();
    let apply = Apply::additive().wait_for_search(Duration::from_secs(30));
    plan.apply(apply).await.unwrap();
    assert!(schema().plan().await.unwrap().is_empty());

    // The nearest is the deleted note.
    let search_of = |limit| VectorSearch::<Note>::new("meanings", |n| n.meaning(), [1.0, 2.0], limit).exact();
    let search = || search_of(2);
    let observed = Observed::of(&env);
    let reading = observed.db.collection::<Note>();
    let live = reading.aggregate().vector_search(search()).all().await.unwrap();
    assert_eq!(live.len(), 1, "{live:?}");
    let live = reading
        .aggregate()
        .vector_search(search_of(3))
        .all()
        .await
        .unwrap();
    assert_eq!(ids(&live), [1, 3]);
    for sent in observed.take("aggregate") {
        let stages = sent.get_array("pipeline").unwrap();
        let search = stages[0].as_document().unwrap();
        // The server refuses `$not`, `$nor` and `$exists` there.
        assert!(
            !search
                .get_document("$vectorSearch")
                .unwrap()
                .contains_key("filter"),
            "{sent}"
        );
        let live = doc! { "$match": { "deleted_at": { "$eq": Bson::Null } } };
        assert_eq!(stages[1].as_document(), Some(&live));
    }
    let filtered = notes.only_deleted();
    let deleted = filtered.aggregate().vector_search(search()).all().await.unwrap();
    assert_eq!(ids(&deleted), [2]);
    let all = notes.with_deleted();
    let nearest = all.aggregate().vector_search(search()).all().await.unwrap();
    assert!(ids(&nearest).contains(&2), "{nearest:?}");
    env.stop().await;
}

#[test]
fn stages_that_must_be_first_stay_first() {
    for stage in ["$rankFusion", "$scoreFusion", "$vectorSearch", "$search"] {
        let pipeline = Pipeline::<Author>::new().lookup::<WithNotes>();
        let joined = pipeline.pipeline::<Note>(|_, notes| notes.stage_raw(doc! { stage: { "limit": 2 } }));
        let text = joined.to_string();
        let (first, scope) = (text.find(stage), text.find("$match"));
        assert!(first.is_some() && first < scope, "{text}");
        assert!(!text.contains("\"filter\""), "{text}");
    }
}
