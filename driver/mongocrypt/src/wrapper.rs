//! Documents with one field, the form in which the library takes names and key material.

use zeroize::Zeroizing;

const BINARY: u8 = 5;
const TEXT: u8 = 2;

/// `{<key>: "<text>"}`
pub(crate) fn text(key: &str, text: &str) -> Zeroizing<Vec<u8>> {
    let mut value = Vec::with_capacity(text.len() + 5);
    value.extend_from_slice(&length(text.len() + 1));
    value.extend_from_slice(text.as_bytes());
    value.push(0);
    document(TEXT, key, &value)
}

/// `{<key>: Binary(0, <bytes>)}`
pub(crate) fn binary(key: &str, bytes: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut value = Zeroizing::new(Vec::with_capacity(bytes.len() + 5));
    value.extend_from_slice(&length(bytes.len()));
    value.push(0);
    value.extend_from_slice(bytes);
    document(BINARY, key, &value)
}

fn document(element: u8, key: &str, value: &[u8]) -> Zeroizing<Vec<u8>> {
    let size = 4 + 1 + key.len() + 1 + value.len() + 1;
    let mut bytes = Zeroizing::new(Vec::with_capacity(size));
    bytes.extend_from_slice(&length(size));
    bytes.push(element);
    bytes.extend_from_slice(key.as_bytes());
    bytes.push(0);
    bytes.extend_from_slice(value);
    bytes.push(0);
    bytes
}

/// A length of BSON. One that is too large yields a document that the library rejects.
fn length(length: usize) -> [u8; 4] {
    i32::try_from(length).unwrap_or(i32::MAX).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use bson::doc;

    use super::*;

    #[test]
    fn documents_are_bson() {
        let expected = doc! { "keyAltName": "näme" };
        assert_eq!(*text("keyAltName", "näme"), expected.to_vec().unwrap());
        let bytes = bson::Binary {
            subtype: bson::spec::BinarySubtype::Generic,
            bytes: vec![1, 2, 3],
        };
        let expected = doc! { "keyMaterial": bytes };
        assert_eq!(*binary("keyMaterial", &[1, 2, 3]), expected.to_vec().unwrap());
    }
}
