//! The declarations of all registered models, merged by collection.

use std::collections::BTreeMap;

use crate::{
    base::{
        bson::{Bson, Document, doc},
        error::SchemaError,
    },
    models::{
        declaration::CollectionDeclaration,
        index::{
            IndexDeclaration, SearchIndexDeclaration,
            normal::{NormalCollation, NormalIndex, has_simple_collation, normalize},
        },
        model::Model,
        shard_key::ShardKey,
    },
    schema::limits,
};

/// One declared index, with its normal form for the comparison.
#[derive(Clone, Debug)]
pub(crate) struct Declared {
    /// The name of the model that declares it first.
    pub(crate) model: &'static str,
    pub(crate) name: String,
    /// Whether the name is explicit, not derived from the keys.
    pub(crate) named: bool,
    pub(crate) renamed_from: Option<String>,
    pub(crate) specification: Document,
    pub(crate) normal: NormalIndex,
}

impl Declared {
    /// Whether the collations of two declared indexes can be compared: both are known, or both are
    /// the unknown default of the collection.
    pub(crate) fn has_comparable_collation(&self, other: &Declared) -> bool {
        let is_unknown = |index: &Declared| index.normal.collation == NormalCollation::Unknown;
        is_unknown(self) == is_unknown(other)
    }
}

