//! Runs the examples, and checks their results.

#[path = "../../analytics/main.rs"]
mod analytics;
#[path = "../../blog/main.rs"]
mod blog;
#[path = "../../inventory/main.rs"]
mod inventory;
#[path = "../../live_feed/main.rs"]
mod live_feed;
#[path = "../../migrations/main.rs"]
mod migrations;
#[path = "../../multi_tenant/main.rs"]
mod multi_tenant;
#[path = "../../workspaces/main.rs"]
mod workspaces;

mod checks_analytics;
mod checks_blog;
mod checks_inventory;
mod checks_live_feed;
mod checks_migrations;
mod checks_multi_tenant;
mod checks_workspaces;

use marula::Database;
use marula_examples::deployment::Deployment;

/// A deployment, and a database of its own for one test.
async fn start() -> (Deployment, Database) {
    let deployment = Deployment::start().await.expect("a deployment");
    let name = format!("marula_{}", uuid::Uuid::now_v7().simple());
    let db = deployment.client.database(&name);
    (deployment, db)
}

async fn stop(deployment: Deployment, db: Database) {
    db.driver().drop().await.expect("the database is dropped");
    deployment.stop().await;
}
