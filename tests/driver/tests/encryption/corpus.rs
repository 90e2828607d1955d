//! Prose test 6: values of all types, with all providers, algorithms and ways to encrypt, as the files of the specification have
//! them. The files are those of the specification tests; without them the test is left out.

use std::path::{Path, PathBuf};

use marula_driver::{
    Client, Collection,
    bson::{Binary, BinarySubtype, Bson, Document, Uuid, doc, from_extended_json},
    encryption::{AutoEncryptionOptions, ClientEncryption, DataKey, EncryptionAlgorithm},
};
use marula_driver_tests::{QueryAnalysis, spec_tests};

use super::support::{NAMESPACE, Setup, spec_providers};

const PROVIDERS: [&str; 5] = ["local", "aws", "azure", "gcp", "kmip"];
/// The double cannot know the keys of the others, which are not published.
const PUBLISHED: [&str; 3] = ["local", "aws", "kmip"];

fn folder() -> Option<PathBuf> {
    let Some(root) = spec_tests::root() else {
        println!("left out: {}", spec_tests::ADVICE);
        return None;
    };
    Some(root.join("client-side-encryption/corpus"))
}

fn file(folder: &Path, name: &str) -> Document {
    let path = folder.join(format!("{name}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    from_extended_json(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The files, a key vault with their keys, and what encrypts.
struct Corpus {
    setup: Setup,
    encryption: ClientEncryption,
    analysis: QueryAnalysis,
    corpus: Document,
    encrypted: Document,
    schema: Document,
}

impl Corpus {
    async fn read(folder: &Path) -> Self {
        let setup = Setup::new().await;
        let keys = setup
            .client()
            .database("encryption")
            .collection::<Document>("keys");
        for provider in PROVIDERS {
            let key = file(folder, &format!("corpus-key-{provider}"));
            keys.insert_one(&key).await.expect("an insert");
        }
        Self {
            encryption: setup.encryption_with(setup.options(spec_providers())),
            analysis: QueryAnalysis::start().await,
            corpus: file(folder, "corpus"),
            encrypted: file(folder, "corpus-encrypted"),
            schema: file(folder, "corpus-schema"),
            setup,
        }
    }

    fn client(&self, configure: impl FnOnce(AutoEncryptionOptions) -> AutoEncryptionOptions) -> Client {
        let options = self
            .setup
            .kms
            .configure_automatic(AutoEncryptionOptions::new(NAMESPACE, spec_providers()));
        let analysis = self.analysis.extra_options();
        let uri = self.setup.deployment.server.uri();
        let client = marula_driver::options::ClientOptions::parse(&uri).expect("a connection string");
        Client::with_auto_encryption(client, configure(options.extra_options(analysis))).expect("a client")
    }

    /// The corpus with the values that are encrypted explicitly.
    async fn copied(&self) -> Document {
        let mut copied = Document::new();
        for (name, entry) in &self.corpus {
            let Bson::Document(entry) = entry else {
                copied.insert(name, entry.clone());
                continue;
            };
            let mut entry = entry.clone();
            if text(&entry, "method") == "explicit" {
                let result = self.encrypt(&entry).await;
                assert_eq!(result.is_ok(), is_allowed(&entry), "{name}: {result:?}");
                if let Ok(value) = result {
                    entry.insert("value", value);
                }
            }
            copied.insert(name, entry);
        }
        copied
    }

    async fn encrypt(&self, entry: &Document) -> marula_driver::Result<Binary> {
        let provider = text(entry, "kms");
        let key = match text(entry, "identifier") {
            "id" => DataKey::Id(key_id(provider)),
            _ => DataKey::AltName(provider.to_owned()),
        };
        let algorithm = match text(entry, "algo") {
            "det" => EncryptionAlgorithm::Deterministic,
            _ => EncryptionAlgorithm::Random,
        };
        let value = entry.get("value").expect("a value");
        self.encryption.encrypt(value, key, algorithm).await
    }

    /// Compares the stored values with those of the files. Returns how many ciphertexts are equal.
    async fn compare(&self, stored: &Document) -> usize {
        let mut equal = 0;
        for (name, entry) in &self.corpus {
            let Bson::Document(entry) = entry else { continue };
            let value = |document: &Document| {
                let entry = document
                    .get_document(name)
                    .unwrap_or_else(|error| panic!("{name}: {error}"));
                entry
                    .get("value")
                    .cloned()
                    .unwrap_or_else(|| panic!("{name}: no value"))
            };
            let (original, actual, expected) = (value(&self.corpus), value(stored), value(&self.encrypted));
            if !is_allowed(entry) {
                assert_eq!(actual, original, "{name}");
                continue;
            }
            let Bson::Binary(actual) = &actual else {
                panic!("{name}: {actual}");
            };
            assert_eq!(actual.subtype, BinarySubtype::Encrypted, "{name}");
            assert_eq!(
                self.encryption.decrypt(actual).await.expect(name),
                original,
                "{name}"
            );
            if !PUBLISHED.contains(&text(entry, "kms")) {
                continue;
            }
            let Bson::Binary(expected) = &expected else {
                panic!("{name}: {expected}");
            };
            let is_deterministic = text(entry, "algo") == "det";
            assert_eq!(actual == expected, is_deterministic, "{name}");
            assert_eq!(
                self.encryption.decrypt(expected).await.expect(name),
                original,
                "{name}"
            );
            equal += usize::from(is_deterministic);
        }
        equal
    }
}

fn text<'d>(entry: &'d Document, field: &str) -> &'d str {
    entry
        .get_str(field)
        .unwrap_or_else(|_| panic!("{field} is missing: {entry}"))
}

fn is_allowed(entry: &Document) -> bool {
    entry.get_bool("allowed").expect("allowed")
}

/// The key of a provider: its name in base64, filled up with zeros.
fn key_id(provider: &str) -> Uuid {
    use base64::{Engine, engine::general_purpose::STANDARD};

    let name = format!("{:A<22}==", provider.to_uppercase());
    let bytes = STANDARD.decode(name).expect("base64");
    Uuid::from_bytes(bytes.try_into().expect("16 bytes"))
}

pub(crate) async fn client_side_encryption_prose_6_the_corpus_is_encrypted_and_decrypted() {
    let Some(folder) = folder() else { return };
    let corpus = Corpus::read(&folder).await;
    let database = corpus.setup.client().database("db");
    let plain: Collection<Document> = database.collection("coll");
    for is_in_options in [false, true] {
        plain.drop().await.expect("a drop");
        let client = if is_in_options {
            corpus.client(|options| options.schema("db.coll", corpus.schema.clone()))
        } else {
            let validator = doc! { "$jsonSchema": corpus.schema.clone() };
            database
                .create_collection("coll")
                .validator(validator)
                .await
                .expect("a collection");
            corpus.client(|options| options)
        };
        let coll = client.database("db").collection::<Document>("coll");
        let copied = corpus.copied().await;
        coll.insert_one(&copied).await.expect("an insert");
        let found = coll.find_one(doc! {}).await.expect("a find");
        assert_eq!(found.as_ref(), Some(&corpus.corpus));
        let stored = plain
            .find_one(doc! {})
            .await
            .expect("a find")
            .expect("a document");
        // Deterministic values of the three providers: explicit ones, and those of automatic encryption.
        assert_eq!(corpus.compare(&stored).await, 41 + 24 + 24 + 3 * 12);
    }
}
