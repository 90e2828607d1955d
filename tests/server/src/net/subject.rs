//! The subject of a certificate in the server's notation: RFC 2253, last attribute first.
//!
//! Includes a DER decoder limited to the elements that the subject needs.

/// Names of subject attributes. Other attributes are written as object identifiers.
const ATTRIBUTES: [(&[u8], &str); 15] = [
    (&[85, 4, 3], "CN"),
    (&[85, 4, 4], "SN"),
    (&[85, 4, 5], "serialNumber"),
    (&[85, 4, 6], "C"),
    (&[85, 4, 7], "L"),
    (&[85, 4, 8], "ST"),
    (&[85, 4, 9], "street"),
    (&[85, 4, 10], "O"),
    (&[85, 4, 11], "OU"),
    (&[85, 4, 12], "title"),
    (&[85, 4, 42], "GN"),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 1], "emailAddress"),
    (&[0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 1], "UID"),
    (&[0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 25], "DC"),
    (&[85, 4, 46], "dnQualifier"),
];

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OBJECT_IDENTIFIER: u8 = 0x06;
const BMP_STRING: u8 = 0x1e;
const UNIVERSAL_STRING: u8 = 0x1c;
const LATIN_STRING: u8 = 0x14;
/// The version field of a certificate, which is optional.
const VERSION: u8 = 0xa0;

/// A DER element.
struct Element<'a> {
    tag: u8,
    content: &'a [u8],
    /// The element with its tag and length.
    encoded: &'a [u8],
}

/// Consumes the first element.
fn element<'a>(rest: &mut &'a [u8]) -> Option<Element<'a>> {
    let all = *rest;
    let (&[tag, first], _) = all.split_first_chunk()?;
    let (length, head) = match first {
        0..=0x7f => (usize::from(first), 2),
        0x81..=0x84 => {
            let count = usize::from(first & 0x7f);
            let bytes = all.get(2..2 + count)?;
            (
                bytes
                    .iter()
                    .fold(0, |length, byte| length << 8 | usize::from(*byte)),
                2 + count,
            )
        }
        _ => return None,
    };
    let end = head.checked_add(length)?;
    *rest = all.get(end..)?;
    Some(Element {
        tag,
        content: all.get(head..end)?,
        encoded: all.get(..end)?,
    })
}

/// Consumes the first element, which must have the given tag. Returns its value.
fn expect<'a>(rest: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    element(rest)
        .filter(|found| found.tag == tag)
        .map(|found| found.content)
}

/// Returns the subject of a certificate in DER.
pub(crate) fn of_certificate(der: &[u8]) -> Option<String> {
    let mut certificate = expect(&mut { der }, SEQUENCE)?;
    let mut fields = expect(&mut certificate, SEQUENCE)?;
    if fields.first() == Some(&VERSION) {
        element(&mut fields)?;
    }
    // Skip serial number, algorithm, issuer and validity.
    for _ in 0..4 {
        element(&mut fields)?;
    }
    let mut name = expect(&mut fields, SEQUENCE)?;
    let mut parts = Vec::new();
    while !name.is_empty() {
        let mut set = expect(&mut name, SET)?;
        let mut values = Vec::new();
        while !set.is_empty() {
            values.push(attribute(expect(&mut set, SEQUENCE)?)?);
        }
        parts.push(values.join("+"));
    }
    parts.reverse();
    Some(parts.join(","))
}

fn attribute(mut pair: &[u8]) -> Option<String> {
    let kind = expect(&mut pair, OBJECT_IDENTIFIER)?;
    let value = element(&mut pair)?;
    match ATTRIBUTES.iter().find(|(number, _)| *number == kind) {
        Some((_, name)) => Some(format!("{name}={}", escaped(&text(&value)?))),
        None => {
            let hex: String = value.encoded.iter().map(|byte| format!("{byte:02X}")).collect();
            Some(format!("{}=#{hex}", dotted(kind)))
        }
    }
}

