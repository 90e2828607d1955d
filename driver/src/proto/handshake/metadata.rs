//! The `client` document of the handshake: its fields, the metadata of wrapping libraries, and its
//! truncation ([MongoDB Handshake], "Hello Command", "Limitations").
//!
//! [MongoDB Handshake]:
//! https://github.com/mongodb/specifications/blob/master/source/mongodb-handshake/handshake.md

use super::client_environment::ClientEnvironment;
use crate::{
    Error, Result,
    bson::{Document, RawDocumentBuf, doc, to_raw_document},
    types::{
        driver_info::{DELIMITER, DriverInfo},
        text::truncate,
    },
};

/// The maximum size in bytes of the `client` document; servers reject a larger one.
const MAX_METADATA: usize = 512;

const DRIVER_NAME: &str = "marula-driver";
const DRIVER_VERSION: &str = env!("CARGO_PKG_VERSION");
const PLATFORM: &str = concat!("Rust ", env!("CARGO_PKG_RUST_VERSION"), "+ / tokio");

/// The client metadata: driver, application, wrapping libraries and platform.
#[derive(Clone, Debug)]
pub struct ClientMetadata {
    app_name: Option<String>,
    client_environment: ClientEnvironment,
    appended: Vec<DriverInfo>,
    document: RawDocumentBuf,
}

/// The metadata of a client without wrapping libraries and outside FaaS platforms and containers.
#[cfg(any(test, feature = "internals"))]
pub fn client_metadata(app_name: Option<&str>) -> Result<ClientMetadata> {
    ClientMetadata::new(app_name, ClientEnvironment::default())
}

impl ClientMetadata {
    /// `app_name` is at most 128 bytes long, so that the required fields fit.
    pub fn new(app_name: Option<&str>, client_environment: ClientEnvironment) -> Result<Self> {
        let mut metadata = Self {
            app_name: app_name.filter(|name| !name.is_empty()).map(str::to_owned),
            client_environment,
            appended: Vec::new(),
            document: RawDocumentBuf::new(),
        };
        metadata.document = metadata.build()?;
        Ok(metadata)
    }

    /// The `client` document for new connections.
    pub fn document(&self) -> &RawDocumentBuf {
        &self.document
    }

    /// Appends the metadata of a library, unless equal metadata was appended before. On an error,
    /// the metadata is unchanged.
    pub fn append(&mut self, info: DriverInfo) -> Result<()> {
        info.validate().map_err(Error::invalid_argument)?;
        if self.appended.iter().any(|known| known.parts() == info.parts()) {
            return Ok(());
        }
        self.appended.push(info);
        match self.build() {
            Ok(document) => {
                self.document = document;
                Ok(())
            }
            Err(error) => {
                self.appended.pop();
                Err(error)
            }
        }
    }

    fn build(&self) -> Result<RawDocumentBuf> {
        let [mut name, mut version, mut platform] =
            [DRIVER_NAME, DRIVER_VERSION, PLATFORM].map(str::to_owned);
        for info in &self.appended {
            for (field, part) in [&mut name, &mut version, &mut platform]
                .into_iter()
                .zip(info.parts())
            {
                if let Some(part) = part {
                    field.push(DELIMITER);
                    field.push_str(part);
                }
            }
        }
        let mut metadata = Document::new();
        if let Some(name) = &self.app_name {
            metadata.insert("application", doc! { "name": name });
        }
        metadata.insert("driver", doc! { "name": name, "version": version });
        metadata.insert(
            "os",
            doc! { "type": operating_system(), "name": std::env::consts::OS, "architecture": std::env::consts::ARCH },
        );
        metadata.insert("platform", platform);
        if let Some(env) = self.client_environment.document() {
            metadata.insert("env", env);
        }
        truncate_to_limit(metadata)
    }
}

/// Removes optional fields in the order of the specification ("Limitations") until the document
/// fits.
fn truncate_to_limit(mut metadata: Document) -> Result<RawDocumentBuf> {
    let cuts: [fn(&mut Document, usize); 4] = [
        |metadata, _| keep_only(metadata, "env", "name"),
        |metadata, _| keep_only(metadata, "os", "type"),
        |metadata, _| {
            metadata.remove("env");
        },
        truncate_platform,
    ];
    let mut encoded = to_raw_document(&metadata)?;
    for cut in cuts {
        let Some(surplus) = surplus(&encoded) else {
            break;
        };
        cut(&mut metadata, surplus);
        encoded = to_raw_document(&metadata)?;
    }
    match surplus(&encoded) {
        None => Ok(encoded),
        Some(surplus) => Err(Error::invalid_argument(format!(
            "the names and versions in the handshake metadata exceed the limit of {MAX_METADATA} bytes by {surplus}"
        ))),
    }
}

