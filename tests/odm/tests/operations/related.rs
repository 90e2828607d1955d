//! `find(…).with(…)`: documents that are read together with those that they refer to.

use crate::common::{Env, Observed};
use marula::bson::{Bson, DateTime, doc};
use marula::collection::KeysetPage;
use marula::driver::options::FindOptions;
use marula::prelude::*;
use marula::{Collection, Database, Document, Embedded, Error, Projection, Ref};

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "companies")]
pub(crate) struct Company {
    pub(crate) _id: i64,
    pub(crate) name: String,
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "people", soft_delete = deleted_at)]
pub(crate) struct Person {
    pub(crate) _id: i64,
    pub(crate) name: String,
    pub(crate) company: Option<Ref<Company>>,
    pub(crate) deleted_at: Option<DateTime>,
}

#[derive(Clone, Debug, PartialEq, Embedded)]
pub(crate) struct Review {
    person: Ref<Person>,
    stars: i32,
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "articles")]
pub(crate) struct Article {
    pub(crate) _id: i64,
    pub(crate) title: String,
    pub(crate) author: Ref<Person>,
    pub(crate) editor: Option<Ref<Person>>,
    pub(crate) readers: Vec<Ref<Person>>,
    pub(crate) reviews: Vec<Review>,
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "comments", index(article, -rank))]
pub(crate) struct Comment {
    _id: i64,
    article: Ref<Article>,
    also: Vec<Ref<Article>>,
    rank: i64,
}

#[derive(Debug, PartialEq, Projection)]
#[serde(deny_unknown_fields)]
#[document(of = Article)]
struct Title {
    title: String,
}

#[derive(Debug, PartialEq, Projection)]
#[serde(deny_unknown_fields)]
#[document(of = Comment)]
struct Rank {
    rank: i64,
}

#[derive(Debug, PartialEq, Projection)]
#[document(of = Person)]
struct Name {
    name: String,
}

pub(crate) struct Site {
    pub(crate) companies: Collection<Company>,
    pub(crate) people: Collection<Person>,
    pub(crate) articles: Collection<Article>,
    pub(crate) comments: Collection<Comment>,
}

impl Site {
    pub(crate) fn of(db: &Database) -> Site {
        Site {
            companies: db.collection(),
            people: db.collection(),
            articles: db.collection(),
            comments: db.collection(),
        }
    }

    /// Two companies, four people, four articles and their comments.
    pub(crate) async fn filled(db: &Database) -> Site {
        let site = Site::of(db);
        let company = |id, name: &str| Company {
            _id: id,
            name: name.into(),
        };
        let companies = [company(1, "Acme"), company(2, "Bee")];
        site.companies.insert_many(&companies).await.expect("companies");
        let person = |id, name: &str, company: Option<i64>| Person {
            _id: id,
            name: name.into(),
            company: company.map(Ref::new),
            deleted_at: None,
        };
        let people = [
            person(1, "Ada", Some(1)),
            person(2, "Ben", Some(2)),
            person(3, "Cho", None),
            person(4, "Dee", Some(9)),
        ];
        site.people.insert_many(&people).await.expect("people");
        let article = |id, author, editor: Option<i64>, readers: &[i64], reviews: &[i64]| Article {
            _id: id,
            title: format!("title {id}"),
            author: Ref::new(author),
            editor: editor.map(Ref::new),
            readers: readers.iter().map(|id| Ref::new(*id)).collect(),
            reviews: reviews
                .iter()
                .map(|id| Review {
                    person: Ref::new(*id),
                    stars: 3,
                })
                .collect(),
        };
        let articles = [
            article(1, 1, Some(2), &[2, 9, 1], &[3, 3]),
            article(2, 2, None, &[], &[]),
            article(3, 1, Some(8), &[3, 3], &[7]),
            article(4, 7, Some(4), &[4], &[1]),
        ];
        site.articles.insert_many(&articles).await.expect("articles");
        let comment = |id, article, also: &[i64], rank| Comment {
            _id: id,
            article: Ref::new(article),
            also: also.iter().map(|id| Ref::new(*id)).collect(),
            rank,
        };
        let comments = [
            comment(1, 1, &[2, 3, 2], 5),
            comment(2, 1, &[], 9),
            comment(3, 1, &[1], 7),
            comment(4, 3, &[], 1),
            comment(5, 77, &[], 1),
        ];
        site.comments.insert_many(&comments).await.expect("comments");
        site
    }
}

