//! The `client` document of the handshake, and how it is cut to the size servers accept.

use crate::bson::{Document, EncodeError, RawDocumentBuf, doc, to_raw_document};

/// Servers refuse a `client` document larger than this.
const MAX_METADATA: usize = 512;

/// What the driver tells the server about itself and the application.
///
/// Over 512 bytes, which is what servers take, the less important parts go first, in the order the specification gives: every `os` field
/// but `type`, then `os`, then `platform`. `app_name` is at most 128 bytes, so the rest always fits.
pub fn client_metadata(app_name: Option<&str>) -> Result<RawDocumentBuf, EncodeError> {
    let mut metadata = Document::new();
    if let Some(name) = app_name.filter(|name| !name.is_empty()) {
        metadata.insert("application", doc! { "name": name });
    }
    metadata.insert(
        "driver",
        doc! { "name": "marula-driver", "version": env!("CARGO_PKG_VERSION") },
    );
    metadata.insert(
        "os",
        doc! { "type": operating_system(), "name": std::env::consts::OS, "architecture": std::env::consts::ARCH },
    );
    metadata.insert(
        "platform",
        concat!("Rust ", env!("CARGO_PKG_RUST_VERSION"), "+ / tokio"),
    );
    cut_to_size(metadata)
}

fn cut_to_size(mut metadata: Document) -> Result<RawDocumentBuf, EncodeError> {
    let mut encoded = to_raw_document(&metadata)?;
    let cuts: [fn(&mut Document); 3] = [
        |metadata| {
            if let Ok(os) = metadata.get_document_mut("os") {
                for field in ["name", "architecture", "version"] {
                    os.remove(field);
                }
            }
        },
        |metadata| {
            metadata.remove("os");
        },
        |metadata| {
            metadata.remove("platform");
        },
    ];
    for cut in cuts {
        if encoded.as_bytes().len() <= MAX_METADATA {
            break;
        }
        cut(&mut metadata);
        encoded = to_raw_document(&metadata)?;
    }
    Ok(encoded)
}

/// The operating system's family as the specification names them.
fn operating_system() -> &'static str {
    match std::env::consts::OS {
        "linux" => "Linux",
        "macos" => "Darwin",
        "windows" => "Windows_NT",
        "freebsd" | "openbsd" | "netbsd" => "BSD",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_application_driver_and_platform() {
        let metadata = client_metadata(Some("shop")).unwrap();
        let text = format!("{}", crate::bson::decode_document(metadata.as_bytes()).unwrap());
        for part in ["shop", "marula-driver", "architecture", "Rust"] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
        assert!(metadata.as_bytes().len() <= MAX_METADATA);
    }

    #[test]
    fn cuts_the_less_important_parts_first() {
        let with = |filler: usize| {
            let metadata = doc! {
                "driver": { "name": "d" },
                "os": { "type": "Linux", "name": "x".repeat(filler) },
                "platform": "p",
            };
            cut_to_size(metadata).unwrap()
        };
        assert!(with(10).get("platform").unwrap().is_some());
        let cut = with(600);
        assert!(cut.get("platform").unwrap().is_some());
        let os = cut.get_document("os").unwrap();
        assert!(os.get("name").unwrap().is_none() && os.get("type").unwrap().is_some());
        let hopeless = doc! { "driver": { "name": "d" }, "os": { "type": "y".repeat(600) }, "platform": "z".repeat(600) };
        assert!(cut_to_size(hopeless).unwrap().as_bytes().len() <= MAX_METADATA);
    }
}
