//! Schemas: the collections and indexes that registered models declare, a plan to create them, and
//! its application.
//!
//! A plan compares what is declared with what exists. It contains one [`Step`] for the options of a
//! collection, if its model declares any, and one for each index: create, build, keep, modify,
//! conflict, obsolete or unknown. [`Apply`] says which of them are taken: [`Apply::additive`]
//! creates missing collections and indexes, [`Apply::full`] also changes, rebuilds and drops.
//!
//! ```no_run
//! # use marula::{Model, schema::Apply};
//! # async fn run<Order: Model, Customer: Model>(db: marula::Database) -> marula::Result<()> {
//! let plan = db.schema().register::<Order>().register::<Customer>().plan().await?;
//! println!("{plan}");
//! plan.apply(Apply::additive()).await?;
//! # Ok(()) }
//! ```
//!
//! An application calls [`Schema::sync`] when it starts. All its instances may do so at the same
//! time:
//!
//! ```no_run
//! # use marula::{Model, schema::SyncMode};
//! # async fn run<Order: Model, Customer: Model>(db: marula::Database) -> marula::Result<()> {
//! let applied = db.schema().register::<Order>().register::<Customer>().sync(SyncMode::Additive).await?;
//! println!("{applied}");
//! # Ok(()) }
//! ```
//!
//! # Options of collections
//!
//! A model declares the options of its collection by attributes: `capped(size = 1_048_576, max =
//! 1000)`, `timeseries(time = at, meta = sensor, granularity = "minutes", ttl = "30d")`,
//! `clustered`, `collation(locale = "en")`, `pre_and_post_images`, and `json_schema` for a
//! validator with [`Model::json_schema`]. Options that are not declared are not compared. A view is
//! added with [`Schema::register_view`].
//!
//! # Shard keys
//!
//! A model declares the shard key of its collection by `shard_key(country, hashed(user))`. On a sharded
//! cluster a plan contains the step of the shard key after those of the indexes: [`Step::ShardCollection`] if the
//! collection is not sharded. On other deployments a shard key is ignored. A plan then also needs the privilege
//! `find` on `config.collections`, and its application `enableSharding` on the database and, to add fields to a
//! shard key, `refineCollectionShardKey`. A collection is never resharded.
//!
//! # Encrypted fields
//!
//! A collection of a model with [encrypted fields](crate::encryption) is created with
//! `encryptedFields`, and with a data key for each field: `Schema::encryption` says by which
//! `ClientEncryption`. The index on `__safeContent__` and the collections `enxcol_.…` belong to the
//! collection; a plan does not contain them. Encrypted fields cannot be changed: a difference is
//! [`Step::EncryptedFieldsConflict`]. A plan creates no data keys.
//!
//! # Search indexes
//!
//! A model declares search indexes by `search_index(…)`, vector search indexes by
//! `vector_search_index(…)`; see [`Document`](derive@crate::Document#search-indexes). They need
//! Atlas or a deployment with `mongot`: [`Schema::search`] says what happens elsewhere. The server
//! builds them in the background; [`Apply::wait_for_search`] waits until queries can use them.
//!
//! # The collection `marula_schema`
//!
//! Which indexes were created from declarations is recorded in the collection `marula_schema` of
//! the database: only these can be [obsolete](Step::Obsolete). It also contains the lease of the
//! instance that changes, rebuilds or drops indexes. If no index is missing or differs, nothing is
//! written, except that the next [`SchemaPlan::apply`] completes the record of an instance that
//! ended while it created an index, and that of an obsolete index that is declared again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

pub use crate::base::error::{Applied, DuplicateKey, IndexChange, Requirement, UnsupportedFeature};
pub use crate::driver::options::ServerVersion;
use crate::{
    base::{
        bson::{Bson, Document, doc},
        error::{Error, Result, SchemaError},
    },
    driver::{self, CollectionSpecification, error::code},
    models::{index::normal::is_truthy, model::Model},
};

