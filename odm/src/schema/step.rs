//! The steps of a plan.

use crate::{
    base::{
        bson::{DateTime, Document},
        error::{IndexChange, Requirement, SchemaError, UnsupportedFeature},
    },
    models::index::SearchIndexKind,
    schema::{CollectionPlan, features::Unsupported},
};

/// One step of a plan: what to do about the options of a collection, or about one index.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Step {
    /// The collection has declared options and does not exist. It will be created.
    CreateCollection {
        /// The declared options.
        options: Document,
    },
    /// The collection exists with the declared options.
    KeepCollection,
    /// The collection differs from the declared one in options that the server can change
    /// (`collMod`). It is changed if [`Apply::coll_mod`](super::Apply::coll_mod) is set.
    ModifyCollection {
        /// The existing options.
        existing: Document,
        /// The declared options.
        declared: Document,
        /// The names of the options that differ.
        differences: Vec<String>,
    },
    /// The collection differs in options that only a new collection can have. It is never changed.
    CollectionConflict {
        /// The existing options.
        existing: Document,
        /// The declared options.
        declared: Document,
        /// The names of the options that differ.
        differences: Vec<String>,
    },
    /// The collection differs in options that only a newer server, or a client without the strict
    /// Stable API, can change. It is never changed.
    UnsupportedCollectionChange {
        /// The existing options.
        existing: Document,
        /// The declared options.
        declared: Document,
        /// The names of the options that differ.
        differences: Vec<String>,
        /// The option that cannot be changed.
        option: String,
        /// What its change needs.
        requirement: Requirement,
    },
    /// Something that is declared needs a newer server, a replica set, or a client without the
    /// strict Stable API. A plan with such a step cannot be applied, see
    /// [`Plan::unsupported`](super::Plan::unsupported).
    Unsupported {
        /// What is not supported, such as "the option `hidden` of index `page_1` (model `Visit`)".
        feature: String,
        /// The property that the deployment lacks.
        requirement: Requirement,
    },
    /// The collection has other [encrypted fields](crate::encryption) than those that are declared.
    /// They are never changed: only a new collection can have others.
    EncryptedFieldsConflict {
        /// `encryptedFields` of the collection. Empty if it is not encrypted.
        existing: Document,
        /// The declared `encryptedFields`. Empty if no field is declared.
        declared: Document,
        /// What differs, a sentence for each field.
        differences: Vec<String>,
    },
    /// The index is declared and does not exist. It will be created.
    Create {
        /// The name of the index.
        name: String,
        /// The declared specification.
        specification: Document,
    },
    /// The index is declared, and another client is building it with the same keys and options. The
    /// application of the plan waits until the build ends, for at most
    /// [`Apply::lease_wait`](super::Apply::lease_wait), and creates the index if the build has
    /// failed. An index that the other client has built is not in
    /// [`Applied::created`](crate::error::Applied), and is not recorded as created from a
    /// declaration: it never becomes obsolete.
    ///
    /// MongoDB 4.4+. A standalone, MongoDB 4.2 and a client with the strict Stable API do not
    /// distinguish indexes that are being built: such an index is kept.
    Building {
        /// The name of the index on the server.
        name: String,
        /// The declared specification, with that name.
        specification: Document,
    },
    /// The index is declared, and exists with the same keys and options.
    Keep {
        /// The name of the index on the server.
        name: String,
        /// The declared name, if it differs.
        declared_as: Option<String>,
    },
    /// An existing index differs from the declared one in options that the server can change
    /// (`collMod`). It is changed if [`Apply::coll_mod`](super::Apply::coll_mod) is set.
    Modify {
        /// The name of the index on the server.
        name: String,
        /// The existing specification.
        existing: Document,
        /// The declared specification.
        declared: Document,
        /// What changes.
        changes: Vec<IndexChange>,
    },
    /// An existing index conflicts with the declared one. It is dropped and built again if
    /// [`Apply::rebuild`](super::Apply::rebuild) is set.
    Conflict {
        /// The declared name.
        name: String,
        /// The existing specification.
        existing: Document,
        /// The declared specification.
        declared: Document,
        /// The options that differ; `key` for the keys, `name` for the name.
        differences: Vec<String>,
    },
    /// The index was created from a declaration, and no registered model declares it any more. It
    /// is hidden, and dropped later, if [`Apply::drop_obsolete`](super::Apply::drop_obsolete) is
    /// set.
    Obsolete {
        /// The name of the index.
        name: String,
        /// The existing specification.
        specification: Document,
        /// Since when it is hidden for this reason. MongoDB 4.2 cannot hide indexes: since when it
        /// is recorded as obsolete.
        hidden_at: Option<DateTime>,
    },
    /// The index exists, and no registered model declares it. It is never dropped.
    Unknown {
        /// The name of the index.
        name: String,
        /// The existing specification.
        specification: Document,
    },
    /// The collection is not sharded, and its shard key is declared. It will be sharded, after its indexes were
    /// created. Only on a sharded cluster, as all steps of shard keys.
    ShardCollection {
        /// The declared shard key.
        key: Document,
        /// Whether two documents cannot have the same shard key.
        unique: bool,
    },
    /// The collection is sharded by the declared shard key.
    KeepShardKey {
        /// The shard key.
        key: Document,
    },
    /// The collection is sharded by the first fields of the declared shard key. The others are added
    /// (`refineCollectionShardKey`, MongoDB 4.4+) if [`Apply::coll_mod`](super::Apply::coll_mod) is set.
    RefineShardKey {
        /// The existing shard key.
        existing: Document,
        /// The declared shard key.
        declared: Document,
    },
    /// The collection is sharded by another shard key than the declared one. It is never resharded: change the
    /// declaration, or run the command `reshardCollection` (MongoDB 5.0+).
    ShardKeyConflict {
        /// The existing shard key.
        existing: Document,
        /// Whether two documents cannot have the same existing shard key.
        existing_unique: bool,
        /// The declared shard key.
        declared: Document,
        /// Whether two documents cannot have the same declared shard key.
        declared_unique: bool,
    },
    /// The search index is declared and does not exist. It will be created, and built in the
    /// background.
    CreateSearchIndex {
        /// The name of the index.
        name: String,
        /// The type of the index.
        kind: SearchIndexKind,
        /// The declared definition.
        definition: Document,
    },
    /// The search index exists with the declared definition.
    KeepSearchIndex {
        /// The name of the index.
        name: String,
        /// The status of the index, such as `READY` or `BUILDING`.
        status: String,
        /// Whether queries can use the index.
        queryable: bool,
    },
    /// The search index has another definition. It is updated if
    /// [`Apply::coll_mod`](super::Apply::coll_mod) is set: the server builds the new index in the
    /// background and uses the old one until then.
    UpdateSearchIndex {
        /// The name of the index.
        name: String,
        /// The existing definition.
        existing: Document,
        /// The declared definition.
        declared: Document,
    },
    /// The search index has another type. It is dropped and created again if
    /// [`Apply::rebuild`](super::Apply::rebuild) is set.
    SearchIndexConflict {
        /// The name of the index.
        name: String,
        /// The existing type.
        existing_kind: String,
        /// The declared type.
        kind: SearchIndexKind,
        /// The existing definition.
        existing: Document,
        /// The declared definition.
        declared: Document,
    },
    /// The search index was created from a declaration, and no registered model declares it any
    /// more. It is dropped some time after it was found, if
    /// [`Apply::drop_obsolete`](super::Apply::drop_obsolete) is set.
    ObsoleteSearchIndex {
        /// The name of the index.
        name: String,
        /// The existing definition.
        definition: Document,
        /// When an apply with `drop_obsolete` found it.
        undeclared_since: Option<DateTime>,
    },
    /// The search index exists, and no registered model declares it. It is never dropped.
    UnknownSearchIndex {
        /// The name of the index.
        name: String,
        /// The existing definition.
        definition: Document,
    },
    /// The deployment has no search, and the schema permits that; see
    /// [`SearchMode::Optional`](super::SearchMode::Optional).
    SkipSearchIndex {
        /// The name of the index.
        name: String,
    },
}

