//! Indexes of collections with a default collation, and text indexes.

use crate::common::{Env, Observed};
use crate::schema_setup::create;
use marula::bson::{Document as Doc, doc};
use marula::schema::{Apply, SyncMode};
use marula::{Document, Error, SchemaError};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(
    collection = "names",
    collation(locale = "en", strength = 2),
    index(first),
    index(last, unique),
    index(-first, last, collation(locale = "simple"), name = "exact"),
    index(note, collation(locale = "de")),
    index(text(note))
)]
struct Name {
    _id: i64,
    first: String,
    last: String,
    note: String,
}

/// The same collection, whose options another application has declared.
#[derive(Serialize, Deserialize, Document)]
#[document(collection = "names", index(first), index(last, unique), index(text(note)))]
struct PlainName {
    _id: i64,
    first: String,
    last: String,
    note: String,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "names", index(last))]
struct NameWithoutUnique {
    _id: i64,
    last: String,
}

impl Env {
    /// Whether the server has no default collations of collections.
    async fn lacks_collations(&self) -> bool {
        let probe = doc! { "create": "probe", "collation": { "locale": "en", "strength": 2 } };
        self.lacks("collations", probe).await
    }
}

fn specifications(commands: &[Doc]) -> Vec<Doc> {
    let all = commands
        .iter()
        .flat_map(|command| command.get_array("indexes").expect("indexes"));
    all.map(|index| index.as_document().expect("an index").clone())
        .collect()
}

fn named<'a>(specifications: &'a [Doc], name: &str) -> &'a Doc {
    let found = specifications
        .iter()
        .find(|index| index.get_str("name").is_ok_and(|found| found == name));
    found.expect("an index of this name")
}

/// An index without a collation inherits the default of the collection, with which the server lists it.
#[tokio::test]
async fn indexes_inherit_the_default_collation_of_the_collection() {
    let env = Env::start().await;
    if env.lacks_collations().await {
        return env.stop().await;
    }
    let observed = Observed::of(&env);
    let schema = || observed.db.schema().register::<Name>();
    let applied = schema().sync(SyncMode::Additive).await.unwrap();
    assert_eq!(applied.created.len(), 5, "{applied}");
    let sent = specifications(&observed.take("createIndexes"));
    assert!(!named(&sent, "first_1").contains_key("collation"));
    assert_eq!(
        named(&sent, "exact").get_document("collation").unwrap(),
        &doc! { "locale": "simple" }
    );
    // The server permits no other collation for a text index, also not an inherited one.
    assert_eq!(
        named(&sent, "note_text").get_document("collation").unwrap(),
        &doc! { "locale": "simple" }
    );

    for mode in [SyncMode::Verify, SyncMode::Additive, SyncMode::Full] {
        assert!(schema().sync(mode).await.unwrap().is_empty(), "{mode:?}");
    }
    // The default collation is read from the collection if the model does not declare it.
    let plain = || observed.db.schema().register::<PlainName>();
    for mode in [SyncMode::Verify, SyncMode::Additive, SyncMode::Full] {
        assert!(plain().sync(mode).await.unwrap().rebuilt.is_empty(), "{mode:?}");
    }
    assert!(observed.take("createIndexes").is_empty());
    env.stop().await;
}

/// An index with the collation `simple` is listed without one.
#[tokio::test]
async fn an_inherited_collation_and_the_simple_one_differ() {
    let env = Env::start().await;
    if env.lacks_collations().await {
        return env.stop().await;
    }
    let create = doc! { "create": "names", "collation": { "locale": "en", "strength": 2 } };
    env.db.driver().run_command(create).await.unwrap();
    let simple = doc! { "createIndexes": "names", "indexes": [
        { "key": { "last": 1 }, "name": "last_1", "collation": { "locale": "simple" } },
    ] };
    env.db.driver().run_command(simple).await.unwrap();
    let schema = || env.db.schema().register::<NameWithoutUnique>();
    let plan = schema().plan().await.unwrap();
    let error = plan.apply(Apply::additive()).await.unwrap_err();
    assert!(
        matches!(&error, Error::Schema(SchemaError::OptionsConflict { index, .. }) if index == "last_1"),
        "{error}"
    );
    let applied = schema().sync(SyncMode::Full).await.unwrap();
    assert_eq!(applied.rebuilt.len(), 1, "{applied}");
    assert!(schema().sync(SyncMode::Verify).await.unwrap().is_empty());
    env.stop().await;
}

