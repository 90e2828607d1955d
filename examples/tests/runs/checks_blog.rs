//! Checks the example `blog`.

use crate::blog::{Entry, feed, main, seed};

#[tokio::test]
async fn a_page_is_read_by_one_query_for_each_relation() {
    let (deployment, db) = crate::start().await;
    seed(&db).await.unwrap();
    let finds = || deployment.server.as_ref().map_or(0, |s| s.commands_seen("find"));
    let before = finds();
    let first = feed(&db, None).await.unwrap();
    if deployment.server.is_some() {
        assert_eq!(finds() - before, 3);
    }
    let entry = |title: &str, author: &str, comments: &[&str]| Entry {
        title: title.to_owned(),
        author: author.to_owned(),
        comments: comments.iter().map(|&text| text.to_owned()).collect(),
    };
    let expected = [
        entry("Post 7", "Ada", &["Bessie: First!"]),
        entry("Post 6", "Chen", &[]),
        entry("Post 5", "Bessie", &["Chen: Thank you."]),
    ];
    assert_eq!(first.entries, expected);
    let second = feed(&db, first.next.as_deref()).await.unwrap();
    assert_eq!(second.entries[0].title, "Post 4");
    let third = feed(&db, second.next.as_deref()).await.unwrap();
    assert_eq!(third.entries, [entry("Post 1", "Ada", &["Chen: An old one."])]);
    assert_eq!(third.next, None);
    crate::stop(deployment, db).await;
}

#[test]
fn the_example_runs() {
    main().unwrap();
}
