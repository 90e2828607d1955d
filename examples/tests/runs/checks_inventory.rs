//! Checks the example `inventory`.

use crate::inventory::{Inventory, main};

#[tokio::test]
async fn an_order_is_taken_as_a_whole() {
    let (deployment, db) = crate::start().await;
    let inventory = Inventory::new(&deployment.client, &db);
    inventory.seed().await.unwrap();
    assert!(inventory.take(&[("cup", 2), ("tea", 2)]).await.unwrap());
    assert!(!inventory.take(&[("cup", 2), ("tea", 2)]).await.unwrap());
    let cup = inventory.items.find_by_id("cup").required().await.unwrap();
    assert_eq!((cup.left, cup.version), (8, 1));
    let moves = inventory.moves.find_all().await.unwrap();
    let moved: Vec<_> = moves.iter().map(|m| (m.sku.as_str(), m.pieces)).collect();
    assert_eq!(moved, [("cup", -2), ("tea", -2)]);
    crate::stop(deployment, db).await;
}

#[tokio::test]
async fn an_edit_is_repeated_after_a_conflict() {
    let (deployment, db) = crate::start().await;
    let inventory = Inventory::new(&deployment.client, &db);
    inventory.seed().await.unwrap();
    let mut attempts = 0;
    let edited = inventory.edit("tea", async |item| {
        attempts += 1;
        if attempts == 1 {
            // Another user changes the item between the read and the write.
            assert!(inventory.take(&[("tea", 1)]).await.unwrap());
        }
        item.description = format!("{} left", item.left);
    });
    let edited = edited.await.unwrap();
    assert_eq!(
        (attempts, edited.description.as_str(), edited.version),
        (2, "2 left", 2)
    );
    let stored = inventory.items.find_by_id("tea").required().await.unwrap();
    assert_eq!(stored, edited);
    crate::stop(deployment, db).await;
}

#[test]
fn the_example_runs() {
    main().unwrap();
}
