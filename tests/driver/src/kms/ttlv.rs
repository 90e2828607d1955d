//! The encoding of KMIP: tag, type, length, value (KMIP 1.0, section 9.1).

/// The first byte of every message.
pub(super) const FIRST_BYTE: u8 = 0x42;

const STRUCTURE: u8 = 1;
const INTEGER: u8 = 2;
const ENUMERATION: u8 = 5;
const TEXT: u8 = 7;
const BYTES: u8 = 8;
const DATE: u8 = 9;

/// An item: the lower two bytes of its tag, and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) tag: u16,
    pub(super) value: Value,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Structure(Vec<Item>),
    Integer(u32),
    Enumeration(u32),
    Text(String),
    Bytes(Vec<u8>),
    Date(u64),
    /// A type that requests do not need.
    Other,
}

/// Reads one item. `None` if it is incomplete. Returns the number of bytes too.
pub(super) fn read(bytes: &[u8]) -> Option<(Item, usize)> {
    let head: &[u8; 8] = bytes.first_chunk()?;
    let [_, tag_high, tag_low, kind, length @ ..] = *head;
    let length = u32::from_be_bytes(length) as usize;
    let padded = length.next_multiple_of(8);
    let value = bytes.get(8..8 + padded)?.get(..length)?;
    let number = || value.first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
    let value = match kind {
        STRUCTURE => {
            let (mut items, mut rest) = (Vec::new(), value);
            while !rest.is_empty() {
                let (item, size) = read(rest)?;
                items.push(item);
                rest = rest.get(size..)?;
            }
            Value::Structure(items)
        }
        INTEGER => Value::Integer(number()?),
        ENUMERATION => Value::Enumeration(number()?),
        TEXT => Value::Text(String::from_utf8_lossy(value).into_owned()),
        BYTES => Value::Bytes(value.to_vec()),
        _ => Value::Other,
    };
    let tag = u16::from_be_bytes([tag_high, tag_low]);
    Some((Item { tag, value }, 8 + padded))
}

impl Item {
    pub(super) fn structure(tag: u16, items: Vec<Self>) -> Self {
        let value = Value::Structure(items);
        Self { tag, value }
    }

    pub(super) fn integer(tag: u16, number: u32) -> Self {
        let value = Value::Integer(number);
        Self { tag, value }
    }

    pub(super) fn enumeration(tag: u16, number: u32) -> Self {
        let value = Value::Enumeration(number);
        Self { tag, value }
    }

    pub(super) fn text(tag: u16, text: &str) -> Self {
        let value = Value::Text(text.to_owned());
        Self { tag, value }
    }

    pub(super) fn bytes(tag: u16, bytes: &[u8]) -> Self {
        let value = Value::Bytes(bytes.to_vec());
        Self { tag, value }
    }

    /// The first item with this tag, at any depth.
    pub(super) fn find(&self, tag: u16) -> Option<&Value> {
        if self.tag == tag {
            return Some(&self.value);
        }
        match &self.value {
            Value::Structure(items) => items.iter().find_map(|item| item.find(tag)),
            _ => None,
        }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let (kind, value) = match &self.value {
            Value::Structure(items) => {
                let mut inner = Vec::new();
                items.iter().for_each(|item| item.write(&mut inner));
                (STRUCTURE, inner)
            }
            Value::Integer(number) => (INTEGER, number.to_be_bytes().to_vec()),
            Value::Enumeration(number) => (ENUMERATION, number.to_be_bytes().to_vec()),
            Value::Text(text) => (TEXT, text.clone().into_bytes()),
            Value::Bytes(bytes) => (BYTES, bytes.clone()),
            Value::Date(seconds) => (DATE, seconds.to_be_bytes().to_vec()),
            Value::Other => (BYTES, Vec::new()),
        };
        out.push(FIRST_BYTE);
        out.extend(self.tag.to_be_bytes());
        out.push(kind);
        out.extend(u32::try_from(value.len()).expect("a short value").to_be_bytes());
        out.extend(&value);
        out.resize(out.len() + value.len().next_multiple_of(8) - value.len(), 0);
    }
}
