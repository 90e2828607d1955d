//! Queryable Encryption of parts of strings.

use marula_driver::{
    Collection,
    bson::{Bson, Document, doc},
    encryption::{EncryptionAlgorithm, StringOptions, StringQueryLength, SubstringQueryLength},
};

use super::queryable::{Queryable, found};

const PATH: &str = "encryptedText";

/// A part of a string to search for.
#[derive(Clone, Copy)]
enum Part {
    Prefix,
    Suffix,
    Substring,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Self::Prefix => "prefix",
            Self::Suffix => "suffix",
            Self::Substring => "substring",
        }
    }

    fn operator(self) -> &'static str {
        match self {
            Self::Prefix => "$encStrStartsWith",
            Self::Suffix => "$encStrEndsWith",
            Self::Substring => "$encStrContains",
        }
    }

    /// The options of explicit encryption.
    fn add(self, options: StringOptions) -> StringOptions {
        let length = StringQueryLength { min: 2, max: 10 };
        match self {
            Self::Prefix => options.prefix(length),
            Self::Suffix => options.suffix(length),
            Self::Substring => options.substring(SubstringQueryLength {
                max_length: 10,
                min: 2,
                max: 6,
            }),
        }
    }

    /// The entry of `queries`.
    fn query(self, suffix: &str, is_sensitive: bool) -> Bson {
        let mut query = doc! {
            "queryType": format!("{}{suffix}", self.name()), "contention": 0_i64, "strMinQueryLength": 2_i64,
            "strMaxQueryLength": if matches!(self, Self::Substring) { 6_i64 } else { 10 },
            "caseSensitive": is_sensitive, "diacriticSensitive": is_sensitive,
        };
        if matches!(self, Self::Substring) {
            query.insert("strMaxLength", 10_i64);
        }
        query.into()
    }
}

/// The collections of a test, with names that have this suffix.
struct Strings {
    queryable: Queryable,
    /// Of the types of queries.
    suffix: &'static str,
}

impl Strings {
    async fn collection(&self, name: &str, parts: &[Part], is_sensitive: bool) -> Collection<Document> {
        let queries: Vec<Bson> = parts
            .iter()
            .map(|part| part.query(self.suffix, is_sensitive))
            .collect();
        let field = self.queryable.field(PATH, "string", Some(queries.into()));
        self.queryable
            .collection(&self.queryable.explicit(), name, vec![field])
            .await
    }

    async fn insert(&self, collection: &Collection<Document>, parts: &[Part]) {
        let options = parts
            .iter()
            .fold(StringOptions::new(true, true), |options, part| part.add(options));
        let algorithm = EncryptionAlgorithm::String(options);
        let payload = self
            .queryable
            .encryption
            .encrypt("foobarbaz", self.queryable.key, algorithm);
        let payload = payload.contention_factor(0).await.expect("a payload");
        let document = doc! { "_id": 0, PATH: payload };
        collection.insert_one(&document).await.expect("an insert");
    }

    async fn find(
        &self,
        collection: &Collection<Document>,
        part: Part,
        text: &str,
        is_sensitive: bool,
    ) -> Vec<Document> {
        let algorithm = EncryptionAlgorithm::String(part.add(StringOptions::new(is_sensitive, is_sensitive)));
        let encrypt = self
            .queryable
            .encryption
            .encrypt(text, self.queryable.key, algorithm)
            .contention_factor(0);
        let payload = encrypt
            .query_type(format!("{}{}", part.name(), self.suffix))
            .await
            .expect(text);
        let operands = doc! { "input": format!("${PATH}"), part.name(): payload };
        found(collection, doc! { "$expr": { part.operator(): operands } }).await
    }
}

/// Cases 1 to 6, with the stable and the preview types of queries.
pub(crate) async fn client_side_encryption_prose_27_parts_of_strings_are_found() {
    for (version, suffix) in [("9.0.0", ""), ("8.2.0", "Preview")] {
        let queryable = Queryable::new(version).await;
        let strings = Strings { queryable, suffix };
        let ends = [Part::Prefix, Part::Suffix];
        let prefix_suffix = strings.collection("prefix-suffix", &ends, true).await;
        strings.insert(&prefix_suffix, &ends).await;
        let substring = strings.collection("substring", &[Part::Substring], true).await;
        strings.insert(&substring, &[Part::Substring]).await;
        let document = doc! { "_id": 0, PATH: "foobarbaz" };
        for (collection, part, text, is_found) in [
            (&prefix_suffix, Part::Prefix, "foo", true),
            (&prefix_suffix, Part::Suffix, "baz", true),
            (&prefix_suffix, Part::Prefix, "baz", false),
            (&prefix_suffix, Part::Suffix, "foo", false),
            (&substring, Part::Substring, "bar", true),
            (&substring, Part::Substring, "qux", false),
        ] {
            let expected = if is_found {
                std::slice::from_ref(&document)
            } else {
                &[]
            };
            let found = strings.find(collection, part, text, true).await;
            assert_eq!(found, expected, "{version} {} {text}", part.name());
        }
    }
}

/// Case 7.
pub(crate) async fn client_side_encryption_prose_27_contention_is_required() {
    let queryable = Queryable::new("9.0.0").await;
    let algorithm = EncryptionAlgorithm::String(Part::Prefix.add(StringOptions::new(true, true)));
    let encrypt = queryable.encryption.encrypt("foo", queryable.key, algorithm);
    let error = encrypt.query_type("prefix").await.expect_err("no contention");
    assert!(
        error
            .to_string()
            .contains("contention factor is required for string algorithm"),
        "{error}"
    );
}

/// Cases 8 to 11: values are folded by automatic encryption, operands by explicit encryption.
pub(crate) async fn client_side_encryption_prose_27_case_and_diacritics_are_folded() {
    let strings = Strings {
        queryable: Queryable::new("9.0.0").await,
        suffix: "",
    };
    let prefix_suffix = strings
        .collection("prefix-suffix-ci-di", &[Part::Prefix, Part::Suffix], false)
        .await;
    let substring = strings
        .collection("substring-ci-di", &[Part::Substring], false)
        .await;
    let automatic = strings.queryable.automatic().database("db");
    for (id, collection, text, queries) in [
        (
            0,
            &prefix_suffix,
            "BingQiLin",
            &[(Part::Prefix, "bing"), (Part::Suffix, "lin")][..],
        ),
        (
            1,
            &prefix_suffix,
            "cafébarbäz",
            &[(Part::Prefix, "cafe"), (Part::Suffix, "baz")],
        ),
        (2, &substring, "FooBarBaz", &[(Part::Substring, "bar")]),
        (3, &substring, "foocafébaz", &[(Part::Substring, "cafe")]),
    ] {
        let document = doc! { "_id": id, PATH: text };
        let inserting = automatic.collection::<Document>(collection.name());
        inserting.insert_one(&document).await.expect("an insert");
        for (part, operand) in queries {
            let found = strings.find(collection, *part, operand, false).await;
            assert_eq!(found, std::slice::from_ref(&document), "{operand}");
            // The operand that automatic encryption makes.
            let operands = doc! { "input": format!("${PATH}"), part.name(): *operand };
            let filter = doc! { "$expr": { part.operator(): operands } };
            assert_eq!(
                super::queryable::found(&inserting, filter).await,
                std::slice::from_ref(&document),
                "{operand}"
            );
        }
    }
}
