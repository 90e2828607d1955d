//! Tenants: a database for each of them, and an archive collection for each year.
//!
//! `cargo run --example multi_tenant` connects to `MONGODB_URI`, or to an in-process replica set if
//! it is not set. It uses the databases `marula_tenant_ada` and `marula_tenant_bob`, which it drops
//! first.

use std::error::Error as StdError;

use marula::schema::SyncMode;
use marula::{Collection, Database, Document, Result, prelude::*};
use marula_examples::deployment::Deployment;

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "invoices", index(year))]
pub(crate) struct Invoice {
    _id: i64,
    year: i32,
    #[document(unique)]
    pub(crate) number: String,
}

/// The collections of one tenant. A request gets it by the name of its tenant, and has no access to
/// the data of others.
pub(crate) struct Tenant {
    db: Database,
    pub(crate) invoices: Collection<Invoice>,
}

impl Tenant {
    /// The tenant with this name. All tenants share the client, and so its connections.
    ///
    /// The name is a part of the name of a database, so only letters are allowed.
    pub(crate) fn new(base: &Database, name: &str) -> Option<Self> {
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return None;
        }
        let db = base.in_db(&format!("{}_{name}", base.name()));
        let invoices = db.collection();
        Some(Tenant { db, invoices })
    }

    /// The invoices of a past year.
    pub(crate) fn archive(&self, year: i32) -> Collection<Invoice> {
        self.invoices.named(&format!("invoices_{year}"))
    }

    /// Drops the data of the tenant, and creates the indexes.
    pub(crate) async fn reset(&self) -> Result<()> {
        self.db.driver().drop().await?;
        let schema = self.db.schema().register::<Invoice>();
        schema.sync(SyncMode::Additive).await?;
        Ok(())
    }

    /// Moves the invoices of a year to its archive. Returns their number.
    ///
    /// A call that was interrupted can be repeated: an invoice that is in the archive is replaced.
    pub(crate) async fn close_year(&self, year: i32) -> Result<usize> {
        let archive = self.archive(year);
        let schema = self.db.schema().register_named::<Invoice>(archive.name());
        schema.sync(SyncMode::Additive).await?;
        let closed = self.invoices.find(|i| i.year().eq(year)).all().await?;
        let mut copies = archive.bulk();
        for invoice in &closed {
            copies = copies.save(invoice);
        }
        copies.await?;
        self.invoices.delete_many(|i| i.year().eq(year)).await?;
        Ok(closed.len())
    }
}

pub(crate) fn invoice(id: i64, year: i32) -> Invoice {
    Invoice {
        _id: id,
        year,
        number: format!("{year}-{id}"),
    }
}

#[tokio::main]
pub(crate) async fn main() -> std::result::Result<(), Box<dyn StdError>> {
    let deployment = Deployment::start().await?;
    let base = deployment.client.database("marula_tenant");
    for name in ["ada", "bob"] {
        let tenant = Tenant::new(&base, name).ok_or("invalid name of a tenant")?;
        tenant.reset().await?;
        tenant
            .invoices
            .insert_many([invoice(1, 2025), invoice(2, 2026)])
            .await?;
        if name == "ada" {
            println!("{name}: {} invoices archived", tenant.close_year(2025).await?);
        }
        for collection in [&tenant.invoices, &tenant.archive(2025)] {
            let found = collection.find_all().all().await?;
            let numbers: Vec<_> = found.iter().map(|invoice| invoice.number.as_str()).collect();
            println!("{}: {numbers:?}", collection.namespace());
        }
    }
    deployment.stop().await;
    Ok(())
}
