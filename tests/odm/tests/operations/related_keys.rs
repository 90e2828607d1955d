//! By which values documents are related: numbers of other types, older versions, collations, elements without one; and in which
//! transaction.

use crate::common::{Env, Observed};
use crate::related::{Article, Company, Person, Site, names};
use marula::bson::{Document as BsonDocument, doc};
use marula::driver::options::Collation;
use marula::managed::BoxedError;
use marula::prelude::*;
use marula::{Document, Embedded, Error, Hooks, Projection, Ref};

#[tokio::test]
async fn keys_are_equal_by_their_value() {
    let env = Env::start().await;
    let site = Site::of(&env.db);
    // Another program has written the ids as Int32 and Double.
    let people: [BsonDocument; 2] = [
        doc! { "_id": 1, "name": "Ada", "company": 1.0, "deleted_at": null },
        doc! { "_id": 2.0, "name": "Ben", "company": null, "deleted_at": null },
    ];
    site.people
        .driver()
        .clone_with_type::<BsonDocument>()
        .insert_many(&people)
        .await
        .expect("people");
    let company = Company {
        _id: 1,
        name: "Acme".into(),
    };
    site.companies.insert_one(&company).await.expect("a company");
    let article = |id, author| Article {
        _id: id,
        title: String::new(),
        author: Ref::new(author),
        editor: None,
        readers: vec![],
        reviews: vec![],
    };
    site.articles
        .insert_many(&[article(1, 1), article(2, 2)])
        .await
        .expect("articles");
    let people = site.people.find_all().with_one(&site.articles, |a| a.author());
    let found = site
        .articles
        .find_all()
        .sort(|a| a._id().asc())
        .with(|a| a.author(), people)
        .await;
    let found = found.expect("articles");
    let of: Vec<Option<(i64, Option<i64>)>> = found
        .iter()
        .map(|(_, a)| a.as_ref().map(|(a, b)| (a._id, b.as_ref().map(|b| b._id))))
        .collect();
    assert_eq!(of, [Some((1, Some(1))), Some((2, Some(2)))]);
    let counted = site
        .companies
        .find_all()
        .with_count(&site.people, |p| p.company())
        .one()
        .await;
    assert_eq!(counted.expect("a company").1, 1);
    env.stop().await;
}

#[tokio::test]
async fn more_keys_than_one_query_takes_are_divided() {
    let env = Env::start().await;
    Site::filled(&env.db).await;
    let observed = Observed::of(&env);
    let site = Site::of(&observed.db);
    let people: Vec<Person> = (100..10_201)
        .map(|id| Person {
            _id: id,
            name: String::new(),
            company: Some(Ref::new(id)),
            deleted_at: None,
        })
        .collect();
    site.people.insert_many(&people).await.expect("people");
    observed.take_all();
    let found = site
        .people
        .find(|p| p._id().gte(100))
        .with(|p| p.company(), &site.companies);
    assert_eq!(found.await.expect("people").len(), 10_101);
    let queries = observed.take("find");
    assert_eq!(queries.len(), 3);
    env.stop().await;
}

/// A model whose field has got another name.
#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "invoices", hooks, schema_version(2, upgrade = named))]
struct Invoice {
    _id: i64,
    client: Ref<Company>,
    #[serde(default)]
    loaded: bool,
}

fn named(from: u32, document: &mut BsonDocument) -> Result<(), BoxedError> {
    assert_eq!(from, 1);
    if let Some(customer) = document.remove("customer") {
        document.insert("client", customer);
    }
    Ok(())
}

impl Hooks for Invoice {
    fn after_load(&mut self) -> Result<(), BoxedError> {
        self.loaded = true;
        Ok(())
    }
}

