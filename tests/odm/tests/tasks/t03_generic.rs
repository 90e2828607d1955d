//! Task: the same operations for every model, in a repository with a type parameter.

use marula::{Collection, Database, IntoValue, Model, Result};

use crate::support::{Env, Order, order};

struct Repository<D> {
    documents: Collection<D>,
}

impl<D: Model> Repository<D> {
    fn new(db: &Database) -> Self {
        Repository {
            documents: db.collection(),
        }
    }

    async fn add(&self, document: &D) -> Result<()> {
        self.documents.insert_one(document).await?;
        Ok(())
    }

    async fn get(&self, id: impl IntoValue<D::Id>) -> Result<D> {
        self.documents.find_by_id(id).required().await
    }

    async fn remove(&self, id: impl IntoValue<D::Id>) -> Result<bool> {
        Ok(self.documents.delete_by_id(id).await? == 1)
    }
}

#[tokio::test]
async fn a_repository_for_any_model() {
    let env = Env::start().await;
    let orders = Repository::<Order>::new(&env.db);
    let order = order(1);
    orders.add(&order).await.unwrap();
    assert_eq!(orders.get(order.id).await.unwrap(), order);
    assert!(orders.remove(order.id).await.unwrap());
    assert!(!orders.remove(order.id).await.unwrap());
    env.stop().await;
}
