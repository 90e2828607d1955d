//! Plans: the comparison of declared indexes with those that the server lists. No I/O.

use std::collections::BTreeSet;

use crate::{
    base::{
        bson::{Document, doc},
        error::{SchemaError, UnsupportedFeature},
    },
    models::index::normal::{NormalIndex, normalize_listed},
    query::handle::protection::SAFE_CONTENT,
    schema::{
        Step,
        change::changes,
        declared::Declared,
        deployment::{Deployment, Feature},
        record::Recorded,
    },
};

/// The steps of one collection.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CollectionPlan {
    /// The name of the collection.
    pub collection: String,
    /// `database.collection`.
    pub namespace: String,
    /// The options of the collection, declared indexes in the order of their declaration, unknown
    /// indexes.
    pub steps: Vec<Step>,
}

/// The steps that bring a database to the declared collections and indexes. `Display` prints one
/// line for each step.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use = "a plan does nothing until it is applied"]
pub struct Plan {
    /// The collections, by name.
    pub collections: Vec<CollectionPlan>,
}

impl Plan {
    /// Whether the declared collections and indexes exist as they are declared. The plan can still
    /// contain obsolete and unknown indexes.
    ///
    /// ```
    /// # use marula::schema::*;
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let schema = db.schema().register::<Order>();
    /// schema.clone().sync(SyncMode::Additive).await?;
    /// assert!(schema.plan().await?.is_empty());
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps().all(|(_, step)| {
            matches!(
                step,
                Step::KeepCollection
                    | Step::Keep { .. }
                    | Step::KeepShardKey { .. }
                    | Step::Obsolete { .. }
                    | Step::Unknown { .. }
                    | Step::KeepSearchIndex { .. }
                    | Step::ObsoleteSearchIndex { .. }
                    | Step::UnknownSearchIndex { .. }
                    | Step::SkipSearchIndex { .. }
            )
        })
    }

    /// All steps, each with its collection.
    ///
    /// ```
    /// # use marula::schema::*;
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// use marula::schema::Step;
    /// let plan = db.schema().register::<Order>().plan().await?;
    /// let missing = plan.steps().filter(|(_, step)| matches!(step, Step::Create { .. }));
    /// assert_eq!(missing.count(), 1);
    /// # Ok(()) });
    /// ```
    pub fn steps(&self) -> impl Iterator<Item = (&CollectionPlan, &Step)> {
        self.collections
            .iter()
            .flat_map(|c| c.steps.iter().map(move |s| (c, s)))
    }

    /// The first conflict as an error, if the plan contains one. [`Step::Modify`],
    /// [`Step::ModifyCollection`], [`Step::RefineShardKey`] and [`Step::UpdateSearchIndex`] are none.
    ///
    /// ```
    /// # use marula::schema::*;
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let plan = db.schema().register::<Order>().plan().await?;
    /// assert!(plan.conflict().is_none());
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn conflict(&self) -> Option<SchemaError> {
        self.steps()
            .find(|(_, step)| {
                matches!(
                    step,
                    Step::Conflict { .. }
                        | Step::CollectionConflict { .. }
                        | Step::UnsupportedCollectionChange { .. }
                        | Step::EncryptedFieldsConflict { .. }
                        | Step::ShardKeyConflict { .. }
                        | Step::SearchIndexConflict { .. }
                )
            })
            .and_then(|(collection, step)| step.difference(collection))
    }
}

impl Plan {
    /// What the deployment does not support of the declarations, as an error: a plan with such
    /// steps cannot be applied.
    ///
    /// ```
    /// # use marula::schema::*;
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let plan = db.schema().register::<Order>().plan().await?;
    /// assert!(plan.unsupported().is_none());
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn unsupported(&self) -> Option<SchemaError> {
        let of_step = |(collection, step): (&CollectionPlan, &Step)| match step {
            Step::Unsupported { feature, requirement } => Some(UnsupportedFeature {
                namespace: collection.namespace.clone(),
                feature: feature.clone(),
                requirement: *requirement,
            }),
            _ => None,
        };
        let features: Vec<UnsupportedFeature> = self.steps().filter_map(of_step).collect();
        (!features.is_empty()).then_some(SchemaError::Unsupported { features })
    }
}