impl From<Unsupported> for Step {
    fn from(Unsupported { feature, requirement }: Unsupported) -> Self {
        Step::Unsupported { feature, requirement }
    }
}

impl Step {
    /// The difference between what exists and what is declared as an error.
    pub(super) fn difference(&self, collection: &CollectionPlan) -> Option<SchemaError> {
        if let Step::ModifyCollection {
            existing,
            declared,
            differences,
        }
        | Step::CollectionConflict {
            existing,
            declared,
            differences,
        } = self
        {
            return Some(SchemaError::CollectionConflict {
                namespace: collection.namespace.clone(),
                differences: differences.clone(),
                can_change: matches!(self, Step::ModifyCollection { .. }),
                existing: Box::new(existing.clone()),
                declared: Box::new(declared.clone()),
            });
        }
        if let Step::UnsupportedCollectionChange {
            option, requirement, ..
        } = self
        {
            let feature = UnsupportedFeature {
                namespace: collection.namespace.clone(),
                feature: format!("the change of the option `{option}` of the collection"),
                requirement: *requirement,
            };
            return Some(SchemaError::Unsupported {
                features: vec![feature],
            });
        }
        if let Step::EncryptedFieldsConflict {
            existing,
            declared,
            differences,
        } = self
        {
            return Some(SchemaError::EncryptedFieldsConflict {
                namespace: collection.namespace.clone(),
                differences: differences.clone(),
                existing: Box::new(existing.clone()),
                declared: Box::new(declared.clone()),
            });
        }
        if let Step::RefineShardKey { existing, declared }
        | Step::ShardKeyConflict {
            existing, declared, ..
        } = self
        {
            return Some(SchemaError::ShardKeyConflict {
                namespace: collection.namespace.clone(),
                can_change: matches!(self, Step::RefineShardKey { .. }),
                existing: Box::new(existing.clone()),
                declared: Box::new(declared.clone()),
            });
        }
        if let Step::UpdateSearchIndex {
            name,
            existing,
            declared,
        }
        | Step::SearchIndexConflict {
            name,
            existing,
            declared,
            ..
        } = self
        {
            return Some(SchemaError::SearchIndexConflict {
                namespace: collection.namespace.clone(),
                index: name.clone(),
                can_change: matches!(self, Step::UpdateSearchIndex { .. }),
                existing: Box::new(existing.clone()),
                declared: Box::new(declared.clone()),
            });
        }
        let (Step::Modify {
            name,
            existing,
            declared,
            ..
        }
        | Step::Conflict {
            name,
            existing,
            declared,
            ..
        }) = self
        else {
            return None;
        };
        let has_other_keys =
            matches!(self, Step::Conflict { differences, .. } if differences.iter().any(|d| d == "key"));
        let (namespace, index) = (collection.namespace.clone(), name.clone());
        let (existing, declared) = (Box::new(existing.clone()), Box::new(declared.clone()));
        Some(if has_other_keys {
            SchemaError::KeySpecsConflict {
                namespace,
                index,
                existing,
                declared,
            }
        } else {
            SchemaError::OptionsConflict {
                namespace,
                index,
                differences: match self {
                    Step::Modify { changes, .. } => {
                        changes.iter().map(|change| change.option().to_owned()).collect()
                    }
                    Step::Conflict { differences, .. } => differences.clone(),
                    _ => Vec::new(),
                },
                can_change: matches!(self, Step::Modify { .. }),
                existing,
                declared,
            }
        })
    }
}
