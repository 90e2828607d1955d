//! Task: update operators, and a PATCH request of which any part may be absent.

use marula::{Fields, IntoUpdate, Update, prelude::*};

use crate::support::{Env, Line, Order, Status, order};

#[derive(Default)]
struct Patch {
    status: Option<Status>,
    /// `Some(None)` removes the note.
    note: Option<Option<String>>,
    add_tag: Option<String>,
}

fn patch(o: &Fields<Order>, patch: Patch) -> Update<Order> {
    (
        patch.status.map(|s| o.status().set(s)),
        patch.note.map(|note| match note {
            Some(note) => o.note().set(note),
            None => o.note().unset(),
        }),
        patch.add_tag.map(|tag| o.tags().add_to_set(tag)),
    )
        .into_update()
}

#[tokio::test]
async fn operators_and_patches() {
    let env = Env::start().await;
    let collection = env.db.collection::<Order>();
    let order = order(1);
    collection.insert_one(&order).await.unwrap();
    let cake = Line {
        sku: "cake".to_owned(),
        qty: 1,
    };
    let update = collection.update_by_id(order.id, |o| {
        (
            o.total_cents().inc(250),
            o.lines().push(&cake),
            o.tags().add_each_to_set(["new", "gift"]),
            o.note().set("ring twice"),
        )
    });
    update.required().await.unwrap();
    let tea = collection.update_by_id(order.id, |o| {
        o.lines().filtered_positional(|l| l.sku().eq("tea")).qty().mul(2)
    });
    tea.required().await.unwrap();

    let body = Patch {
        status: Some(Status::Paid),
        note: Some(None),
        add_tag: Some("new".to_owned()),
    };
    collection
        .update_by_id(order.id, |o| patch(&o, body))
        .required()
        .await
        .unwrap();
    let found = collection.find_by_id(order.id).required().await.unwrap();
    assert_eq!(
        (found.total_cents, found.status, found.note),
        (350, Status::Paid, None)
    );
    assert_eq!((found.lines[0].qty, &found.lines[1]), (4, &cake));
    assert_eq!(found.tags, ["new", "gift"]);

    let empty = patch(&Order::fields(), Patch::default());
    assert!(empty.is_empty());
    env.stop().await;
}
