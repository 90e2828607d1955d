//! Task: a tree of comments in one document.

use marula::{Document, Embedded, Fields, prelude::*};
use serde::{Deserialize, Serialize};

use crate::support::Env;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Comment {
    author: String,
    replies: Vec<Comment>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "posts")]
struct Post {
    _id: i64,
    comments: Vec<Comment>,
    pinned: Option<Box<Comment>>,
}

fn comment(author: &str, replies: Vec<Comment>) -> Comment {
    Comment {
        author: author.to_owned(),
        replies,
    }
}

#[tokio::test]
async fn a_path_into_a_tree() {
    let env = Env::start().await;
    let posts = env.db.collection::<Post>();
    let thread = comment("ada", vec![comment("bob", vec![comment("eve", vec![])])]);
    let pinned = Some(Box::new(thread.clone()));
    let comments = vec![thread];
    posts
        .insert_one(&Post {
            _id: 1,
            comments,
            pinned,
        })
        .await
        .unwrap();

    let deep = |p: Fields<Post>| p.comments().replies().replies().author().eq("eve");
    assert!(posts.exists(deep).await.unwrap());
    let boxed = posts.find_one(|p| p.pinned().replies().author().eq("bob"));
    assert_eq!(boxed.await.unwrap().map(|p| p._id), Some(1));
    let reply = comment("kim", vec![]);
    posts
        .update_by_id(1, |p| p.comments().nth(0).replies().push(&reply))
        .await
        .unwrap();
    let post = posts.find_by_id(1).required().await.unwrap();
    assert_eq!(post.comments[0].replies[1], reply);
    env.stop().await;
}