mod apply;
mod builds;
mod change;
mod collated;
mod data_keys;
mod declared;
mod deployment;
mod duplicates;
mod encryption;
mod features;
mod lease;
mod limits;
mod migrate;
mod options;
mod plan;
mod print;
mod record;
mod search;
mod search_plan;
mod series;
mod sharding;
mod step;
mod target;

pub use crate::models::declaration::{
    CollectionDeclaration, Granularity, TimeSeries, ValidationAction, ValidationLevel,
};
pub use crate::models::shard_key::ShardKey;
pub use apply::Apply;
use builds::Listed;
use collated::DefaultCollation;
#[cfg(feature = "encryption")]
pub use data_keys::DataKeys;
use declared::{Declarations, Declared, DeclaredCollection};
use deployment::Deployment;
use features::Unsupported;
pub use migrate::MigrateSchema;
use migrate::Versions;
pub use plan::{CollectionPlan, Plan};
pub use search::SearchMode;
use series::Series;
use sharding::Sharded;
pub use step::Step;

/// The registered models of a database.
#[derive(Clone, Debug)]
#[must_use = "a schema does nothing until a plan is made"]
pub struct Schema {
    database: driver::Database,
    declarations: Declarations,
    /// The models whose documents have a version.
    versions: Vec<Versions>,
    search: SearchMode,
    #[cfg(feature = "encryption")]
    data_keys: Option<DataKeys>,
}

impl Schema {
    pub(crate) fn new(database: driver::Database) -> Self {
        Schema {
            database,
            declarations: Declarations::default(),
            versions: Vec::new(),
            search: SearchMode::default(),
            #[cfg(feature = "encryption")]
            data_keys: None,
        }
    }

    /// Adds the indexes that a model declares to its collection, [`Model::COLLECTION`]. Several
    /// models can be registered for one collection; an index that two of them declare equally is
    /// created once. Errors in declarations are returned by [`plan`](Schema::plan).
    ///
    /// ```
    /// # use marula::schema::*;
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let schema = db.schema().register::<Order>().register::<Customer>();
    /// assert_eq!(schema.plan().await?.collections.len(), 2);
    /// # Ok(()) });
    /// ```
    pub fn register<D: Model>(self) -> Self {
        self.register_named::<D>(D::COLLECTION)
    }

    /// As [`register`](Schema::register), for a collection of another name.
    ///
    /// ```
    /// # use marula::schema::*;
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let plan = db.schema().register_named::<Order>("orders_2025").plan().await?;
    /// assert_eq!(plan.collections[0].collection, "orders_2025");
    /// # Ok(()) });
    /// ```
    pub fn register_named<D: Model>(mut self, collection: &str) -> Self {
        self.declarations.add::<D>(self.database.name(), collection);
        self.versions.extend(Versions::of::<D>(collection));
        self
    }

    /// Adds a view of the collection of model `V`: the documents that `pipeline` returns for
    /// another collection. `V` describes the documents of the view; its declared indexes and
    /// options have no effect.
    ///
    /// ```no_run
    /// # use marula::{Model, bson::doc};
    /// # async fn run<Order: Model, OpenOrder: Model>(db: marula::Database) -> marula::Result<()> {
    /// let open = [doc! { "$match": { "status": "open" } }];
    /// let schema = db.schema().register::<Order>().register_view::<OpenOrder>(Order::COLLECTION, open);
    /// println!("{}", schema.plan().await?);
    /// # Ok(()) }
    /// ```
    pub fn register_view<V: Model>(mut self, on: &str, pipeline: impl IntoIterator<Item = Document>) -> Self {
        let namespace = format!("{}.{}", self.database.name(), V::COLLECTION);
        let view = CollectionDeclaration::new().view(on, pipeline);
        self.declarations
            .add_options(V::NAME, &namespace, V::COLLECTION, &view, false);
        self
    }