/// The number of bytes by which the document exceeds the limit.
fn surplus(encoded: &RawDocumentBuf) -> Option<usize> {
    encoded
        .as_bytes()
        .len()
        .checked_sub(MAX_METADATA)
        .filter(|surplus| *surplus > 0)
}

/// Removes all fields of a subdocument except one; removes the subdocument if it does not have that
/// field.
fn keep_only(metadata: &mut Document, part: &str, field: &str) {
    if let Ok(fields) = metadata.get_document_mut(part) {
        let kept = fields.remove(field);
        fields.clear();
        match kept {
            Some(kept) => {
                fields.insert(field, kept);
            }
            None => {
                metadata.remove(part);
            }
        }
    }
}

/// Truncates `platform`, and removes it if nothing would be left.
fn truncate_platform(metadata: &mut Document, surplus: usize) {
    let Ok(platform) = metadata.get_str("platform") else {
        return;
    };
    let kept = truncate(platform, platform.len().saturating_sub(surplus)).to_owned();
    if kept.is_empty() {
        metadata.remove("platform");
    } else {
        metadata.insert("platform", kept);
    }
}

/// `os.type`: the family of the operating system, in the spelling of the specification.
fn operating_system() -> &'static str {
    match std::env::consts::OS {
        "linux" => "Linux",
        "macos" => "Darwin",
        "windows" => "Windows",
        "freebsd" | "openbsd" | "netbsd" => "BSD",
        "" => "unknown",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bson::decode_document;

    fn decoded(metadata: &ClientMetadata) -> Document {
        decode_document(metadata.document().as_bytes()).unwrap()
    }

    #[test]
    fn the_document_contains_application_driver_and_platform() {
        let metadata = decoded(&client_metadata(Some("shop")).unwrap());
        assert_eq!(
            metadata.get_document("application").unwrap(),
            &doc! { "name": "shop" }
        );
        assert_eq!(
            metadata.get_document("driver").unwrap().get_str("name").unwrap(),
            DRIVER_NAME
        );
        assert!(metadata.get_str("platform").unwrap().starts_with("Rust "));
        assert!(!metadata.contains_key("env"));
        assert!(!decoded(&client_metadata(None).unwrap()).contains_key("application"));
    }

    #[test]
    fn optional_fields_are_removed_in_the_specified_order() {
        let whole = |region: usize, platform: usize, driver: usize| {
            let metadata = doc! {
                "driver": { "name": "d".repeat(driver) },
                "os": { "type": "Linux", "name": "n".repeat(60) },
                "platform": "é".repeat(platform),
                "env": { "name": "aws.lambda", "region": "r".repeat(region) },
            };
            let cut = truncate_to_limit(metadata)?;
            assert!(cut.as_bytes().len() <= MAX_METADATA);
            Ok::<_, Error>(decode_document(cut.as_bytes()).unwrap())
        };
        let same = whole(5, 5, 5).unwrap();
        assert_eq!(same.get_document("env").unwrap().len(), 2);
        let one = whole(400, 5, 5).unwrap();
        assert_eq!(one.get_document("env").unwrap(), &doc! { "name": "aws.lambda" });
        assert_eq!(one.get_document("os").unwrap().len(), 2);
        let two = whole(5, 170, 5).unwrap();
        assert_eq!(two.get_document("os").unwrap(), &doc! { "type": "Linux" });
        assert!(two.contains_key("env"));
        let three = whole(5, 210, 5).unwrap();
        assert!(!three.contains_key("env") && three.get_str("platform").unwrap().len() == 420);
        let four = whole(5, 300, 5).unwrap();
        assert!((398..600).contains(&four.get_str("platform").unwrap().len()));
        assert!(!whole(5, 5, 420).unwrap().contains_key("env"));
        assert!(whole(5, 5, 600).is_err());
    }

    #[test]
    fn env_without_name_is_removed_completely() {
        let variables = |name: &str| (name == "KUBERNETES_SERVICE_HOST").then(|| "1".to_owned());
        let client_environment = ClientEnvironment::detect(&variables, false);
        let mut metadata = ClientMetadata::new(Some(&"a".repeat(128)), client_environment).unwrap();
        assert!(decoded(&metadata).contains_key("env"));
        metadata.append(DriverInfo::new("n".repeat(150))).unwrap();
        assert!(!decoded(&metadata).contains_key("env"));
    }

    #[test]
    fn metadata_that_does_not_fit_is_rejected_and_not_kept() {
        let mut metadata = client_metadata(None).unwrap();
        let before = metadata.document().clone();
        for info in [
            DriverInfo::new("n".repeat(600)),
            DriverInfo::new("a|b"),
            DriverInfo::new("a").with_version("1|2"),
            DriverInfo::new("a").with_platform("|"),
        ] {
            assert!(metadata.append(info).is_err());
            assert_eq!(metadata.document(), &before);
        }
        metadata.append(DriverInfo::new("ok")).unwrap();
        assert_ne!(metadata.document(), &before);
    }
}