/// The keys of a unique index are compared by its own collation.
#[tokio::test]
async fn duplicates_are_found_by_the_collation_of_the_index() {
    let env = Env::start().await;
    if env.lacks_collations().await {
        return env.stop().await;
    }
    let schema = env.db.schema().register::<NameWithoutUnique>();
    let create = doc! { "create": "names", "collation": { "locale": "en", "strength": 2 } };
    env.db.driver().run_command(create).await.unwrap();
    schema.sync(SyncMode::Additive).await.unwrap();
    let names = env.db.driver().collection::<Doc>("names");
    let documents = [
        doc! { "_id": 1_i64, "last": "Byron" },
        doc! { "_id": 2_i64, "last": "BYRON" },
    ];
    names.insert_many(&documents).await.unwrap();
    let error = env
        .db
        .schema()
        .register::<PlainName>()
        .sync(SyncMode::Full)
        .await
        .unwrap_err();
    let source = match &error {
        Error::Schema(SchemaError::PartlyApplied { source, .. }) => &**source,
        other => other,
    };
    assert!(
        matches!(source, Error::Schema(SchemaError::Duplicates { samples, .. }) if samples.len() == 1),
        "{error}"
    );

    // By the collation `simple` the names differ, so that the change to unique succeeds.
    names.drop_index("last_1").await.unwrap();
    let simple = doc! { "createIndexes": "names", "indexes": [
        { "key": { "last": 1 }, "name": "last_1", "collation": { "locale": "simple" } },
    ] };
    env.db.driver().run_command(simple).await.unwrap();
    env.db
        .schema()
        .register::<ExactName>()
        .sync(SyncMode::Full)
        .await
        .unwrap();
    env.stop().await;
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "names", index(last, unique, collation(locale = "simple")))]
struct ExactName {
    _id: i64,
    last: String,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "articles", index(text(title), name = "words"))]
struct Article {
    _id: i64,
    title: String,
    body: String,
    at: i64,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "articles", index(at, text(title, weight = 5), text(body)))]
struct ChangedArticle {
    _id: i64,
    title: String,
    body: String,
    at: i64,
}

/// A collection can have one text index: the existing one is dropped first, also if its keys differ.
#[tokio::test]
async fn a_text_index_takes_the_place_of_another() {
    let env = Env::start().await;
    if env
        .lacks(
            "text indexes",
            doc! { "createIndexes": "probe", "indexes": [{ "key": { "a": "text" }, "name": "a" }] },
        )
        .await
    {
        return env.stop().await;
    }
    create::<Article>(&env.db).await;
    let observed = Observed::of(&env);
    let schema = || observed.db.schema().register::<ChangedArticle>();
    let error = schema().sync(SyncMode::Additive).await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("a collection can have only one text index"),
        "{error}"
    );
    assert!(observed.take("createIndexes").is_empty());
    let applied = schema().sync(SyncMode::Full).await.unwrap();
    assert_eq!(applied.rebuilt.len(), 1, "{applied}");
    let mut names = observed.names();
    names.retain(|name| ["dropIndexes", "createIndexes"].contains(&&**name));
    assert_eq!(names, ["dropIndexes", "createIndexes"]);
    assert!(schema().sync(SyncMode::Verify).await.unwrap().is_empty());
    env.stop().await;
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "articles", index(at, text(body)))]
struct ArticleBody {
    _id: i64,
    body: String,
    at: i64,
}

/// The derive rejects a second text index of one model, and the plan that of another model.
#[tokio::test]
async fn text_indexes_of_two_models_are_an_error_of_the_plan() {
    let env = Env::start().await;
    let schema = env.db.schema().register::<Article>().register::<ArticleBody>();
    let error = schema.plan().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "schema: index `at_1_body_text` of model `ArticleBody`: a collection can have only one text index, and model `Article` declares \
         the text index `words`"
    );
    env.stop().await;
}