struct Listed<'a> {
    name: &'a str,
    specification: &'a Document,
    normal: NormalIndex,
    is_building: bool,
    known: bool,
}

/// Compares the declared indexes of a collection with those that the server lists for it.
/// `building` are the names of those that are being built, `recorded` those that were created from
/// declarations.
pub(super) fn compare(
    namespace: &str,
    collection: &str,
    declared: &[Declared],
    listed: &[Document],
    building: &BTreeSet<String>,
    recorded: &Recorded,
    deployment: &Deployment,
) -> CollectionPlan {
    let mut listed: Vec<Listed<'_>> = listed
        .iter()
        .filter_map(|specification| {
            let name = specification.get_str("name").ok()?;
            let own = name == "_id_"
                || specification.get_bool("clustered").unwrap_or(false)
                || is_of_encryption(specification);
            (!own).then(|| Listed {
                name,
                specification,
                normal: normalize_listed(specification),
                is_building: building.contains(name),
                known: false,
            })
        })
        .collect();
    let mut steps: Vec<Step> = declared
        .iter()
        .map(|d| step(d, &mut listed, deployment))
        .collect();
    steps.extend(listed.iter().filter(|l| !l.known).map(|l| {
        let (name, specification) = (l.name.to_owned(), l.specification.clone());
        // An index that is not hidden was declared again, or shown by another client, since it was
        // recorded as hidden.
        let is_hidden = l.normal.options.contains_key("hidden") || !deployment.has(Feature::HIDDEN);
        match recorded.get(l.name) {
            Some(&hidden_at) => Step::Obsolete {
                name,
                specification,
                hidden_at: hidden_at.filter(|_| is_hidden),
            },
            None => Step::Unknown { name, specification },
        }
    }));
    CollectionPlan {
        collection: collection.to_owned(),
        namespace: namespace.to_owned(),
        steps,
    }
}

/// The step that creates the index of Queryable Encryption, if it is missing: the creation of the
/// collection has failed after the collection was created.
pub(super) fn missing_index_of_encryption(listed: &[Document]) -> Option<Step> {
    const NAME: &str = "__safeContent___1";
    (!listed.iter().any(is_of_encryption)).then(|| Step::Create {
        name: NAME.to_owned(),
        specification: doc! { "key": { SAFE_CONTENT: 1 }, "name": NAME },
    })
}

/// Whether the index is that of Queryable Encryption, which is created with the collection.
fn is_of_encryption(specification: &Document) -> bool {
    let keys = specification.get_document("key");
    keys.is_ok_and(|keys| keys.len() == 1 && keys.contains_key(SAFE_CONTENT))
}