    /// What to do about declared search indexes. Default: [`SearchMode::Required`].
    ///
    /// ```
    /// # use marula::schema::*;
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// // In tests, on a server without search.
    /// let schema = db.schema().register::<Order>().search(SearchMode::Optional);
    /// schema.sync(SyncMode::Additive).await?;
    /// # Ok(()) });
    /// ```
    pub fn search(mut self, mode: SearchMode) -> Self {
        self.search = mode;
        self
    }

    /// Compares what is declared with what exists, with one `listIndexes` for each collection, one
    /// `find` in `marula_schema`, one `listCollections`, and one `$listSearchIndexes` for each
    /// collection with search indexes; behind a load balancer, with one `hello`. Writes nothing. A
    /// collection that does not exist has no indexes.
    ///
    /// The user needs the privileges `find` on `marula_schema`, `listIndexes` on each collection,
    /// and `listCollections` on the database. Without the latter, an error (13 `Unauthorized`) is
    /// returned only if options or encrypted fields of a collection are declared.
    ///
    /// ```
    /// # use marula::schema::*;
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let plan = db.schema().register::<Order>().plan().await?;
    /// assert!(!plan.is_empty()); // the index is missing
    /// println!("{plan}");
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// [`Error::Schema`] for declarations that are invalid or conflict with
    /// one another, with [`EncryptionNotConfigured`](SchemaError::EncryptionNotConfigured) if
    /// fields are encrypted and there are no data keys, and with
    /// [`SearchUnsupported`](SchemaError::SearchUnsupported) if search indexes are declared and the
    /// deployment has no search; [`Error::Driver`] for errors of the driver.
    /// A conflict with an existing index, and what the server does not support, are not an error
    /// here, see [`Plan::conflict`] and [`Plan::unsupported`].
    pub async fn plan(self) -> Result<SchemaPlan> {
        let mut plan = Plan::default();
        let none = record::Records::default();
        let declarations = self.declarations.collections()?;
        let recorded = record::read(&self.database).await?;
        // The deployment is known: it has replied.
        let deployment = Deployment::of(&self.database).await?;
        let existing = self.list_collections().await?;
        let sharded = sharding::read(&self.database, declarations, &deployment).await?;
        if deployment.lacks_encryption().is_none() {
            self.check_encryption(declarations)?;
        }
        let mut unconfirmed = BTreeMap::new();
        for (collection, declared) in declarations {
            let records = recorded.get(collection).unwrap_or(&none);
            let compared = self
                .plan_collection(collection, declared, (&existing, &sharded), records, &deployment)
                .await?;
            unconfirmed.insert(collection.clone(), records.unconfirmed(&compared.steps));
            plan.collections.push(compared);
        }
        Ok(SchemaPlan {
            plan,
            unconfirmed,
            deployment,
            schema: self,
        })
    }