#[tokio::test]
async fn older_documents_are_related_in_their_present_form() {
    let env = Env::start().await;
    let site = Site::filled(&env.db).await;
    let invoices = env.db.collection::<Invoice>();
    let old = doc! { "_id": 1_i64, "customer": 2_i64 };
    invoices
        .driver()
        .clone_with_type::<BsonDocument>()
        .insert_one(&old)
        .await
        .expect("an invoice");
    let found = invoices
        .find_all()
        .with(|i| i.client(), &site.companies)
        .one()
        .await;
    let (invoice, company) = found.expect("an invoice");
    assert!(invoice.loaded);
    assert_eq!(company.map(|c| c.name), Some("Bee".to_owned()));
    env.stop().await;
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "words", collation(locale = "en", strength = 2))]
struct Word {
    _id: String,
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "uses")]
struct Use {
    _id: i64,
    word: Ref<Word>,
}

#[tokio::test]
async fn keys_are_not_compared_by_a_collation() {
    let env = Env::start().await;
    let created = env
        .db
        .schema()
        .register::<Word>()
        .sync(marula::schema::SyncMode::Additive)
        .await;
    created.expect("the collection");
    let (words, uses) = (env.db.collection::<Word>(), env.db.collection::<Use>());
    words
        .insert_one(&Word { _id: "Tea".into() })
        .await
        .expect("a word");
    let tea = |id, word: &str| Use {
        _id: id,
        word: Ref::new(word.into()),
    };
    uses.insert_many(&[tea(1, "Tea"), tea(2, "tea")])
        .await
        .expect("uses");
    let refused = uses.find_all().with(|u| u.word(), &words).await;
    // One key is equal exactly: only the other one is refused.
    assert_eq!(
        refused.expect("uses").iter().filter(|(_, w)| w.is_some()).count(),
        1
    );
    let refused = uses.find(|u| u._id().eq(2)).with(|u| u.word(), &words).await;
    let error = refused.expect_err("a collation").to_string();
    assert!(error.contains("collation") && error.contains("_id"), "{error}");
    let simple = words.find_all().collation(Collation::new("simple"));
    let found = uses
        .find_all()
        .sort(|u| u._id().asc())
        .with(|u| u.word(), simple)
        .await;
    let found: Vec<bool> = found.expect("uses").iter().map(|(_, w)| w.is_some()).collect();
    assert_eq!(found, [true, false]);
    env.stop().await;
}

#[tokio::test]
async fn keys_are_not_grouped_by_a_collation() {
    let env = Env::start().await;
    let (words, uses) = (env.db.collection::<Word>(), env.db.collection::<Use>());
    words
        .insert_one(&Word { _id: "Tea".into() })
        .await
        .expect("a word");
    let use_of = |id, word: &str| Use {
        _id: id,
        word: Ref::new(word.into()),
    };
    uses.insert_many(&[use_of(1, "Tea"), use_of(2, "tea")])
        .await
        .expect("uses");
    let collation = |locale: &str| {
        let mut collation = Collation::new(locale);
        collation.strength = Some(2);
        uses.find_all().collation(collation)
    };
    let counted = words.find_all().with_count(collation("en"), |u| u.word()).await;
    assert!(
        counted
            .expect_err("a collation")
            .to_string()
            .contains("`with_count`")
    );
    let limited = words
        .find_all()
        .with_many(collation("en"), |u| u.word())
        .per_parent(1)
        .await;
    assert!(
        limited
            .expect_err("a collation")
            .to_string()
            .contains("`per_parent`")
    );
    let counted = words
        .find_all()
        .with_count(&uses, |u| u.word())
        .one()
        .await
        .expect("a word");
    assert_eq!(counted.1, 1);
    // The declared collation of the collection is one, too.
    let declared = uses
        .find_all()
        .with_count(&words, |w| w._id().retype::<Ref<Use>>())
        .await;
    assert!(declared.expect_err("a collation").to_string().contains("simple"));
    env.stop().await;
}

#[derive(Clone, Debug, PartialEq, Embedded)]
struct Seat {
    #[document(skip_none)]
    guest: Option<Ref<Person>>,
    waiters: Vec<Ref<Person>>,
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "tables")]
struct Table {
    _id: i64,
    seats: Vec<Seat>,
    cooks: Option<Vec<Ref<Person>>>,
}

#[derive(Debug, PartialEq, Projection)]
#[document(of = Table)]
struct TableId {
    _id: i64,
}