pub(crate) fn names(people: &[Option<Person>]) -> Vec<Option<&str>> {
    people
        .iter()
        .map(|p| p.as_ref().map(|p| p.name.as_str()))
        .collect()
}

fn ids(comments: &[Comment]) -> Vec<i64> {
    comments.iter().map(|c| c._id).collect()
}

#[tokio::test]
async fn each_relation_is_one_query_for_all_documents() {
    let env = Env::start().await;
    Site::filled(&env.db).await;
    let observed = Observed::of(&env);
    let site = Site::of(&observed.db);
    let all = site
        .articles
        .find_all()
        .sort(|a| a._id().desc())
        .with(|a| a.author(), &site.people)
        .with(|a| a.editor(), &site.people)
        .with_many(site.comments.find_all().sort(|c| c.rank().desc()), |c| {
            c.article()
        })
        .with_count(&site.comments, |c| c.article())
        .with_each(|a| a.readers(), &site.people)
        .await
        .expect("the articles");
    let found: Vec<_> = all
        .iter()
        .map(|(article, author, editor, comments, count, readers)| {
            let name = |p: &Option<Person>| p.as_ref().map(|p| p.name.clone());
            (
                article._id,
                name(author),
                name(editor),
                ids(comments),
                *count,
                names(readers),
            )
        })
        .collect();
    let name = |text: &str| Some(text.to_owned());
    let expected = [
        (4, None, name("Dee"), vec![], 0, vec![Some("Dee")]),
        (3, name("Ada"), None, vec![4], 1, vec![Some("Cho"), Some("Cho")]),
        (2, name("Ben"), None, vec![], 0, vec![]),
        (
            1,
            name("Ada"),
            name("Ben"),
            vec![2, 3, 1],
            3,
            vec![Some("Ben"), None, Some("Ada")],
        ),
    ];
    assert_eq!(found, expected);
    let commands = observed.names();
    assert_eq!(commands, ["find", "find", "find", "find", "aggregate", "find"]);
    // Each key is sent once.
    let sent = observed.take("find");
    let authors = sent[1]
        .get_document("filter")
        .expect("a filter")
        .get_document("_id")
        .expect("a condition");
    assert_eq!(authors.get_array("$in").expect("keys").len(), 3);
    env.stop().await;
}

#[tokio::test]
async fn relations_are_nested() {
    let env = Env::start().await;
    let site = Site::filled(&env.db).await;
    let people = || site.people.find_all().with(|p| p.company(), &site.companies);
    let comments = site
        .comments
        .find(|c| c.rank().gt(4))
        .with(|c| c.article(), &site.articles);
    let all = site
        .articles
        .find_all()
        .sort(|a| a._id().asc())
        .with(|a| a.author(), people())
        .with_each(|a| a.readers(), people())
        .with_many(comments, |c| c.article())
        .await
        .expect("the articles");
    let (_, author, readers, comments) = &all[0];
    let (author, company) = author.as_ref().expect("an author");
    assert_eq!(
        (author._id, company.as_ref().map(|c| c.name.as_str())),
        (1, Some("Acme"))
    );
    let companies: Vec<Option<Option<i64>>> = readers
        .iter()
        .map(|r| r.as_ref().map(|(_, c)| c.as_ref().map(|c| c._id)))
        .collect();
    assert_eq!(companies, [Some(Some(2)), None, Some(Some(1))]);
    assert_eq!(comments.len(), 3);
    assert!(
        comments
            .iter()
            .all(|(_, article)| article.as_ref().is_some_and(|a| a._id == 1))
    );
    // A document that is related twice is read for both.
    let (_, _, readers, comments) = &all[2];
    assert_eq!(readers.len(), 2);
    assert!(comments.is_empty());
    env.stop().await;
}