    async fn plan_collection(
        &self,
        collection: &str,
        declared: &DeclaredCollection,
        (collections, sharded): (&Collections, &Sharded),
        records: &record::Records,
        deployment: &Deployment,
    ) -> Result<CollectionPlan> {
        let existing = collections.get(collection);
        let namespace = format!("{}.{collection}", self.database.name());
        let mut options = encryption::collection_steps(declared, existing, self.has_data_keys(), deployment);
        let mut unsupported = features::of_collection(declared, existing.is_some(), deployment);
        if declared
            .options()
            .is_some_and(|options| options.contains_key("viewOn"))
        {
            // A view has no indexes.
            options.extend(unsupported.into_iter().map(Step::from));
            return Ok(CollectionPlan {
                collection: collection.to_owned(),
                namespace,
                steps: options,
            });
        }
        let handle = self.database.collection::<Document>(collection);
        let Listed {
            specifications: listed,
            building,
        } = Listed::of(&self.database, collection, deployment).await?;
        let default = match collections {
            Collections::Listed(_) => DefaultCollation::of_options(declared, existing),
            Collections::NotPermitted => DefaultCollation::of_indexes(&listed),
        };
        let mut indexes = collated::in_collection(&namespace, &declared.indexes, default)?;
        let shard_key = declared.shard_key().filter(|_| deployment.is_sharded());
        if let Some(key) = shard_key {
            indexes = sharding::with_supporting_index(indexes, key, &listed, &records.indexes, default)?;
        }
        let mut compared = plan::compare(
            &namespace,
            collection,
            &indexes,
            &listed,
            &building,
            &records.indexes,
            deployment,
        );
        let is_capped = is_capped(declared, existing);
        unsupported.extend(features::of_indexes(
            &indexes,
            &compared.steps,
            is_capped,
            deployment,
        ));
        let options_of_series = existing.map(|existing| &existing.options).or(declared.options());
        if let Some(series) = options_of_series.and_then(Series::of_options) {
            unsupported.extend(in_series(&series, &indexes, &compared.steps, deployment)?);
        }
        if declared.encrypted_fields().is_some()
            && existing.is_some_and(|listed| encryption::encrypted_fields(listed).is_some())
        {
            compared.steps.extend(plan::missing_index_of_encryption(&listed));
        }
        compared.steps.splice(0..0, options);
        if let Some((_, key)) = shard_key {
            let step = sharding::step(key, sharded.get(&namespace));
            unsupported.extend(sharding::unsupported(&step, deployment));
            compared.steps.push(step);
        }
        let search = declared.search_indexes();
        let search = self
            .search_steps(&handle, &search, &records.search_indexes)
            .await?;
        compared.steps.extend(search);
        compared.steps.extend(unsupported.into_iter().map(Step::from));
        Ok(compared)
    }

    /// Makes a plan and applies it, as the mode says. Returns what was done.
    ///
    /// ```
    /// # use marula::schema::*;
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let applied = db.schema().register::<Order>().sync(SyncMode::Additive).await?;
    /// assert_eq!(applied.created.len(), 1);
    /// let again = db.schema().register::<Order>().sync(SyncMode::Verify).await?;
    /// assert!(again.is_empty());
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// Those of [`plan`](Schema::plan) and [`SchemaPlan::apply`]; with [`SyncMode::Verify`]
    /// [`SchemaError::NotInSync`], or [`SchemaError::Unsupported`] if the server does not support
    /// all of it.
    pub async fn sync(self, mode: SyncMode) -> Result<Applied> {
        let apply = match mode {
            SyncMode::Off => return Ok(Applied::default()),
            SyncMode::Verify => {
                let plan = self.plan().await?;
                if plan.is_empty() {
                    return Ok(Applied::default());
                }
                if let Some(unsupported) = plan.unsupported() {
                    return Err(unsupported.into());
                }
                let plan = plan.to_string();
                return Err(SchemaError::NotInSync { plan }.into());
            }
            SyncMode::Additive => Apply::additive(),
            SyncMode::Full => Apply::full(),
        };
        self.plan().await?.apply(apply).await
    }