fn text(value: &Element<'_>) -> Option<String> {
    match value.tag {
        BMP_STRING => {
            let units = value
                .content
                .chunks(2)
                .map(|pair| Some(u16::from_be_bytes(pair.try_into().ok()?)));
            String::from_utf16(&units.collect::<Option<Vec<_>>>()?).ok()
        }
        UNIVERSAL_STRING => {
            let points = value
                .content
                .chunks(4)
                .map(|four| char::from_u32(u32::from_be_bytes(four.try_into().ok()?)));
            points.collect()
        }
        LATIN_STRING => Some(value.content.iter().copied().map(char::from).collect()),
        _ => String::from_utf8(value.content.to_vec()).ok(),
    }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let last = text.chars().count().saturating_sub(1);
    for (at, char) in text.chars().enumerate() {
        let special = matches!(char, ',' | '+' | '"' | '\\' | '<' | '>' | ';')
            || (at == 0 && matches!(char, ' ' | '#'))
            || (at == last && char == ' ');
        match char {
            _ if char.is_ascii_control() => escaped.push_str(&format!("\\{:02X}", u32::from(char))),
            _ if special => escaped.extend(['\\', char]),
            _ => escaped.push(char),
        }
    }
    escaped
}

/// Writes an object identifier in dotted notation.
fn dotted(identifier: &[u8]) -> String {
    let mut numbers: Vec<u64> = Vec::new();
    let mut number: u64 = 0;
    for byte in identifier {
        number = number << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            if numbers.is_empty() {
                let first = (number / 40).min(2);
                numbers.extend([first, number - first * 40]);
            } else {
                numbers.push(number);
            }
            number = 0;
        }
    }
    let texts: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    texts.join(".")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, CustomExtension, DistinguishedName, DnType, DnValue, KeyPair};

    fn subject(parts: Vec<(DnType, DnValue)>) -> Option<String> {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        let mut name = DistinguishedName::new();
        for (kind, value) in parts {
            name.push(kind, value);
        }
        params.distinguished_name = name;
        // An extension that is long enough for two-byte lengths.
        params.custom_extensions = vec![CustomExtension::from_oid_content(&[1, 2, 3], vec![4; 300])];
        let key = KeyPair::generate().unwrap();
        of_certificate(params.self_signed(&key).unwrap().der())
    }

    fn utf8(text: &str) -> DnValue {
        DnValue::Utf8String(text.to_owned())
    }

    #[test]
    fn the_last_attribute_comes_first() {
        let parts = vec![
            (DnType::CountryName, utf8("DE")),
            (DnType::OrganizationName, utf8("Marula")),
            (DnType::OrganizationalUnitName, utf8("Tests")),
            (DnType::CommonName, utf8("client")),
        ];
        assert_eq!(
            subject(parts).as_deref(),
            Some("CN=client,OU=Tests,O=Marula,C=DE")
        );
        assert_eq!(subject(Vec::new()).as_deref(), Some(""));
    }

    #[test]
    fn special_characters_are_escaped() {
        let own = |text: &str| subject(vec![(DnType::CommonName, utf8(text))]).unwrap();
        assert_eq!(own("a,b+c"), "CN=a\\,b\\+c");
        assert_eq!(own(" #x "), "CN=\\ #x\\ ");
        assert_eq!(own("#x;\"\\<>"), "CN=\\#x\\;\\\"\\\\\\<\\>");
        assert_eq!(own("Jörg=ß\u{7}"), "CN=Jörg=ß\\07");
    }

    #[test]
    fn unknown_attributes_are_object_identifiers() {
        let kind = DnType::CustomDnType(vec![1, 3, 6, 1, 4, 1, 99_999, 7]);
        let found = subject(vec![(kind, utf8("x"))]);
        assert_eq!(found.as_deref(), Some("1.3.6.1.4.1.99999.7=#0C0178"));
        let mail = DnType::CustomDnType(vec![1, 2, 840, 113_549, 1, 9, 1]);
        let found = subject(vec![(mail, utf8("me@example.org"))]);
        assert_eq!(found.as_deref(), Some("emailAddress=me@example.org"));
    }

    #[test]
    fn other_string_encodings_are_decoded() {
        let utf16 = DnValue::BmpString("Öl".try_into().unwrap());
        let utf32 = DnValue::UniversalString("Öl".try_into().unwrap());
        for value in [utf16, utf32] {
            let found = subject(vec![(DnType::CommonName, value)]);
            assert_eq!(found.as_deref(), Some("CN=Öl"));
        }
    }

    #[test]
    fn damaged_certificates_have_no_subject() {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let valid = params.self_signed(&key).unwrap().der().to_vec();
        assert!(of_certificate(&valid).is_some());
        for length in 0..valid.len() {
            assert_eq!(of_certificate(&valid[..length]), None);
        }
        for at in 0..valid.len() {
            let mut damaged = valid.clone();
            damaged[at] ^= 0xff;
            // Must not panic.
            let _ = of_certificate(&damaged);
        }
    }
}