#[tokio::test]
async fn documents_are_related_through_arrays() {
    let env = Env::start().await;
    let site = Site::filled(&env.db).await;
    let reviewed = site
        .articles
        .find_all()
        .sort(|a| a._id().asc())
        .with_each(|a| a.reviews().person(), &site.people);
    let reviewed = reviewed.await.expect("the articles");
    let reviewers: Vec<Vec<Option<&str>>> = reviewed.iter().map(|(_, people)| names(people)).collect();
    assert_eq!(
        reviewers,
        [
            vec![Some("Cho"), Some("Cho")],
            vec![],
            vec![None],
            vec![Some("Ada")]
        ]
    );
    // A comment belongs to each article once.
    let also = site
        .articles
        .find_all()
        .sort(|a| a._id().asc())
        .with_many(&site.comments, |c| c.also());
    let also: Vec<Vec<i64>> = also
        .await
        .expect("the articles")
        .iter()
        .map(|(_, c)| ids(c))
        .collect();
    assert_eq!(also, [vec![3], vec![1], vec![1], vec![]]);
    env.stop().await;
}

#[tokio::test]
async fn the_number_of_related_documents_is_limited_for_each() {
    let env = Env::start().await;
    let site = Site::filled(&env.db).await;
    let best = site.comments.find_all().sort(|c| c.rank().desc());
    if env.is_before(5, 0).await {
        let refused = site
            .articles
            .find_all()
            .with_many(best, |c| c.article())
            .per_parent(2)
            .await;
        let error = refused.expect_err("the server is too old").to_string();
        assert!(error.contains("5.0"), "{error}");
        return env.stop().await;
    }
    let articles = || site.articles.find_all().sort(|a| a._id().asc());
    let all = articles()
        .with_many(best, |c| c.article())
        .per_parent(2)
        .await
        .expect("the articles");
    let of: Vec<Vec<i64>> = all.iter().map(|(_, c)| ids(c)).collect();
    assert_eq!(of, [vec![2, 3], vec![], vec![4], vec![]]);
    // Without a sort, by `_id`, and with a projection that leaves out the reference.
    let all = articles()
        .with_many(site.comments.find_all().select::<Rank>(), |c| c.article())
        .per_parent(1)
        .await
        .expect("the articles");
    let ranks: Vec<Vec<i64>> = all
        .iter()
        .map(|(_, c)| c.iter().map(|c| c.rank).collect())
        .collect();
    assert_eq!(ranks, [vec![5], vec![], vec![1], vec![]]);
    env.stop().await;
}

#[tokio::test]
async fn the_first_related_document_is_read_alone() {
    let env = Env::start().await;
    let site = Site::filled(&env.db).await;
    let best = site.comments.find_all().sort(|c| c.rank().desc());
    let all = site
        .articles
        .find_all()
        .sort(|a| a._id().asc())
        .with_one(best, |c| c.article());
    let of: Vec<Option<i64>> = all
        .await
        .expect("the articles")
        .into_iter()
        .map(|(_, c)| c.map(|c| c._id))
        .collect();
    assert_eq!(of, [Some(2), None, Some(4), None]);
    env.stop().await;
}