    /// The existing collections of the registered models.
    ///
    /// # Errors
    /// Those of the driver. That the user may not list collections is an error only if the options
    /// of one are declared.
    async fn list_collections(&self) -> Result<Collections> {
        let declarations = self.declarations.collections()?;
        let names: Vec<&String> = declarations.keys().collect();
        let has_options = |declared: &DeclaredCollection| {
            declared.options().is_some() || declared.encrypted_fields().is_some()
        };
        match list_collections(&self.database, &names).await {
            Ok(listed) => Ok(Collections::Listed(listed)),
            Err(error)
                if error.code() == Some(code::UNAUTHORIZED) && !declarations.values().any(has_options) =>
            {
                Ok(Collections::NotPermitted)
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn database(&self) -> &driver::Database {
        &self.database
    }
}

/// The existing collections of the registered models.
enum Collections {
    Listed(BTreeMap<String, CollectionSpecification>),
    /// The user may not list the collections of the database.
    NotPermitted,
}

impl Collections {
    fn get(&self, name: &str) -> Option<&CollectionSpecification> {
        match self {
            Collections::Listed(listed) => listed.get(name),
            Collections::NotPermitted => None,
        }
    }
}

/// Whether the collection is capped, or will be created as one.
fn is_capped(declared: &DeclaredCollection, existing: Option<&CollectionSpecification>) -> bool {
    let options = existing.map(|existing| &existing.options).or(declared.options());
    options.is_some_and(|options| options.get("capped").is_some_and(is_truthy))
}

/// Checks the indexes of a time series that the steps build. Returns what the deployment does not
/// support.
///
/// # Errors
/// [`SchemaError::InvalidIndex`] for an index that no server version accepts.
fn in_series(
    series: &Series<'_>,
    indexes: &[Declared],
    steps: &[Step],
    deployment: &Deployment,
) -> Result<Vec<Unsupported>, SchemaError> {
    let mut unsupported = Vec::new();
    for index in features::built(indexes, steps) {
        if let Err(reason) = series.check(index) {
            return Err(SchemaError::InvalidIndex {
                model: index.model,
                index: index.name.clone(),
                reason,
            });
        }
        unsupported.extend(series.unsupported(index, deployment));
    }
    Ok(unsupported)
}

/// The collections of these names that exist.
async fn list_collections(
    database: &driver::Database,
    names: &[&String],
) -> driver::Result<BTreeMap<String, CollectionSpecification>> {
    let mut existing = BTreeMap::new();
    if names.is_empty() {
        return Ok(existing);
    }
    let names: Vec<Bson> = names.iter().map(|name| Bson::from(name.as_str())).collect();
    let filter = doc! { "name": { "$in": names } };
    let mut cursor = database.list_collections().filter(filter).await?;
    while cursor.advance().await? {
        let listed: CollectionSpecification = cursor.deserialize_current()?;
        existing.insert(listed.name.clone(), listed);
    }
    Ok(existing)
}

/// What [`Schema::sync`] does about indexes that are missing or differ from the declared ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SyncMode {
    /// Nothing is read and nothing is written.
    Off,
    /// They are an error. Nothing is written.
    Verify,
    /// As [`Apply::additive`]: missing indexes are created.
    Additive,
    /// As [`Apply::full`].
    Full,
}

/// Reads `off`, `verify`, `additive` or `full`, for the configuration of an application.
///
/// ```
/// use marula::schema::SyncMode;
/// assert_eq!("additive".parse::<SyncMode>()?, SyncMode::Additive);
/// assert!("all".parse::<SyncMode>().is_err());
/// # Ok::<(), marula::Error>(())
/// ```
impl FromStr for SyncMode {
    type Err = Error;

    /// # Errors
    /// [`Error::InvalidArgument`] for any other text.
    fn from_str(text: &str) -> Result<Self> {
        Ok(match text {
            "off" => SyncMode::Off,
            "verify" => SyncMode::Verify,
            "additive" => SyncMode::Additive,
            "full" => SyncMode::Full,
            _ => {
                return Err(Error::argument(
                    "the mode of a schema is one of `off`, `verify`, `additive` and `full`",
                ));
            }
        })
    }
}

/// A [`Plan`] and the schema that it is made for. `Display` prints the plan.
#[derive(Clone, Debug)]
#[must_use = "a plan does nothing until it is applied"]
pub struct SchemaPlan {
    plan: Plan,
    /// The indexes of each collection whose records do not say that they exist and are declared.
    unconfirmed: BTreeMap<String, BTreeSet<(record::Kind, String)>>,
    deployment: Deployment,
    schema: Schema,
}

impl Deref for SchemaPlan {
    type Target = Plan;
    fn deref(&self) -> &Plan {
        &self.plan
    }
}

impl fmt::Display for SchemaPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plan.fmt(f)
    }
}
