//! Domain names as text and in messages (RFC 1035, sections 3.1 and 4.1.4).

#[cfg(feature = "gssapi")]
use core::net::IpAddr;
use std::fmt;

/// Maximum length of a name in a message, with the lengths of its labels and the final zero.
const MAX_NAME: usize = 255;
const MAX_LABEL: usize = 63;

/// Maximum number of compression pointers in a name: one per label.
const MAX_POINTERS: usize = 127;

/// A fully qualified name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// Uncompressed wire form.
    bytes: Vec<u8>,
}

impl Name {
    /// Parses text, with or without the final dot.
    ///
    /// # Errors
    /// The reason why the text is not a domain name.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let mut bytes = Vec::with_capacity(text.len() + 2);
        for label in text.strip_suffix('.').unwrap_or(text).split('.') {
            if !label.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err("it has characters that are not printable ASCII");
            }
            match u8::try_from(label.len()) {
                Ok(0) => return Err("it has an empty label"),
                Ok(length) if label.len() <= MAX_LABEL => bytes.push(length),
                _ => return Err("it has a label of more than 63 characters"),
            }
            bytes.extend_from_slice(label.as_bytes());
        }
        bytes.push(0);
        if bytes.len() <= MAX_NAME {
            Ok(Self { bytes })
        } else {
            Err("it is longer than 253 characters")
        }
    }

    /// Uncompressed wire form.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Decodes the name at index `at` of a message. Returns the index after it too. `None`: it is
    /// malformed.
    pub(super) fn read(message: &[u8], at: usize) -> Option<(Self, usize)> {
        let mut bytes = Vec::new();
        let end = walk(message, at, |part| bytes.extend_from_slice(part))?;
        Some((Self { bytes }, end))
    }

    /// Whether the name at index `at` of a message equals this one, ignoring ASCII case, and the
    /// index after it. `None`: it is malformed.
    pub(super) fn is_at(&self, message: &[u8], at: usize) -> Option<(bool, usize)> {
        let mut rest = Some(self.bytes.as_slice());
        let end = walk(message, at, |part| {
            rest = rest
                .and_then(|rest| rest.split_at_checked(part.len()))
                .and_then(|(own, rest)| own.eq_ignore_ascii_case(part).then_some(rest));
        })?;
        Some((rest.is_some_and(<[u8]>::is_empty), end))
    }
}

/// Visits the labels of the name at index `at`, each with its length, and the final zero. Returns
/// the index after the name, before any pointer is followed. `None`: it is malformed.
fn walk(message: &[u8], mut at: usize, mut visit: impl FnMut(&[u8])) -> Option<usize> {
    let (mut end, mut length, mut pointers) = (None, 0, 0);
    // Pointers must lead before the start of the current part, so that they cannot form a loop.
    let mut begin = at;
    loop {
        let first = usize::from(*message.get(at)?);
        match first {
            0 => {
                visit(&[0]);
                return Some(end.unwrap_or(at + 1));
            }
            1..=MAX_LABEL => {
                let part = message.get(at..=at + first)?;
                length += part.len();
                if length >= MAX_NAME {
                    return None;
                }
                visit(part);
                at += part.len();
            }
            0xC0.. => {
                let target = (first & 0x3F) << 8 | usize::from(*message.get(at + 1)?);
                pointers += 1;
                if target >= begin || pointers > MAX_POINTERS {
                    return None;
                }
                end = end.or(Some(at + 2));
                (at, begin) = (target, target);
            }
            // Label types that are not in use (RFC 6891, section 5).
            _ => return None,
        }
    }
}

impl fmt::Display for Name {
    /// Without the final dot, except for the root. Special characters are escaped (RFC 4343,
    /// section 2.1).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;

        let mut rest = self.bytes.as_slice();
        if rest == [0] {
            return f.write_char('.');
        }
        let mut separator = "";
        while let Some((length, behind)) = rest.split_first()
            && let Some((label, behind)) = behind.split_at_checked(usize::from(*length))
            && !label.is_empty()
        {
            f.write_str(separator)?;
            for byte in label {
                match byte {
                    b'.' | b'\\' => write!(f, "\\{}", char::from(*byte))?,
                    byte if byte.is_ascii_graphic() => f.write_char(char::from(*byte))?,
                    byte => write!(f, "\\{byte:03}")?,
                }
            }
            separator = ".";
            rest = behind;
        }
        Ok(())
    }
}

/// The name of the PTR record of an address (RFC 1035, section 3.5; RFC 3596, section 2.5).
#[cfg(feature = "gssapi")]
pub fn reverse_name(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let [a, b, c, d] = address.octets();
            format!("{d}.{c}.{b}.{a}.in-addr.arpa")
        }
        IpAddr::V6(address) => {
            let bytes = address.octets().into_iter().rev();
            let digits: String = bytes
                .map(|byte| format!("{:x}.{:x}.", byte & 15, byte >> 4))
                .collect();
            format!("{digits}ip6.arpa")
        }
    }
}
