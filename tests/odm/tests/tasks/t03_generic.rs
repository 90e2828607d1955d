//! Task: a model with a type parameter, and the same operations for every model in a repository.

use marula::{Collection, Database, Document, Embedded, Model, Result, prelude::*};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::support::Env;

#[derive(Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "events", index(tenant))]
struct Envelope<T> {
    #[serde(rename = "_id")]
    id: Uuid,
    tenant: String,
    payload: T,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Login {
    user: String,
}

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

    async fn get(&self, id: &D::Id) -> Result<D> {
        self.documents.find_by_id(D::id_ref(id)).required().await
    }

    async fn remove(&self, id: &D::Id) -> Result<bool> {
        Ok(self.documents.delete_by_id(D::id_ref(id)).await? == 1)
    }
}

#[tokio::test]
async fn a_repository_for_any_model() {
    let env = Env::start().await;
    let logins = Repository::<Envelope<Login>>::new(&env.db);
    let login = Envelope {
        id: Envelope::<Login>::new_id(),
        tenant: "a".to_owned(),
        payload: Login {
            user: "ada".to_owned(),
        },
    };
    logins.add(&login).await.unwrap();
    let of_ada = |e: marula::Fields<Envelope<Login>>| e.tenant().eq("a") & e.payload().user().eq("ada");
    assert!(logins.documents.exists(of_ada).await.unwrap());
    assert_eq!(logins.get(&login.id).await.unwrap(), login);
    assert!(logins.remove(&login.id).await.unwrap());
    assert!(!logins.remove(&login.id).await.unwrap());
    env.stop().await;
}
