//! Page tokens with a key: what is accepted, and what is refused.

use crate::common::{Env, Order, order};
use marula::prelude::*;
use marula::{Collection, Error, TokenKey};

const KEY: [u8; 32] = *b"0123456789abcdefghijklmnopqrstuv";

async fn shop() -> (Env, Collection<Order>) {
    let env = Env::start().await;
    let orders = env.db.collection::<Order>();
    let all: Vec<Order> = (0..6)
        .map(|n| Order {
            note: (n % 2 == 0).then(|| format!("confidential {n}")),
            ..order(n)
        })
        .collect();
    orders.insert_many(&all).await.expect("orders are inserted");
    (env, orders)
}

async fn page(
    orders: &Collection<Order>,
    key: Option<&TokenKey>,
    token: Option<&str>,
) -> Result<(Vec<i64>, Option<String>), Error> {
    let mut query = orders.find_all();
    if let Some(key) = key {
        query = query.token_key(key);
    }
    let page = query
        .keyset(|o| (o.note().desc(), o.number().asc()), token, 2)
        .await?;
    Ok((page.items.iter().map(|o| o.number).collect(), page.next))
}

fn is_refused<T>(page: &Result<T, Error>) -> bool {
    matches!(page, Err(Error::InvalidPageToken))
}

#[tokio::test]
async fn keyed_tokens_select_the_pages() {
    let (env, orders) = shop().await;
    let key = TokenKey::new(KEY).context("user 17");
    let (mut all, mut token) = (Vec::new(), None);
    loop {
        let (numbers, next) = page(&orders, Some(&key), token.as_deref()).await.unwrap();
        all.extend(numbers);
        token = next;
        if token.is_none() {
            break;
        }
    }
    assert_eq!(all, [4, 2, 0, 1, 3, 5]);
    env.stop().await;
}

#[tokio::test]
async fn tokens_of_others_are_refused() {
    let (env, orders) = shop().await;
    let key = TokenKey::new(KEY);
    let user = key.context("user 17");
    let (_, token) = page(&orders, Some(&user), None).await.unwrap();
    let token = token.expect("another page");
    let unsigned = page(&orders, None, None).await.unwrap().1.expect("another page");
    assert!(page(&orders, Some(&user), Some(&token)).await.is_ok());

    let other = TokenKey::new([9; 32]).context("user 17");
    let previous = other.with_previous(&key);
    for (name, key) in [
        ("another user", Some(key.context("user 1"))),
        ("an empty context", Some(key.context(""))),
        ("no context", Some(key.clone())),
        ("another key", Some(other)),
        ("no key", None),
    ] {
        assert!(
            is_refused(&page(&orders, key.as_ref(), Some(&token)).await),
            "{name}"
        );
    }
    assert!(page(&orders, Some(&previous), Some(&token)).await.is_ok());
    assert!(is_refused(&page(&orders, Some(&user), Some(&unsigned)).await));
    assert!(page(&orders, None, Some(&unsigned)).await.is_ok());

    // Another collection, and another database.
    let named = orders.named("archive");
    assert!(is_refused(&page(&named, Some(&user), Some(&token)).await));
    let database = env.client().database("another").collection::<Order>();
    assert!(is_refused(&page(&database, Some(&user), Some(&token)).await));

    // Another sort.
    let query = || orders.find_all().token_key(&user);
    let reversed = query().keyset(|o| (o.note().asc(), o.number().asc()), Some(&token), 2);
    assert!(is_refused(&reversed.await));
    let swapped = query().keyset(|o| (o.number().asc(), o.note().desc()), Some(&token), 2);
    assert!(is_refused(&swapped.await));
    let fewer = query().keyset(|o| o.note().desc(), Some(&token), 2);
    assert!(is_refused(&fewer.await));
    env.stop().await;
}

#[tokio::test]
async fn damaged_tokens_are_refused() {
    let (env, orders) = shop().await;
    let key = TokenKey::new(KEY);
    let (_, token) = page(&orders, Some(&key), None).await.unwrap();
    let token = token.expect("another page");
    for at in 0..token.len() {
        let other = if token.as_bytes()[at] == b'A' { "z" } else { "A" };
        let mut changed = token.clone();
        changed.replace_range(at..=at, other);
        assert!(
            is_refused(&page(&orders, Some(&key), Some(&changed)).await),
            "{changed}"
        );
        assert!(
            is_refused(&page(&orders, Some(&key), Some(&token[..at])).await),
            "{at}"
        );
    }
    for added in ["A", "AAAA", "=", " "] {
        let longer = format!("{token}{added}");
        assert!(
            is_refused(&page(&orders, Some(&key), Some(&longer)).await),
            "{longer}"
        );
    }
    env.stop().await;
}

#[tokio::test]
async fn the_first_key_issues_and_the_previous_ones_are_accepted() {
    let (env, orders) = shop().await;
    let (old, new) = (TokenKey::new(KEY), TokenKey::new([2; 32]));
    let both = new.with_previous(&old);
    let issued = |key: TokenKey| {
        let orders = orders.clone();
        async move {
            page(&orders, Some(&key), None)
                .await
                .unwrap()
                .1
                .expect("another page")
        }
    };
    let (of_old, of_both) = (issued(old.clone()).await, issued(both.clone()).await);
    assert_eq!(of_both, issued(new.clone()).await);
    for (key, token, is_accepted) in [
        (&both, &of_old, true),
        (&both, &of_both, true),
        (&new, &of_both, true),
        (&old, &of_both, false),
        (&new, &of_old, false),
    ] {
        let result = page(&orders, Some(key), Some(token)).await;
        assert_eq!(result.is_ok(), is_accepted);
    }
    // The context of the key that issues.
    let user = both.context("user 17");
    assert!(is_refused(&page(&orders, Some(&user), Some(&of_both)).await));
    let token = issued(old.context("user 17")).await;
    assert!(page(&orders, Some(&user), Some(&token)).await.is_ok());
    env.stop().await;
}

#[tokio::test]
async fn projections_and_filters_keep_the_key() {
    let (env, orders) = shop().await;
    let key = TokenKey::new(KEY);
    let query = |key: &TokenKey| orders.find_all().token_key(key).select::<Order>();
    let first = query(&key).keyset(|o| o.number().asc(), None, 2).await.unwrap();
    let next = first.next.expect("another page");
    let filtered = query(&key).filter(Order::fields().number().lt(3));
    let second = filtered
        .keyset(|o| o.number().asc(), Some(&next), 2)
        .await
        .unwrap();
    assert_eq!(second.items.len(), 1);
    let other = TokenKey::new([3; 32]);
    assert!(is_refused(
        &query(&other).keyset(|o| o.number().asc(), Some(&next), 2).await
    ));
    env.stop().await;
}

#[test]
fn keys_are_not_shown_and_have_32_bytes() {
    let key = TokenKey::new(KEY).context("user 17");
    assert_eq!(format!("{key:?}"), "TokenKey(..)");
    for length in [0, 16, 31, 33, 64] {
        let error = TokenKey::from_slice(&vec![7; length]).unwrap_err();
        assert!(
            error.to_string().contains(&format!("found {length} bytes")),
            "{error}"
        );
    }
    for text in ["", "not base64", "AAAA"] {
        let error = TokenKey::from_base64(text).unwrap_err();
        assert!(matches!(error, Error::InvalidArgument { .. }), "{error}");
    }
    assert!(TokenKey::from_base64(&format!("{}=\n", "A".repeat(43))).is_ok());
}