#[tokio::test]
async fn elements_without_a_reference_keep_their_place() {
    let env = Env::start().await;
    let site = Site::filled(&env.db).await;
    let tables = env.db.collection::<Table>();
    let seat = |guest: Option<i64>, waiters: &[i64]| Seat {
        guest: guest.map(Ref::new),
        waiters: waiters.iter().map(|id| Ref::new(*id)).collect(),
    };
    let seats = vec![seat(Some(1), &[1, 2]), seat(None, &[]), seat(Some(3), &[9])];
    tables
        .insert_one(&Table {
            _id: 1,
            seats,
            cooks: None,
        })
        .await
        .expect("a table");
    let people = &site.people;
    let guests = [Some("Ada"), None, Some("Cho")];
    let waiters = [Some("Ada"), Some("Ben"), None];
    let found = tables
        .find_all()
        .with_each(|t| t.seats().guest(), people)
        .with_each(|t| t.seats().waiters(), people)
        .with_each(|t| t.cooks(), people)
        .with_each(|t| t.seats().nth(2).guest(), people)
        .one()
        .await
        .expect("a table");
    assert_eq!(
        (names(&found.1), names(&found.2)),
        (guests.to_vec(), waiters.to_vec())
    );
    assert_eq!((found.3, names(&found.4)), (vec![], vec![Some("Cho")]));
    if !env.is_before(4, 4).await {
        let found = tables
            .find_all()
            .select::<TableId>()
            .with_each(|t| t.seats().guest(), people)
            .with_each(|t| t.seats().waiters(), people)
            .one()
            .await
            .expect("a table");
        assert_eq!(
            (names(&found.1), names(&found.2)),
            (guests.to_vec(), waiters.to_vec())
        );
        let waited = people
            .find_all()
            .sort(|p| p._id().asc())
            .with_many(tables.find_all().select::<TableId>(), |t| t.seats().waiters());
        let waited: Vec<usize> = waited
            .await
            .expect("people")
            .iter()
            .map(|(_, t)| t.len())
            .collect();
        assert_eq!(waited, [1, 1, 0, 0]);
    }
    env.stop().await;
}

#[tokio::test]
async fn relations_of_bound_handles_are_part_of_the_transaction() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    let site = Site::filled(&env.db).await;
    let found = env
        .client()
        .transaction()
        .strict()
        .run(async |tx| {
            let (articles, people) = tx.bind((&site.articles, &site.people));
            let new = Person {
                _id: 7,
                name: "New".into(),
                company: Some(Ref::new(1)),
                deleted_at: None,
            };
            people.insert_one(&new).await?;
            // Neither the people nor the companies are bound.
            let people = site.people.find_all().with(|p| p.company(), &site.companies);
            let article = articles.find(|a| a._id().eq(4)).with(|a| a.author(), people);
            article.with_count(&site.comments, |c| c.article()).one().await
        })
        .await
        .expect("a transaction");
    let (author, company) = found.1.expect("the author that was inserted before");
    assert_eq!((author._id, company.map(|c| c._id), found.2), (7, Some(1), 0));
    env.stop().await;
}

#[tokio::test]
async fn queries_of_relations_are_checked_before_anything_is_sent() {
    let env = Env::start().await;
    let observed = Observed::of(&env);
    let site = Site::of(&observed.db);
    let limited = site
        .articles
        .find_all()
        .with_many(site.comments.find_all().limit(5), |c| c.article());
    assert!(matches!(limited.await, Err(Error::InvalidArgument { .. })));
    let none = site
        .articles
        .find_all()
        .with_many(&site.comments, |c| c.article())
        .per_parent(0);
    assert!(matches!(none.await, Err(Error::InvalidArgument { .. })));
    let inner = site
        .articles
        .find_all()
        .with_many(site.comments.find_all().skip(1), |c| c.article());
    let nested = site.people.find_all().with_many(inner, |a| a.author());
    assert!(matches!(nested.await, Err(Error::InvalidArgument { .. })));
    assert!(observed.names().is_empty());
    env.stop().await;
}