#[tokio::test]
async fn projections_need_not_contain_the_references() {
    let env = Env::start().await;
    let site = Site::filled(&env.db).await;
    if env.is_before(4, 4).await {
        let refused = site
            .articles
            .find_all()
            .select::<Title>()
            .with(|a| a.author(), &site.people)
            .await;
        let error = refused.expect_err("the server is too old").to_string();
        assert!(error.contains("relations") && error.contains("4.4"), "{error}");
        return env.stop().await;
    }
    let all = site
        .articles
        .find(|a| a._id().lte(2))
        .sort(|a| a._id().asc())
        .select::<Title>()
        .with(|a| a.author(), site.people.find_all().select::<Name>())
        .with_many(
            site.comments.find_all().sort(|c| c.rank().asc()).select::<Rank>(),
            |c| c.article(),
        )
        .await
        .expect("the articles");
    let (title, author, comments) = &all[0];
    assert_eq!(title.title, "title 1");
    assert_eq!(author.as_ref().map(|a| a.name.as_str()), Some("Ada"));
    assert_eq!(comments.iter().map(|c| c.rank).collect::<Vec<_>>(), [5, 7, 9]);
    // Pages add the keys of their sort, too.
    let page: KeysetPage<(Title, Option<Person>)> = site
        .articles
        .find_all()
        .select::<Title>()
        .with(|a| a.editor(), &site.people)
        .keyset(|a| a.title().asc(), None, 3)
        .await
        .expect("a page");
    let editors: Vec<Option<&str>> = page
        .items
        .iter()
        .map(|(_, e)| e.as_ref().map(|e| e.name.as_str()))
        .collect();
    assert_eq!(editors, [Some("Ben"), None, None]);
    assert!(page.next.is_some());
    env.stop().await;
}

#[tokio::test]
async fn one_document_and_pages_are_read_with_relations() {
    let env = Env::start().await;
    let site = Site::filled(&env.db).await;
    let with_author = || {
        site.articles
            .find_all()
            .with(|a| a.author(), &site.people)
            .sort(|a| a._id().asc())
    };
    let (first, author) = with_author().first().await.expect("a query").expect("an article");
    assert_eq!((first._id, author.map(|a| a._id)), (1, Some(1)));
    let several = with_author().one().await;
    assert!(matches!(several, Err(Error::MoreThanOne { .. })));
    let none = with_author().filter(Article::fields()._id().eq(99));
    assert!(matches!(none.one().await, Err(Error::NotFound { .. })));
    let none = with_author().filter(Article::fields()._id().eq(99)).first().await;
    assert_eq!(none.expect("a query"), None);
    let page = with_author().page(1, 3).await.expect("a page");
    assert_eq!((page.items.len(), page.total, page.pages()), (1, 4, 2));
    assert_eq!(page.items[0].0._id, 4);
    assert_eq!(with_author().limit(2).skip(1).await.expect("articles").len(), 2);
    let empty = with_author().filter(Article::fields()._id().gt(99)).await;
    assert!(empty.expect("a query").is_empty());
    env.stop().await;
}

#[tokio::test]
async fn documents_without_keys_send_no_query_of_the_relation() {
    let env = Env::start().await;
    Site::filled(&env.db).await;
    let observed = Observed::of(&env);
    let site = Site::of(&observed.db);
    let without = site
        .people
        .find(|p| p.company().is_null())
        .with(|p| p.company(), &site.companies);
    assert_eq!(without.await.expect("people").len(), 1);
    assert_eq!(observed.names(), ["find"]);
    env.stop().await;
}

#[tokio::test]
async fn handles_limit_the_related_documents() {
    let env = Env::start().await;
    let site = Site::filled(&env.db).await;
    site.people.delete_by_id(1).await.expect("a deletion");
    let author_of = async |people: &Collection<Person>| {
        let found = site
            .articles
            .find(|a| a._id().eq(1))
            .with(|a| a.author(), people)
            .one()
            .await;
        found.expect("an article").1.map(|a| a._id)
    };
    assert_eq!(author_of(&site.people).await, None);
    assert_eq!(author_of(&site.people.with_deleted()).await, Some(1));
    let of_bee = site.people.scoped(|p| p.company().eq(Ref::new(2)));
    let editors = site
        .articles
        .find(|a| a._id().eq(1))
        .with(|a| a.editor(), &of_bee)
        .one()
        .await;
    assert_eq!(editors.expect("an article").1.map(|e| e._id), Some(2));
    assert_eq!(author_of(&of_bee.with_deleted()).await, None);
    let counted = site
        .companies
        .find_all()
        .sort(|c| c._id().asc())
        .with_count(&site.people, |p| p.company());
    let counts: Vec<u64> = counted
        .await
        .expect("companies")
        .iter()
        .map(|(_, n)| *n)
        .collect();
    assert_eq!(counts, [0, 1]);
    env.stop().await;
}