fn step(declared: &Declared, listed: &mut [Listed<'_>], deployment: &Deployment) -> Step {
    let differences = |l: &Listed<'_>| declared.normal.differences(&l.normal);
    let find = |test: &dyn Fn(&Listed<'_>) -> bool| listed.iter().position(test);
    let former = declared.renamed_from.as_deref();
    let is_same = |l: &Listed<'_>| {
        if deployment.has(Feature::SAME_KEYS) {
            l.normal.same_signature(&declared.normal)
        } else {
            l.normal.same_keys(&declared.normal)
        }
    };
    let found = find(&|l| l.name == declared.name)
        .or_else(|| find(&|l| Some(l.name) == former && differences(l).is_empty()))
        .or_else(|| find(&|l| !l.known && is_same(l) && differences(l).is_empty()))
        .or_else(|| find(&|l| !l.known && is_same(l)))
        .or_else(|| find(&|l| !l.known && l.normal.is_text() && declared.normal.is_text()));
    let Some(found) = found.and_then(|i| listed.get_mut(i)) else {
        return Step::Create {
            name: declared.name.clone(),
            specification: declared.specification.clone(),
        };
    };
    found.known = true;
    let mut differences = declared.normal.differences(&found.normal);
    let renamed = found.name != declared.name;
    if differences.is_empty() && (!renamed || !declared.named || Some(found.name) == former) {
        if found.is_building {
            let mut specification = declared.specification.clone();
            specification.insert("name", found.name);
            return Step::Building {
                name: found.name.to_owned(),
                specification,
            };
        }
        let declared_as = renamed.then(|| declared.name.clone());
        return Step::Keep {
            name: found.name.to_owned(),
            declared_as,
        };
    }
    if renamed && declared.named {
        differences.push("name".to_owned());
    }
    if let Some(changes) = changes(&differences, &declared.normal, &found.normal, deployment) {
        return Step::Modify {
            name: found.name.to_owned(),
            existing: found.specification.clone(),
            declared: declared.specification.clone(),
            changes,
        };
    }
    Step::Conflict {
        name: declared.name.clone(),
        existing: found.specification.clone(),
        declared: declared.specification.clone(),
        differences,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        models::index::normal::normalize,
        schema::collated::{self, DefaultCollation},
    };

    const NEW: i32 = 27;

    fn declared(name: &str, specification: &Document) -> Declared {
        let mut specification = specification.clone();
        specification.insert("name", name);
        Declared {
            model: "Order",
            name: name.to_owned(),
            named: !name.ends_with("_1"),
            renamed_from: None,
            normal: normalize(&specification),
            specification,
        }
    }

    fn plan(declared: &[Declared], listed: &[Document]) -> Vec<Step> {
        on(declared, listed, NEW).steps
    }

    fn on(declared: &[Declared], listed: &[Document], wire_version: i32) -> CollectionPlan {
        let deployment = Deployment::new(wire_version, false, false);
        let declared =
            collated::in_collection("db.c", declared, DefaultCollation::Simple).expect("no conflicts");
        let building = BTreeSet::new();
        compare(
            "db.c",
            "c",
            &declared,
            listed,
            &building,
            &Recorded::new(),
            &deployment,
        )
    }

    fn keep(name: &str, declared_as: Option<&str>) -> Step {
        Step::Keep {
            name: name.to_owned(),
            declared_as: declared_as.map(str::to_owned),
        }
    }

    #[test]
    fn missing_indexes_are_created_and_unknown_ones_kept() {
        let want = [
            declared("a_1", &doc! { "key": { "a": 1 } }),
            declared("b_1", &doc! { "key": { "b": 1 } }),
        ];
        let listed = [
            doc! { "v": 2, "key": { "_id": 1 }, "name": "_id_" },
            doc! { "v": 2, "key": { "b": 1.0 }, "name": "b_1" },
            doc! { "v": 2, "key": { "old": 1 }, "name": "old_1" },
        ];
        let steps = plan(&want, &listed);
        assert_eq!(
            steps,
            [
                Step::Create {
                    name: "a_1".into(),
                    specification: want[0].specification.clone()
                },
                keep("b_1", None),
                Step::Unknown {
                    name: "old_1".into(),
                    specification: listed[2].clone()
                },
            ]
        );
        let plan = Plan {
            collections: vec![on(&want, &listed, NEW)],
        };
        assert_eq!(
            plan.to_string(),
            "db.c\n  + create   a_1 {\"a\": 1}\n  = keep     b_1\n  \
             ? unknown  old_1 {\"old\": 1}: not declared by a registered model; kept\n"
        );
        assert!(!plan.is_empty());
        assert!(plan.conflict().is_none());
    }

    #[test]
    fn different_options_are_a_conflict() {
        let want = [declared("a_1", &doc! { "key": { "a": 1 }, "sparse": true })];
        let listed = [doc! { "v": 2, "key": { "a": 1 }, "name": "a_1" }];
        let steps = plan(&want, &listed);
        assert!(
            matches!(&steps[..], [Step::Conflict { differences, .. }] if differences == &["sparse"]),
            "{steps:?}"
        );
        let other_keys = [doc! { "v": 2, "key": { "b": 1 }, "name": "a_1" }];
        let whole = Plan {
            collections: vec![on(&want, &other_keys, NEW)],
        };
        assert!(matches!(
            whole.conflict(),
            Some(SchemaError::KeySpecsConflict { .. })
        ));
    }

    #[test]
    fn options_that_coll_mod_changes_are_no_conflict() {
        let want = [declared(
            "a_1",
            &doc! { "key": { "a": 1 }, "hidden": true, "expireAfterSeconds": 60 },
        )];
        let listed = [doc! { "v": 2, "key": { "a": 1 }, "name": "old", "expireAfterSeconds": 3600 }];
        let plan = Plan {
            collections: vec![on(&want, &listed, NEW)],
        };
        assert!(plan.conflict().is_none() && !plan.is_empty());
        assert_eq!(
            plan.to_string(),
            "db.c\n  ~ modify   old {\"a\": 1} expireAfterSeconds: 3600 → 60 (deletes the documents that have expired) \
             hidden: false → true\n"
        );
    }

    #[test]
    fn recorded_indexes_are_obsolete() {
        let listed = [
            doc! { "v": 2, "key": { "a": 1 }, "name": "a_1" },
            doc! { "v": 2, "key": { "b": 1 }, "name": "b_1" },
        ];
        let recorded = Recorded::from([("a_1".to_owned(), None), ("gone".to_owned(), None)]);
        let deployment = Deployment::new(NEW, false, false);
        let building = BTreeSet::new();
        let steps = compare("db.c", "c", &[], &listed, &building, &recorded, &deployment).steps;
        assert!(
            matches!(&steps[..], [Step::Obsolete { name, .. }, Step::Unknown { .. }] if name == "a_1"),
            "{steps:?}"
        );
    }

    /// MongoDB 4.2 cannot hide indexes.
    #[test]
    fn an_obsolete_index_is_hidden_where_servers_hide_indexes() {
        let since = crate::base::bson::DateTime::from_millis(0);
        let recorded = Recorded::from([("a_1".to_owned(), Some(since))]);
        let visible = doc! { "v": 2, "key": { "a": 1 }, "name": "a_1" };
        let mut hidden = visible.clone();
        hidden.insert("hidden", true);
        for (wire_version, listed, state) in [(8, visible, "recorded as obsolete"), (9, hidden, "hidden")] {
            let deployment = Deployment::new(wire_version, false, false);
            let compared = compare(
                "db.c",
                "c",
                &[],
                &[listed],
                &BTreeSet::new(),
                &recorded,
                &deployment,
            );
            let text = compared.steps[0].to_string();
            assert!(
                text.ends_with(&format!("; {state} since 1970-01-01T00:00:00Z")),
                "{text}"
            );
        }
    }

    #[test]
    fn only_explicit_names_are_compared() {
        let listed = [doc! { "v": 2, "key": { "a": 1 }, "name": "legacy" }];
        let plain = doc! { "key": { "a": 1 } };
        assert_eq!(
            plan(&[declared("a_1", &plain)], &listed),
            [keep("legacy", Some("a_1"))]
        );
        let named = declared("by_a", &plain);
        let steps = plan(std::slice::from_ref(&named), &listed);
        assert!(
            matches!(&steps[..], [Step::Conflict { differences, .. }] if differences == &["name"]),
            "{steps:?}"
        );
        let renamed = Declared {
            renamed_from: Some("legacy".to_owned()),
            ..named
        };
        assert_eq!(plan(&[renamed], &listed), [keep("legacy", Some("by_a"))]);
    }

    #[test]
    fn a_second_text_index_is_a_conflict() {
        let want = [declared("t", &doc! { "key": { "title": "text" } })];
        let listed =
            [doc! { "v": 2, "key": { "_fts": "text", "_ftsx": 1 }, "weights": { "body": 1 }, "name": "u" }];
        let steps = plan(&want, &listed);
        assert!(
            matches!(&steps[..], [Step::Conflict { differences, .. }] if differences == &["weights", "name"]),
            "{steps:?}"
        );
    }

    #[test]
    fn partial_indexes_on_the_same_keys_are_different_indexes() {
        let filter = |n: i32| doc! { "key": { "a": 1 }, "partialFilterExpression": { "n": { "$gt": n } } };
        let want = [declared("one", &filter(1)), declared("two", &filter(2))];
        let mut listed = filter(2);
        listed.insert("name", "two");
        let steps = plan(&want, &[listed]);
        assert!(
            matches!(&steps[..], [Step::Create { .. }, Step::Keep { .. }]),
            "{steps:?}"
        );
    }
}
