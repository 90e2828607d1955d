//! `Pipeline::join`: several joins as fields of one shape, in one command.

use crate::models::Shop;
use marula::aggregate::join;
use marula::bson::DateTime;
use marula::prelude::*;
use marula::{Collection, Document, Error, Pipeline, Ref, Shape};

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "users")]
struct User {
    _id: i64,
    name: String,
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "articles", soft_delete = deleted_at)]
struct Article {
    _id: i64,
    author: Ref<User>,
    editor: Option<Ref<User>>,
    tags: Vec<i64>,
    deleted_at: Option<DateTime>,
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "tags")]
struct Tag {
    _id: i64,
    label: String,
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "comments")]
struct Comment {
    _id: i64,
    article: Ref<Article>,
    author: Ref<User>,
    text: String,
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "favorites", index(article, user, unique))]
struct Favorite {
    _id: i64,
    article: i64,
    user: i64,
}

#[derive(Debug, PartialEq, Shape)]
struct WithAuthor {
    #[document(flatten)]
    comment: Comment,
    writer: Option<User>,
}

/// The feed of the RealWorld API.
#[derive(Debug, PartialEq, Shape)]
struct FeedItem {
    #[document(flatten)]
    article: Article,
    author_of: Option<User>,
    editor_of: Option<User>,
    tag_list: Vec<Tag>,
    favorites: i64,
    is_favorite: bool,
    comments: Vec<WithAuthor>,
}

struct Site {
    shop: Shop,
    users: Collection<User>,
    articles: Collection<Article>,
    comments: Collection<Comment>,
    favorites: Collection<Favorite>,
}

fn user(id: i64, name: &str) -> User {
    User {
        _id: id,
        name: name.to_owned(),
    }
}

fn article(id: i64, author: i64, editor: Option<i64>) -> Article {
    Article {
        _id: id,
        author: Ref::new(author),
        editor: editor.map(Ref::new),
        tags: vec![1, 2],
        deleted_at: None,
    }
}

fn comment(id: i64, article: i64, author: i64) -> Comment {
    Comment {
        _id: id,
        article: Ref::new(article),
        author: Ref::new(author),
        text: format!("comment {id}"),
    }
}

fn favorite(id: i64, article: i64, user: i64) -> Favorite {
    Favorite {
        _id: id,
        article,
        user,
    }
}

impl Site {
    async fn open() -> Self {
        let shop = Shop::open().await;
        let db = &shop.db;
        let (users, articles) = (db.collection::<User>(), db.collection::<Article>());
        let (comments, favorites) = (db.collection::<Comment>(), db.collection::<Favorite>());
        let tags = [(1, "a"), (2, "b"), (3, "c")].map(|(id, label)| Tag {
            _id: id,
            label: label.to_owned(),
        });
        db.collection::<Tag>().insert_many(&tags).await.expect("stored");
        users
            .insert_many([user(1, "Ada"), user(2, "Bob")])
            .await
            .expect("stored");
        // The author of the last one does not exist.
        let all = [
            article(1, 1, Some(2)),
            article(2, 2, None),
            article(3, 99, Some(98)),
        ];
        articles.insert_many(&all).await.expect("stored");
        let all = (1..=5).map(|id| comment(id, 1, 1 + id % 2));
        comments.insert_many(all).await.expect("stored");
        let all = [favorite(1, 1, 1), favorite(2, 1, 2), favorite(3, 2, 1)];
        favorites.insert_many(&all).await.expect("stored");
        Site {
            shop,
            users,
            articles,
            comments,
            favorites,
        }
    }
}

fn feed<C>(articles: Pipeline<Article, Article, C>, reader: i64) -> Pipeline<Article, FeedItem, C> {
    articles.sort(|a| a._id().asc()).join(|a| FeedItemJoins {
        author_of: join::<User>().on(a.author(), |u| u._id()).one(),
        editor_of: join::<User>().on(a.editor(), |u| u._id()).one(),
        tag_list: join::<Tag>().on(a.tags(), |t| t._id()).many(),
        favorites: join::<Favorite>().on(a._id(), |f| f.article()).count(),
        is_favorite: join::<Favorite>()
            .on(a._id(), |f| f.article())
            .pipeline(|all| all.match_(|f| f.user().eq(reader)))
            .exists(),
        comments: join::<Comment>()
            .on(a._id(), |c| c.article())
            .pipeline(|all| {
                all.sort(|c| c._id().desc()).limit(2).join(|c| WithAuthorJoins {
                    writer: join::<User>().on(c.author(), |u| u._id()).one(),
                })
            })
            .many(),
    })
}

#[tokio::test]
async fn one_shape_has_documents_numbers_and_flags_of_other_collections() {
    let site = Site::open().await;
    let found = feed(site.articles.aggregate(), 2).all().await.unwrap();
    let [first, second, third] = &found[..] else {
        panic!("{found:?}")
    };
    let tags: Vec<&str> = first.tag_list.iter().map(|tag| &*tag.label).collect();
    assert_eq!(tags, ["a", "b"]);
    assert_eq!(first.article, article(1, 1, Some(2)));
    assert_eq!(first.author_of, Some(user(1, "Ada")));
    assert_eq!(first.editor_of, Some(user(2, "Bob")));
    assert_eq!((first.favorites, first.is_favorite), (2, true));
    let comments: Vec<(i64, &str)> = first
        .comments
        .iter()
        .map(|of| (of.comment._id, &*of.writer.as_ref().unwrap().name))
        .collect();
    assert_eq!(comments, [(5, "Bob"), (4, "Ada")]);
    assert_eq!(
        (&second.author_of, &second.editor_of),
        (&Some(user(2, "Bob")), &None)
    );
    assert_eq!((second.favorites, second.is_favorite), (1, false));
    assert_eq!((&third.author_of, &third.editor_of), (&None, &None));
    assert_eq!((third.favorites, third.is_favorite), (0, false));
    assert_eq!(third.comments, []);

    // The fields are those of the following stages.
    let popular = feed(site.articles.aggregate(), 1)
        .match_(|item| item.author_of().name().is_in(["Ada", "Bob"]) & item.favorites().gte(1))
        .sort(|item| item.favorites().desc())
        .limit(1);
    let popular = popular.all().await.unwrap();
    assert_eq!(
        popular.iter().map(|item| item.article._id).collect::<Vec<_>>(),
        [1]
    );
    site.shop.close().await;
}

