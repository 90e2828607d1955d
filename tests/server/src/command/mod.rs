//! The commands: one file for each command or group of related commands, and the command table.

pub(crate) mod admin;
pub(crate) mod aggregate;
pub(crate) mod api_version;
pub(crate) mod args;
pub(crate) mod bulk_write;
pub(crate) mod client_metadata;
pub(crate) mod coll_mod;
pub(crate) mod concerns;
pub(crate) mod convert_to_capped;
pub(crate) mod count;
pub(crate) mod create;
pub(crate) mod current_op;
pub(crate) mod cursors;
pub(crate) mod delete;
pub(crate) mod dispatch;
pub(crate) mod encrypted_fields;
mod error_prefix;
pub(crate) mod find;
pub(crate) mod find_and_modify;
pub(crate) mod generic;
pub(crate) mod hello;
pub(crate) mod indexes;
pub(crate) mod insert;
pub(crate) mod labels;
pub(crate) mod list;
pub(crate) mod map_reduce;
pub(crate) mod older_versions;
pub(crate) mod plan;
pub(crate) mod read_preference;
pub(crate) mod rename;
pub(crate) mod repl_set;
pub(crate) mod sasl;
pub(crate) mod search_index;
pub(crate) mod shard_key;
pub(crate) mod sharding;
pub(crate) mod stats;
mod structured_encryption;
pub(crate) mod system;
mod system_writes;
pub(crate) mod table;
pub(crate) mod table_admin;
pub(crate) mod timeseries;
pub(crate) mod transaction_rules;
pub(crate) mod transactional_write;
pub(crate) mod update;
pub(crate) mod users;
pub(crate) mod view;
pub(crate) mod waiting;

pub(crate) use dispatch::{Outcome, dispatch};

use crate::deployment::{CatalogGuard, Deployment};
use crate::error::Result;
use crate::member::Member;
use crate::query::Env;
use crate::session_info::Owner;
use crate::storage::{Catalog, Collection, Namespace};
use crate::value::collation::Collation;
use crate::wire::connection::Client;
use args::Args;
use bson::Document;
use std::sync::{Arc, Mutex};

/// A command to execute, and its environment.
#[derive(Clone, Copy)]
pub(crate) struct Call<'c> {
    pub(crate) deployment: &'c Arc<Deployment>,
    pub(crate) member: &'c Arc<Member>,
    pub(crate) client: &'c Client,
    /// The name of the command in the table.
    pub(crate) name: &'static str,
    /// The first key of the request: the name or an alias of the command.
    pub(crate) key: &'c str,
    pub(crate) db: &'c str,
    pub(crate) body: &'c Document,
    /// The catalog of the transaction or snapshot of the command; `None` for that of the
    /// deployment.
    pub(crate) isolated: Option<&'c Mutex<Catalog>>,
}

impl<'c> Call<'c> {
    /// The fields of the command.
    pub(crate) fn args(&self) -> Args<'c> {
        Args::new(self.name, self.body)
    }

    /// The namespace of the command.
    pub(crate) fn namespace(&self) -> Result<Namespace> {
        Namespace::of_command(self.db, self.key, self.body)
    }

    /// The namespace of a cursor, which may be a pseudo-collection such as `$cmd.aggregate`.
    pub(crate) fn namespace_or_any(&self) -> Result<String> {
        self.namespace().map(|namespace| namespace.to_string())
    }

    /// Whether the command is part of a transaction.
    pub(crate) fn in_transaction(&self) -> bool {
        self.body.contains_key("autocommit")
    }

    /// The session and transaction of the cursors that the command opens or reads.
    pub(crate) fn owner(&self) -> Result<Owner> {
        Owner::of(self.body)
    }

    /// The environment of the command's expressions: `let`, and `collation` or the default
    /// collation of the collection.
    pub(crate) fn env(&self, collection: Option<&Collection>) -> Result<Env> {
        let mut env = Env::with_collation(match self.body.get("collation") {
            Some(_) => Collation::parse_field(self.body)?,
            None => collection.and_then(|collection| collection.collation.clone()),
        });
        env.set_text_index(collection);
        env.search = self.deployment.search;
        env.profile = self.deployment.profile();
        env.strict = api_version::is_strict(self.body);
        if self.deployment.is_replicated() {
            let now = self.deployment.operation_time();
            env.variables.insert("CLUSTER_TIME".to_owned(), now.into());
        }
        crate::expression::define_let(self.args().document("let")?, &mut env)?;
        Ok(env)
    }

    /// The environment of the expressions of a definition that the command stores: those of a view
    /// or a validator.
    pub(crate) fn definition_env(&self, collation: Option<Collation>) -> Env {
        Env {
            collation,
            strict: api_version::is_strict(self.body),
            ..Env::of(self.deployment.profile())
        }
    }

    /// Locks the catalog that the command reads and writes.
    pub(crate) fn catalog(&self) -> CatalogGuard<'c> {
        match self.isolated {
            Some(catalog) => CatalogGuard::isolated(catalog),
            None => self.deployment.catalog(),
        }
    }

    /// Whether this process accepts writes: a primary, a standalone or a mongos.
    pub(crate) fn is_writable(&self) -> bool {
        self.deployment.is_mongos()
            || self
                .deployment
                .topology(|topology| topology.primary == Some(self.member.index))
    }

    /// Advances the logical clock for a write.
    pub(crate) fn advance_clock(&self) {
        self.deployment.tick();
    }
}
