//! Documents as trees of encoded elements, which are mutated without damage to their lengths.

use marula::bson::{ElementType, RawElements};

use crate::targets::Random;

/// An element of a document or an array.
#[derive(Clone)]
pub(super) struct Element {
    kind: u8,
    key: String,
    content: Content,
}

#[derive(Clone)]
enum Content {
    /// An encoded value.
    Value(Vec<u8>),
    /// The elements of a document or an array.
    Elements(Vec<Element>),
}

/// The elements of a document. `None` if it is malformed.
pub(super) fn parse(bytes: &[u8]) -> Option<Vec<Element>> {
    let elements = RawElements::new(bytes).ok()?;
    let parsed = elements.map(|element| {
        let element = element.ok()?;
        let value = element.value;
        let content = match value.kind() {
            ElementType::EmbeddedDocument | ElementType::Array => Content::Elements(parse(value.bytes())?),
            _ => Content::Value(value.bytes().to_vec()),
        };
        Some(Element {
            kind: value.kind() as u8,
            key: element.key.to_owned(),
            content,
        })
    });
    parsed.collect()
}

/// The document with the elements.
pub(super) fn encode(elements: &[Element]) -> Vec<u8> {
    let mut out = vec![0; 4];
    for element in elements {
        out.push(element.kind);
        out.extend(element.key.as_bytes());
        out.push(0);
        match &element.content {
            Content::Value(bytes) => out.extend(bytes),
            Content::Elements(elements) => out.extend(encode(elements)),
        }
    }
    out.push(0);
    let length = (out.len() as u32).to_le_bytes();
    out.splice(..4, length);
    out
}

/// Changes one to three places of a document, sometimes with an element of another one.
pub(super) fn mutate(elements: &mut Vec<Element>, other: &[Element], random: &mut Random) {
    for _ in 0..=random.below(3) {
        mutate_once(elements, other, random);
    }
}

fn mutate_once(elements: &mut Vec<Element>, other: &[Element], random: &mut Random) {
    let at = random.below(elements.len());
    let piece = random.pick(other).cloned();
    let sibling = random.pick(elements).cloned();
    let Some(element) = elements.get_mut(at) else {
        elements.extend(piece);
        return;
    };
    if let Content::Elements(nested) = &mut element.content
        && random.below(3) != 0
    {
        return mutate_once(nested, other, random);
    }
    match (random.below(9), piece, sibling) {
        (0, ..) => drop(elements.remove(at)),
        (1, _, Some(sibling)) => elements.insert(at, sibling),
        (2, ..) => elements.swap(at, 0),
        (3, Some(piece), _) => elements.insert(at, piece),
        (4, _, Some(sibling)) => element.key = sibling.key,
        (5, Some(piece), _) => element.key = piece.key,
        (6, Some(piece), _) => (element.kind, element.content) = (piece.kind, piece.content),
        (7, _, Some(sibling)) => (element.kind, element.content) = (sibling.kind, sibling.content),
        _ => change(element, random),
    }
}

/// Changes the value of an element.
fn change(element: &mut Element, random: &mut Random) {
    match &mut element.content {
        // A document as an array, or an array as a document.
        Content::Elements(_) => {
            element.kind ^= ElementType::EmbeddedDocument as u8 ^ ElementType::Array as u8;
        }
        Content::Value(bytes) => {
            let at = random.below(bytes.len());
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
    }
}