#[derive(Debug, PartialEq, Shape)]
struct Written {
    #[document(flatten)]
    user: User,
    articles: Vec<Article>,
    latest: Option<Article>,
    number: i64,
}

fn written<C>(
    users: Pipeline<User, User, C>,
    of: Option<&Collection<Article>>,
) -> Pipeline<User, Written, C> {
    let articles = || match of {
        Some(handle) => join::<Article>().within(handle),
        None => join::<Article>(),
    };
    users.sort(|u| u._id().asc()).join(|u| WrittenJoins {
        articles: articles().on(u._id(), |a| a.author()).many(),
        latest: articles()
            .on(u._id(), |a| a.author())
            .pipeline(|all| all.sort(|a| a._id().desc()))
            .one(),
        number: articles().on(u._id(), |a| a.author()).count(),
    })
}

/// Deleted documents, and those outside of the scope of a handle, are not joined and not counted.
#[tokio::test]
async fn joins_read_what_their_handle_finds() {
    let site = Site::open().await;
    site.articles
        .insert_many([article(4, 1, None), article(5, 1, None)])
        .await
        .unwrap();
    site.articles.delete_by_id(5).required().await.unwrap();
    let found = written(site.users.aggregate(), None).all().await.unwrap();
    let ids = |of: &Written| of.articles.iter().map(|a| a._id).collect::<Vec<_>>();
    assert_eq!((ids(&found[0]), found[0].number), (vec![1, 4], 2));
    assert_eq!(found[0].latest.as_ref().map(|a| a._id), Some(4));
    assert_eq!((ids(&found[1]), found[1].number), (vec![2], 1));

    let edited = site.articles.scoped(|a| a.editor().eq(2_i64));
    let found = written(site.users.aggregate(), Some(&edited))
        .all()
        .await
        .unwrap();
    assert_eq!((ids(&found[0]), found[0].number), (vec![1], 1));
    assert_eq!(found[0].latest.as_ref().map(|a| a._id), Some(1));
    assert_eq!((ids(&found[1]), found[1].number), (vec![], 0));
    assert_eq!(found[1].latest, None);

    let deleted = site.articles.only_deleted();
    let found = written(site.users.aggregate(), Some(&deleted))
        .all()
        .await
        .unwrap();
    assert_eq!((ids(&found[0]), found[0].number), (vec![5], 1));

    // The handle of the inner pipeline.
    let within = |handle: &Collection<Article>| {
        site.users
            .aggregate()
            .sort(|u| u._id().asc())
            .join(|u| WrittenJoins {
                articles: join::<Article>()
                    .on(u._id(), |a| a.author())
                    .pipeline(|all| all.within(handle))
                    .many(),
                latest: join::<Article>()
                    .within(handle)
                    .on(u._id(), |a| a.author())
                    .pipeline(|all| all.sort(|a| a._id().asc()))
                    .one(),
                number: join::<Article>()
                    .only_deleted()
                    .on(u._id(), |a| a.author())
                    .count(),
            })
    };
    let old = site.articles.named("old_articles");
    old.insert_many([article(7, 1, None), article(8, 1, None)])
        .await
        .unwrap();
    let found = within(&old).all().await.unwrap();
    assert_eq!((ids(&found[0]), found[0].number), (vec![7, 8], 1));
    assert_eq!(found[0].latest.as_ref().map(|a| a._id), Some(7));
    let foreign = site.shop.db.in_db("other").collection::<Article>();
    let error = within(&foreign).all().await.unwrap_err();
    assert!(matches!(error, Error::InvalidPipeline { .. }), "{error:?}");

    let error = written(
        site.users.aggregate(),
        Some(&site.shop.db.in_db("other").collection()),
    );
    let error = error.all().await.unwrap_err();
    assert!(matches!(error, Error::InvalidPipeline { .. }), "{error:?}");
    assert!(error.to_string().contains("other"), "{error}");
    site.shop.close().await;
}

#[derive(Debug, PartialEq, Shape)]
struct Ambiguous {
    #[document(flatten)]
    comment: Comment,
    author: Option<User>,
}

/// The shape would read the joined document in place of the reference.
#[tokio::test]
async fn a_joined_field_with_the_name_of_another_is_an_error() {
    let site = Site::open().await;
    let joined = site.comments.aggregate().join(|c| AmbiguousJoins {
        author: join::<User>().on(c.author(), |u| u._id()).one(),
    });
    let error = joined.all().await.unwrap_err().to_string();
    assert!(error.contains("author") && error.contains("rename"), "{error}");
    assert_eq!(site.favorites.estimated_count().await.unwrap(), 3);
    site.shop.close().await;
}
