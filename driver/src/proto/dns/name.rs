//! Domain names, as text and in messages.

use std::fmt;

/// The longest name in a message, its lengths and the final zero among them.
const MAX_NAME: usize = 255;
const MAX_LABEL: usize = 63;

/// A name may be written as a part and a pointer to the rest. No name needs more pointers than it can have parts.
const MAX_POINTERS: usize = 127;

/// A complete name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// As in a message, without pointers.
    bytes: Vec<u8>,
}

impl Name {
    /// Reads text, with or without the final dot.
    ///
    /// # Errors
    /// Why DNS has no such name.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let mut bytes = Vec::with_capacity(text.len() + 2);
        for label in text.strip_suffix('.').unwrap_or(text).split('.') {
            if !label.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err("it has characters that are not in ASCII");
            }
            match u8::try_from(label.len()) {
                Ok(0) => return Err("it has an empty part"),
                Ok(length) if label.len() <= MAX_LABEL => bytes.push(length),
                _ => return Err("it has a part of more than 63 characters"),
            }
            bytes.extend_from_slice(label.as_bytes());
        }
        bytes.push(0);
        match bytes.len() <= MAX_NAME {
            true => Ok(Self { bytes }),
            false => Err("it is longer than 253 characters"),
        }
    }

    /// As in a message.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Reads the name that begins at `at` in a message, and where it ends there. `None`: it is malformed.
    pub(super) fn read(message: &[u8], at: usize) -> Option<(Self, usize)> {
        let mut bytes = Vec::new();
        let end = walk(message, at, |part| bytes.extend_from_slice(part))?;
        Some((Self { bytes }, end))
    }

    /// Whether the name that begins at `at` in a message is this one, whatever the case of its letters, and where it ends.
    /// `None`: it is malformed.
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

/// Visits the parts of the name that begins at `at`, each with its length before it, and the final zero. Returns where the
/// name ends at its own place. `None`: it is malformed.
fn walk(message: &[u8], mut at: usize, mut visit: impl FnMut(&[u8])) -> Option<usize> {
    let (mut end, mut length, mut pointers) = (None, 0, 0);
    // Pointers lead backwards only, from where the name or the part of it began: so they cannot lead in a circle.
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
            // Kinds of labels that nobody uses.
            _ => return None,
        }
    }
}

impl fmt::Display for Name {
    /// Without the final dot, but for the root. What could be taken for something else is escaped (RFC 4343, section 2.1).
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