/// What is declared for one collection.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeclaredCollection {
    /// The options, and the name of the model that declares them.
    options: Option<(&'static str, Document)>,
    /// Whether each model that declares options is of one kind.
    are_of_kinds: bool,
    /// `encryptedFields`, and the name of the model that declares them.
    encrypted: Option<(&'static str, Document)>,
    /// The shard key, and the name of the model that declares it.
    shard_key: Option<(&'static str, ShardKey)>,
    pub(crate) indexes: Vec<Declared>,
    /// The search indexes, and the names of the models that declare them.
    search: Vec<(&'static str, SearchIndexDeclaration)>,
}

impl DeclaredCollection {
    /// The declared options, if there are any.
    pub(crate) fn options(&self) -> Option<&Document> {
        self.options.as_ref().map(|(_, options)| options)
    }

    /// The declared `encryptedFields`, if there are any.
    pub(crate) fn encrypted_fields(&self) -> Option<&Document> {
        self.encrypted.as_ref().map(|(_, fields)| fields)
    }

    /// The name of the model that declares encrypted fields.
    pub(crate) fn encrypted_by(&self) -> Option<&'static str> {
        self.encrypted.as_ref().map(|(model, _)| *model)
    }

    /// The declared shard key and the name of the model that declares it.
    pub(crate) fn shard_key(&self) -> Option<(&'static str, &ShardKey)> {
        self.shard_key.as_ref().map(|(model, key)| (*model, key))
    }

    /// The declared search indexes.
    pub(crate) fn search_indexes(&self) -> Vec<SearchIndexDeclaration> {
        self.search.iter().map(|(_, index)| index.clone()).collect()
    }
}

/// What is declared for each collection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Declarations {
    collections: BTreeMap<String, DeclaredCollection>,
    /// The error of the first declaration that is invalid or conflicts with another one.
    error: Option<SchemaError>,
}

impl Declarations {
    /// Adds the declarations of a model to a collection.
    pub(crate) fn add<D: Model>(&mut self, database: &str, collection: &str) {
        let namespace = format!("{database}.{collection}");
        let is_of_kind = D::BEHAVIOR.discriminator.is_some();
        self.add_options(
            D::NAME,
            &namespace,
            collection,
            &of_kind::<D>(D::collection()),
            is_of_kind,
        );
        self.add_encrypted(D::NAME, &namespace, collection, D::encrypted_fields());
        if let Some(key) = D::shard_key() {
            self.add_shard_key(D::NAME, &namespace, collection, key);
        }
        let indexes = D::indexes()
            .into_iter()
            .map(|index| match D::BEHAVIOR.discriminator {
                Some(kind) => index.of_kind(kind.field, kind.value),
                None => index,
            });
        self.add_indexes(D::NAME, &namespace, collection, indexes.collect());
        for mut index in D::search_indexes() {
            if let Some(field) = D::BEHAVIOR.soft_delete {
                index.filter_by(field);
            }
            if let Some(kind) = D::BEHAVIOR.discriminator {
                index.filter_by(kind.field);
            }
            self.add_search_index(D::NAME, &namespace, collection, index);
        }
    }

    /// Adds a search index unless an equal one is present.
    fn add_search_index(
        &mut self,
        model: &'static str,
        namespace: &str,
        collection: &str,
        index: SearchIndexDeclaration,
    ) {
        let declared = &mut self.collections.entry(collection.to_owned()).or_default().search;
        let name = index.index_name();
        let known = declared.iter().find(|(_, known)| known.index_name() == name);
        let error = match (index.check(), known) {
            (Err(reason), _) => SchemaError::InvalidIndex {
                model,
                index: name.to_owned(),
                reason,
            },
            (Ok(()), None) => {
                declared.push((model, index));
                return;
            }
            (Ok(()), Some((_, known))) if *known == index => return,
            (Ok(()), Some((first_model, known))) => SchemaError::ConflictingDeclarations {
                namespace: namespace.to_owned(),
                index: name.to_owned(),
                models: [*first_model, model],
                first: Box::new(known.definition().clone()),
                second: Box::new(index.definition().clone()),
            },
        };
        self.error.get_or_insert(error);
    }

    /// Adds the options that a model declares for a collection. The models of one kind each can have different validators.
    pub(crate) fn add_options(
        &mut self,
        model: &'static str,
        namespace: &str,
        collection: &str,
        declaration: &CollectionDeclaration,
        is_of_kind: bool,
    ) {
        let options = declaration.options();
        if let Err(reason) = limits::check(options) {
            self.error.get_or_insert(SchemaError::InvalidCollection {
                model,
                namespace: namespace.to_owned(),
                reason,
            });
        }
        let declared = self.collections.entry(collection.to_owned()).or_default();
        let are_of_kinds = is_of_kind && (declared.are_of_kinds || declared.options.is_none());
        match &mut declared.options {
            _ if options.is_empty() => {}
            None => {
                declared.are_of_kinds = is_of_kind;
                declared.options = Some((model, options.clone()));
            }
            Some((_, first)) if first == options => declared.are_of_kinds = are_of_kinds,
            Some((first_model, first)) => {
                let with_both = if are_of_kinds {
                    with_validator(first, options)
                } else {
                    None
                };
                if let Some(with_both) = with_both {
                    *first = with_both;
                    return;
                }
                let error = SchemaError::ConflictingOptions {
                    namespace: namespace.to_owned(),
                    models: [*first_model, model],
                    first: Box::new(first.clone()),
                    second: Box::new(options.clone()),
                };
                self.error.get_or_insert(error);
            }
        }
    }

    /// Adds the encrypted fields of a model to a collection. A model without them, of a part of the
    /// documents, adds none.
    fn add_encrypted(
        &mut self,
        model: &'static str,
        namespace: &str,
        collection: &str,
        fields: Result<Document, SchemaError>,
    ) {
        let fields = match fields {
            Ok(fields) => fields,
            Err(error) => {
                self.error.get_or_insert(error);
                return;
            }
        };
        if fields.get_array("fields").is_ok_and(Vec::is_empty) {
            return;
        }
        let declared = self.collections.entry(collection.to_owned()).or_default();
        match &declared.encrypted {
            None => declared.encrypted = Some((model, fields)),
            Some((_, first)) if *first == fields => {}
            Some((first_model, first)) => {
                let error = SchemaError::ConflictingOptions {
                    namespace: namespace.to_owned(),
                    models: [*first_model, model],
                    first: Box::new(first.clone()),
                    second: Box::new(fields),
                };
                self.error.get_or_insert(error);
            }
        }
    }

    /// Adds the shard key of a model to a collection. A model without one, of a part of the documents, adds none.
    fn add_shard_key(&mut self, model: &'static str, namespace: &str, collection: &str, key: ShardKey) {
        let declared = self.collections.entry(collection.to_owned()).or_default();
        match &declared.shard_key {
            None => declared.shard_key = Some((model, key)),
            Some((_, first)) if *first == key => {}
            Some((first_model, first)) => {
                let shown = |key: &ShardKey| doc! { "shardKey": key.document(), "unique": key.is_unique() };
                let error = SchemaError::ConflictingOptions {
                    namespace: namespace.to_owned(),
                    models: [*first_model, model],
                    first: Box::new(shown(first)),
                    second: Box::new(shown(&key)),
                };
                self.error.get_or_insert(error);
            }
        }
    }

    fn add_indexes(
        &mut self,
        model: &'static str,
        namespace: &str,
        collection: &str,
        indexes: Vec<IndexDeclaration>,
    ) {
        let declared = self.collections.entry(collection.to_owned()).or_default();
        for index in indexes {
            if let Err(e) = merge(&mut declared.indexes, model, namespace, &index) {
                self.error.get_or_insert(e);
            }
        }
    }

    /// The declarations by collection.
    ///
    /// # Errors
    /// The first declaration that is invalid or conflicts with another one.
    pub(crate) fn collections(&self) -> Result<&BTreeMap<String, DeclaredCollection>, SchemaError> {
        match &self.error {
            Some(e) => Err(e.clone()),
            None => Ok(&self.collections),
        }
    }
}

const VALIDATOR: &str = "validator";

/// The options with a validator that accepts documents of other kinds.
fn of_kind<D: Model>(declaration: CollectionDeclaration) -> CollectionDeclaration {
    let Some(kind) = D::BEHAVIOR.discriminator else {
        return declaration;
    };
    let Ok(own) = declaration.options().get_document(VALIDATOR).cloned() else {
        return declaration;
    };
    let is_other = doc! { kind.field: { "$ne": kind.value } };
    declaration.option(VALIDATOR, doc! { "$or": [is_other, own] })
}

/// The options with the validator of another kind of documents as well. `None` if they differ in more than the validator.
fn with_validator(first: &Document, other: &Document) -> Option<Document> {
    let without = |options: &Document| {
        let mut options = options.clone();
        options.remove(VALIDATOR);
        options
    };
    let (own, added) = (
        first.get_document(VALIDATOR).ok()?,
        other.get_document(VALIDATOR).ok()?,
    );
    if without(first) != without(other) {
        return None;
    }
    let kinds = own.get_array("$and").cloned();
    let mut kinds = kinds.unwrap_or_else(|_| vec![own.clone().into()]);
    let added = Bson::from(added.clone());
    if !kinds.contains(&added) {
        kinds.push(added);
    }
    // The order does not depend on that of the models.
    kinds.sort_by_key(ToString::to_string);
    let mut options = first.clone();
    options.insert(VALIDATOR, doc! { "$and": kinds });
    Some(options)
}

/// Adds a declaration unless an equal one is present.
fn merge(
    declared: &mut Vec<Declared>,
    model: &'static str,
    namespace: &str,
    index: &IndexDeclaration,
) -> Result<(), SchemaError> {
    let name = index.index_name();
    let invalid = |reason| SchemaError::InvalidIndex {
        model,
        index: name.clone(),
        reason,
    };
    index.check().map_err(invalid)?;
    let specification = index.specification();
    let normal = normalize(&specification);
    if has_simple_collation(&specification) && matches!(normal.collation, NormalCollation::Other(_)) {
        return Err(invalid(
            "a text index, or one of the kind `2d`, can only have the collation {locale: \"simple\"}"
                .to_owned(),
        ));
    }
    if let [(key, Bson::Int64(_) | Bson::Double(_))] = &normal.keys[..]
        && key == "_id"
    {
        return Err(invalid(
            "every collection has a unique index on `_id`, which has no other options".to_owned(),
        ));
    }
    let known = declared
        .iter()
        .find(|d| d.name == name || d.normal.same_signature(&normal));
    if let Some(known) = known
        && known.name == name
        && known.normal.differences(&normal).is_empty()
    {
        return Ok(());
    }
    if normal.is_text()
        && let Some(other) = declared.iter().find(|d| d.normal.is_text())
    {
        return Err(invalid(format!(
            "a collection can have only one text index, and model `{}` declares the text index `{}`",
            other.model, other.name
        )));
    }
    if let Some(known) = known {
        return Err(SchemaError::ConflictingDeclarations {
            namespace: namespace.to_owned(),
            index: name,
            models: [known.model, model],
            first: Box::new(known.specification.clone()),
            second: Box::new(specification),
        });
    }
    declared.push(Declared {
        model,
        name,
        named: index.is_named(),
        renamed_from: index.previous_name().map(str::to_owned),
        specification,
        normal,
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Path;

    fn index(field: &'static str) -> IndexDeclaration {
        IndexDeclaration::new().ascending(&Path::<(), ()>::root().step::<i32>(field))
    }

    fn merged(a: IndexDeclaration, b: IndexDeclaration) -> Result<usize, SchemaError> {
        let mut all = Declarations::default();
        all.add_indexes("A", "db.c", "c", vec![a]);
        all.add_indexes("B", "db.c", "c", vec![b]);
        all.collections()
            .map(|c| c.values().map(|c| c.indexes.len()).sum())
    }

    #[test]
    fn models_on_one_collection_are_merged() {
        assert_eq!(merged(index("a"), index("b")).unwrap(), 2);
        assert_eq!(merged(index("a"), index("a")).unwrap(), 1);
        let different = [
            (index("a"), index("a").unique()),
            (index("a"), index("a").name("x")),
            (index("a").name("x"), index("b").name("x")),
        ];
        for (first, second) in different {
            let error = merged(first, second).unwrap_err();
            assert!(
                matches!(
                    error,
                    SchemaError::ConflictingDeclarations {
                        models: ["A", "B"],
                        ..
                    }
                ),
                "{error}"
            );
        }
        assert_eq!(
            merged(index("a"), index("a").unique()).unwrap_err().to_string(),
            "index `a_1` of db.c is declared twice: {\"key\": {\"a\": 1}, \"name\": \"a_1\"} by model `A`, {\"key\": {\"a\": 1}, \
             \"name\": \"a_1\", \"unique\": true} by model `B`; make the declarations equal, or give the indexes different names \
             and keys"
        );
    }

    #[test]
    fn options_are_declared_once() {
        let mut all = Declarations::default();
        let mut add = |model, size| {
            let declaration = CollectionDeclaration::new().capped(size);
            all.add_options(model, "db.c", "c", &declaration, false);
            all.collections().err()
        };
        assert!(add("A", 1).is_none());
        assert!(add("B", 1).is_none());
        let error = add("B", 2).expect("a conflict").to_string();
        assert!(
            error.contains("by model `A`") && error.contains("by model `B`"),
            "{error}"
        );
    }

    #[test]
    fn wildcard_keys_have_rules() {
        let reason = |i: IndexDeclaration| merged(i, index("z")).unwrap_err().to_string();
        let root = Path::<(), ()>::root();
        let (a, b) = (root.step::<i32>("a"), root.step::<i32>("b"));
        let whole = || IndexDeclaration::new().wildcard(&root);
        assert!(reason(whole().ascending(&a)).contains("wildcardProjection"));
        assert!(reason(whole().wildcard(&a)).contains("one wildcard key"));
        assert!(reason(whole().sparse()).contains("cannot have the option `sparse`"));
        assert!(reason(whole().unique()).contains("cannot have the option `unique`"));
        let below = || IndexDeclaration::new().wildcard(&a);
        assert!(
            reason(below().ascending(&a.step::<i32>("x")))
                .contains("one of the fields of the wildcard key `a.$**`")
        );
        let without = crate::base::bson::doc! { "a": 0 };
        let permitted = [
            whole().ascending(&a).raw_option("wildcardProjection", without),
            below().ascending(&b),
            whole(),
        ];
        for index_of_fields in permitted {
            assert_eq!(merged(index_of_fields, index("z")).unwrap(), 2);
        }
    }

    #[test]
    fn invalid_declarations_are_reported() {
        let reason = |i: IndexDeclaration| merged(i, index("z")).unwrap_err().to_string();
        assert!(reason(IndexDeclaration::new()).contains("no keys"));
        for of_id in [index("_id"), index("_id").unique(), index("_id").sparse()] {
            assert!(reason(of_id).contains("every collection"));
        }
        let hashed = IndexDeclaration::new().hashed(&Path::<(), ()>::root().step::<i32>("_id"));
        assert_eq!(merged(hashed, index("z")).unwrap(), 2);
        assert!(reason(index("a").raw_option("name", "x")).contains("use `IndexDeclaration::name`"));
        assert!(reason(index("a").raw_option("key", 1)).contains("use the methods for keys"));
        assert!(reason(index("a").raw_option("expireAfterSeconds", -1)).contains("0 to 2147483647"));
        let date = Path::<(), ()>::root().step::<crate::base::bson::DateTime>("a");
        let late = IndexDeclaration::new().expiring(&date, u32::MAX);
        assert!(reason(late).contains("0 to 2147483647"));
        let text = || IndexDeclaration::new().text(&Path::<(), ()>::root().step::<String>("t"), None);
        let collated = text().collation(crate::base::bson::doc! { "locale": "de" });
        assert!(reason(collated).contains("can only have the collation {locale: \"simple\"}"));
        let simple = text().collation(crate::base::bson::doc! { "locale": "simple" });
        assert_eq!(merged(simple, index("z")).unwrap(), 2);
        let root = Path::<(), ()>::root();
        let (tags, parts) = (root.step::<Vec<i32>>("tags"), root.step::<Vec<i32>>("parts"));
        let any = |p: &Path<(), Vec<i32>>| crate::PathOps::any(p);
        let two = IndexDeclaration::new()
            .ascending(&any(&tags))
            .ascending(&any(&parts));
        assert!(reason(two).contains("both arrays"));
    }
}
