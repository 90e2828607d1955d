//! Plans as text, one line for each step.

use std::fmt;

use crate::{
    base::{bson::Document, relaxed_json::relaxed},
    models::index::normal::{is_truthy, number},
    schema::{Plan, Step},
};

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for collection in &self.collections {
            writeln!(f, "{}", collection.namespace)?;
            for step in &collection.steps {
                writeln!(f, "  {step}")?;
            }
        }
        Ok(())
    }
}

/// Whether a limit of the documents of a collection is less than before.
fn is_less(name: &str, existing: &Document, declared: &Document) -> bool {
    let number = |options: &Document| options.get(name).and_then(|value| number(value).as_i64());
    matches!(name, "expireAfterSeconds" | "size" | "max")
        && match (number(existing), number(declared)) {
            (Some(before), Some(after)) => after < before,
            (None, after) => after.is_some(),
            (_, None) => false,
        }
}

/// What is added to the creation and the rebuild of an index with an expiration.
const EXPIRES: &str = " (deletes the documents that have expired)";

/// Whether documents expire by the declared index that do not expire, or expire later, by the
/// existing one.
fn expires_more(existing: &Document, declared: &Document, differences: &[String]) -> bool {
    const EXPIRATION: &str = "expireAfterSeconds";
    let has_others = |name: &String| matches!(name.as_str(), "key" | "partialFilterExpression");
    is_less(EXPIRATION, existing, declared)
        || declared.contains_key(EXPIRATION) && differences.iter().any(has_others)
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::CreateCollection { options } => write!(f, "+ create   collection {}", relaxed(options)),
            Step::KeepCollection => f.write_str("= keep     collection"),
            Step::ModifyCollection {
                existing,
                declared,
                differences,
            } => {
                f.write_str("~ modify   collection")?;
                changed(f, existing, declared, differences)?;
                if differences.iter().any(|name| is_less(name, existing, declared)) {
                    f.write_str(" (deletes the documents that have expired or exceed the limit)")?;
                }
                Ok(())
            }
            Step::CollectionConflict {
                existing,
                declared,
                differences,
            } => {
                f.write_str("! conflict collection")?;
                changed(f, existing, declared, differences)?;
                f.write_str(" (only a new collection can have them; kept)")
            }
            Step::UnsupportedCollectionChange {
                existing,
                declared,
                differences,
                option,
                requirement,
            } => {
                f.write_str("! conflict collection")?;
                changed(f, existing, declared, differences)?;
                write!(f, " (the change of {option} needs {requirement}; kept)")
            }
            Step::Unsupported { feature, requirement } => {
                write!(f, "! refused  {feature} needs {requirement}")
            }
            Step::EncryptedFieldsConflict { differences, .. } => write!(
                f,
                "! conflict encrypted fields: {} (only a new collection can have others; kept)",
                differences.join("; ")
            ),
            Step::Create { specification, .. } => {
                write!(f, "+ create   {}", Shown(specification))?;
                if specification.contains_key("expireAfterSeconds") {
                    f.write_str(EXPIRES)?;
                }
                Ok(())
            }
            Step::Modify {
                name,
                existing,
                changes,
                ..
            } => {
                write!(f, "~ modify   {name}")?;
                if let Ok(keys) = existing.get_document("key") {
                    write!(f, " {}", relaxed(keys))?;
                }
                for change in changes {
                    write!(f, " {change}")?;
                }
                Ok(())
            }
            Step::Building { specification, .. } => write!(
                f,
                "+ building {}: another client is building it; its end is waited for",
                Shown(specification)
            ),
            Step::Keep {
                name,
                declared_as: None,
            } => write!(f, "= keep     {name}"),
            Step::Keep {
                name,
                declared_as: Some(as_),
            } => write!(f, "= keep     {name}, declared as {as_}"),
            Step::Conflict {
                existing,
                declared,
                differences,
                ..
            } => {
                write!(
                    f,
                    "! conflict {}: existing {} differs in {}; must be dropped and built again",
                    Shown(declared),
                    Shown(existing),
                    differences.join(", ")
                )?;
                if expires_more(existing, declared, differences) {
                    f.write_str(EXPIRES)?;
                }
                Ok(())
            }
            Step::Obsolete {
                specification,
                hidden_at,
                ..
            } => {
                write!(
                    f,
                    "- obsolete {}: no longer declared by a registered model",
                    Shown(specification)
                )?;
                let Some(since) = hidden_at else {
                    return Ok(());
                };
                // MongoDB 4.2 cannot hide indexes.
                let state = if specification.get("hidden").is_some_and(is_truthy) {
                    "hidden"
                } else {
                    "recorded as obsolete"
                };
                let since = since.try_to_rfc3339_string().unwrap_or_default();
                write!(f, "; {state} since {since}")
            }
            Step::ShardCollection { key, unique } => {
                let unique = if *unique { " unique: true" } else { "" };
                write!(f, "+ shard    collection {}{unique}", relaxed(key))
            }
            Step::KeepShardKey { key } => write!(f, "= keep     shard key {}", relaxed(key)),
            Step::RefineShardKey { existing, declared } => write!(
                f,
                "~ refine   shard key {} → {}",
                relaxed(existing),
                relaxed(declared)
            ),
            Step::ShardKeyConflict {
                existing,
                existing_unique,
                declared,
                declared_unique,
            } => write!(
                f,
                "! conflict shard key {} → {} unique: {existing_unique} → {declared_unique} (needs `reshardCollection`; kept)",
                relaxed(existing),
                relaxed(declared)
            ),
            Step::CreateSearchIndex {
                name,
                kind,
                definition,
            } => {
                write!(
                    f,
                    "+ create   {} index {name} {}",
                    kind.as_str(),
                    relaxed(definition)
                )
            }
            Step::KeepSearchIndex {
                name,
                status,
                queryable,
            } => {
                write!(f, "= keep     search index {name}")?;
                if *queryable && status == "READY" {
                    Ok(())
                } else if *queryable {
                    write!(f, " ({status}, queryable)")
                } else {
                    write!(f, " ({status}, not queryable)")
                }
            }
            Step::UpdateSearchIndex {
                name,
                existing,
                declared,
            } => write!(
                f,
                "~ update   search index {name}: {} → {}",
                relaxed(existing),
                relaxed(declared)
            ),
            Step::SearchIndexConflict {
                name,
                existing_kind,
                kind,
                ..
            } => write!(
                f,
                "! conflict search index {name}: its type is {existing_kind}, declared {}; must be dropped and created again",
                kind.as_str()
            ),
            Step::ObsoleteSearchIndex {
                name,
                undeclared_since,
                ..
            } => {
                write!(
                    f,
                    "- obsolete search index {name}: no longer declared by a registered model"
                )?;
                match undeclared_since {
                    Some(since) => write!(f, "; since {}", since.try_to_rfc3339_string().unwrap_or_default()),
                    None => Ok(()),
                }
            }
            Step::UnknownSearchIndex { name, .. } => {
                write!(
                    f,
                    "? unknown  search index {name}: not declared by a registered model; kept"
                )
            }
            Step::SkipSearchIndex { name } => {
                write!(f, "= skip     search index {name}: the deployment has no search")
            }
            Step::Unknown { specification, .. } => {
                write!(
                    f,
                    "? unknown  {}: not declared by a registered model; kept",
                    Shown(specification)
                )
            }
        }
    }
}

/// A specification on one line: name, keys, options.
struct Shown<'a>(&'a Document);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.get_str("name").unwrap_or("?"))?;
        if let Ok(keys) = self.0.get_document("key") {
            write!(f, " {}", relaxed(keys))?;
        }
        let options = self
            .0
            .iter()
            .filter(|(k, _)| !matches!(k.as_str(), "name" | "key" | "v" | "ns"));
        for (name, value) in options {
            write!(f, " {name}: {}", relaxed(value))?;
        }
        Ok(())
    }
}

/// The options of a collection that differ.
fn changed(
    f: &mut fmt::Formatter<'_>,
    existing: &Document,
    declared: &Document,
    differences: &[String],
) -> fmt::Result {
    for name in differences {
        write!(f, " {name}: ")?;
        match existing.get(name) {
            Some(value) => write!(f, "{} → ", relaxed(value))?,
            None => f.write_str("none → ")?,
        }
        match declared.get(name) {
            Some(value) => write!(f, "{}", relaxed(value))?,
            None => f.write_str("none")?,
        }
    }
    Ok(())
}
