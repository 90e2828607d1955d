//! The `client` document of the handshake: its fields, those that wrapping libraries append, and
//! its truncation (MongoDB Handshake, "Client metadata document").

use super::client_environment::ClientEnvironment;
use crate::{
    Error, Result,
    bson::{Document, RawDocumentBuf, doc, to_raw_document},
    types::{
        driver_info::{DELIMITER, DriverInfo},
        text::truncate,
    },
};

/// Servers refuse a `client` document larger than this.
const MAX_METADATA: usize = 512;

const DRIVER_NAME: &str = "marula-driver";
const DRIVER_VERSION: &str = env!("CARGO_PKG_VERSION");
const PLATFORM: &str = concat!("Rust ", env!("CARGO_PKG_RUST_VERSION"), "+ / tokio");

/// Driver, application, libraries and platform, for the handshake.
#[derive(Clone, Debug)]
pub struct ClientMetadata {
    app_name: Option<String>,
    client_environment: ClientEnvironment,
    appended: Vec<DriverInfo>,
    document: RawDocumentBuf,
}

/// The metadata of a client of which nothing else is known.
#[cfg(any(test, feature = "internals"))]
pub fn client_metadata(app_name: Option<&str>) -> Result<ClientMetadata> {
    ClientMetadata::new(app_name, ClientEnvironment::default())
}

impl ClientMetadata {
    /// `app_name` is at most 128 bytes long, so the required fields always fit.
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

    /// The document, as connections made from now on send it.
    pub fn document(&self) -> &RawDocumentBuf {
        &self.document
    }

    /// Appends what a library says of itself, unless it was appended before. On an error nothing has changed.
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
        cut_to_size(metadata)
    }
}

/// Takes the less important parts away, in the specification's order, until the rest fits.
fn cut_to_size(mut metadata: Document) -> Result<RawDocumentBuf> {
    let cuts: [fn(&mut Document, usize); 4] = [
        |metadata, _| keep_only(metadata, "env", "name"),
        |metadata, _| keep_only(metadata, "os", "type"),
        |metadata, _| {
            metadata.remove("env");
        },
        cut_platform,
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
            "the names and versions in the handshake are {surplus} bytes too long together"
        ))),
    }
}

/// How many bytes are too many.
fn surplus(encoded: &RawDocumentBuf) -> Option<usize> {
    encoded
        .as_bytes()
        .len()
        .checked_sub(MAX_METADATA)
        .filter(|surplus| *surplus > 0)
}

/// Removes all fields of a part but one, and the part if it has not that one.
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

/// Shortens `platform`, and removes it if nothing would be left.
fn cut_platform(metadata: &mut Document, surplus: usize) {
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

/// The operating system's family as the specification names them.
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
    fn names_application_driver_and_platform() {
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
    fn the_less_important_parts_go_first() {
        let whole = |region: usize, platform: usize, driver: usize| {
            let metadata = doc! {
                "driver": { "name": "d".repeat(driver) },
                "os": { "type": "Linux", "name": "n".repeat(60) },
                "platform": "é".repeat(platform),
                "env": { "name": "aws.lambda", "region": "r".repeat(region) },
            };
            let cut = cut_to_size(metadata)?;
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
    fn an_environment_without_name_goes_as_a_whole() {
        let variables = |name: &str| (name == "KUBERNETES_SERVICE_HOST").then(|| "1".to_owned());
        let client_environment = ClientEnvironment::detect(&variables, false);
        let mut metadata = ClientMetadata::new(Some(&"a".repeat(128)), client_environment).unwrap();
        assert!(decoded(&metadata).contains_key("env"));
        metadata.append(DriverInfo::new("n".repeat(150))).unwrap();
        assert!(!decoded(&metadata).contains_key("env"));
    }

    #[test]
    fn what_never_fits_is_refused_and_forgotten() {
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