#[tokio::test]
async fn all_queries_run_in_the_session() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    Site::filled(&env.db).await;
    let observed = Observed::of(&env);
    let site = Site::of(&observed.db);
    let client = observed.db.client();
    let mut session = client.start_session().await.expect("a session");
    session.start_transaction().await.expect("a transaction");
    let new = Person {
        _id: 7,
        name: "New".into(),
        company: Some(Ref::new(1)),
        deleted_at: None,
    };
    site.people
        .insert_one(&new)
        .session(&mut session)
        .await
        .expect("an insert");
    let people = site.people.find_all().with(|p| p.company(), &site.companies);
    let found = site
        .articles
        .find_all()
        .with(|a| a.author(), people)
        .with_count(&site.comments, |c| c.article())
        .session(&mut session)
        .filter(Article::fields()._id().eq(4))
        .one()
        .await
        .expect("an article");
    let (author, company) = found.1.expect("the author that was inserted before");
    assert_eq!((author._id, company.map(|c| c._id), found.2), (7, Some(1), 0));
    for command in observed.take_all() {
        assert!(
            command.get("txnNumber").is_some() || command.contains_key("startSession"),
            "{command}"
        );
    }
    session.abort_transaction().await.expect("an abort");
    env.stop().await;
}

#[tokio::test]
async fn errors_say_what_is_not_a_query_of_a_relation() {
    let env = Env::start().await;
    let site = Site::filled(&env.db).await;
    let articles = || site.articles.find_all();
    let message = |refused: Option<Error>| match refused {
        Some(Error::InvalidArgument { reason, .. }) => reason.clone(),
        other => panic!("{other:?}"),
    };
    let limited = articles()
        .with_many(site.comments.find_all().limit(5), |c| c.article())
        .await;
    assert!(message(limited.err()).contains("per_parent"));
    let none = articles()
        .with_many(&site.comments, |c| c.article())
        .per_parent(0)
        .await;
    assert!(message(none.err()).contains("at least 1"));
    let mut session = env.client().start_session().await.expect("a session");
    let own = articles()
        .with(|a| a.author(), site.people.find_all().session(&mut session))
        .await;
    assert!(message(own.err()).contains("outer query"));
    let hidden = FindOptions::default().projection(doc! { "title": 1 });
    let hidden = articles()
        .with(|a| a.author(), &site.people)
        .with_options(hidden)
        .await;
    assert!(message(hidden.err()).contains("select"));
    let hidden = FindOptions::default().projection(doc! { "name": 1 });
    let hidden = site.people.find_all().with_options(hidden);
    let hidden = articles().with(|a| a.author(), hidden).await;
    assert!(message(hidden.err()).contains("select"));
    env.stop().await;
}

#[tokio::test]
async fn a_related_document_that_cannot_be_decoded_is_named() {
    let env = Env::start().await;
    let site = Site::filled(&env.db).await;
    let people = site.people.driver();
    people
        .update_one(doc! { "_id": 1 }, doc! { "$set": { "name": 5 } })
        .await
        .expect("an update");
    let failed = site.articles.find_all().with(|a| a.author(), &site.people).await;
    let Err(Error::Decode {
        collection, id, path, ..
    }) = failed
    else {
        panic!("{failed:?}");
    };
    assert!(collection.ends_with(".people"));
    assert_eq!((id.map(|id| *id), path.as_str()), (Some(Bson::Int64(1)), "name"));
    env.stop().await;
}
