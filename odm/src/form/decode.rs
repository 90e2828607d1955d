//! Gives the converted parts of stored values the form that their `Deserialize` reads.

use serde::de::Error as _;

use crate::bson::{
    Bson, DecodeError, ElementType, RawElement, RawElements, append_bson, decode_document, find_element,
};
use crate::error::ValueError;
use crate::form::{Conversion, Form, FormOf};

/// A value that cannot be decoded.
#[derive(Debug)]
pub(crate) struct Undecodable {
    /// The path of the field within the value.
    pub(crate) path: String,
    /// Why.
    pub(crate) source: DecodeError,
}

impl From<DecodeError> for Undecodable {
    fn from(source: DecodeError) -> Self {
        Undecodable {
            path: source.path().to_owned(),
            source,
        }
    }
}

/// The result of decoding.
pub(crate) type Result<T = ()> = std::result::Result<T, Undecodable>;

/// The document with converted parts.
pub(crate) fn converted(form: Form, bytes: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len() * 2);
    convert_document(&Forms::new(form), bytes, &mut out)?;
    Ok(out)
}

/// The value with converted parts.
pub(crate) fn converted_value(form: Form, value: &Bson) -> Result<Bson> {
    let mut bytes = Vec::new();
    let start = begin(&mut bytes);
    append_bson("", value, &mut bytes).map_err(malformed)?;
    end(&mut bytes, start)?;
    let mut out = Vec::new();
    let start = begin(&mut out);
    for element in RawElements::new(&bytes)? {
        convert_element(&Forms::new(form), element?, &mut out)?;
    }
    end(&mut out, start)?;
    let mut document = decode_document(&out)?;
    Ok(document.remove("").unwrap_or(Bson::Null))
}

/// The forms that the stored form of one value can have: more than one for flattened fields and
/// for untagged enums. The first is not in the `Vec`, which therefore rarely allocates.
#[derive(Debug)]
struct Forms {
    first: Form,
    rest: Vec<Form>,
    /// Whether the value can have yet another form, so that a value that does not convert is kept.
    uncertain: bool,
}

impl Forms {
    fn new(form: Form) -> Self {
        Forms {
            first: form,
            rest: Vec::new(),
            uncertain: false,
        }
    }

    fn add(&mut self, form: Form) {
        match (form, self.first) {
            (Form::Plain, _) => {}
            (_, Form::Plain) => self.first = form,
            _ => self.rest.push(form),
        }
    }

    fn iter(&self) -> impl Iterator<Item = Form> + '_ {
        std::iter::once(self.first).chain(self.rest.iter().copied())
    }

    fn is_plain(&self) -> bool {
        matches!(self.first, Form::Plain)
    }

    /// The forms of the elements of an array.
    fn elements(&self) -> Forms {
        let mut out = self.empty();
        for form in self.iter() {
            if let Form::Elements(part) = form {
                out.add(part());
            }
        }
        out
    }

    /// The forms of the whole document, with those of flattened fields and of the variant that the
    /// document's tag names.
    fn expand(&self, bytes: &[u8]) -> Forms {
        let mut out = self.empty();
        self.iter().for_each(|form| expand(form, bytes, &mut out));
        out
    }

    /// The forms of the field with a name, if [`expand`](Forms::expand) returned these.
    fn field(&self, name: &str) -> Forms {
        let mut out = self.empty();
        let mut is_named = false;
        for form in self.iter() {
            let Form::Fields(fields) = form else { continue };
            for (field, part) in fields {
                if *field == Some(name) {
                    is_named = true;
                    out.add(part());
                }
            }
        }
        if !is_named {
            // A flattened map has the names that no field has.
            for form in self.iter() {
                if let Form::Entries(part) = form {
                    out.add(part());
                }
            }
        }
        out
    }

    fn empty(&self) -> Forms {
        Forms {
            first: Form::Plain,
            rest: Vec::new(),
            uncertain: self.uncertain,
        }
    }

    fn conversions(&self) -> impl Iterator<Item = Conversion> + '_ {
        self.iter().filter_map(|form| match form {
            Form::Value(conversion) => Some(conversion),
            _ => None,
        })
    }
}

/// Adds the forms that a document has together with `form`.
fn expand(form: Form, bytes: &[u8], out: &mut Forms) {
    match form {
        Form::Fields(fields) => {
            out.add(form);
            for (name, part) in fields {
                if name.is_none() {
                    expand(part(), bytes, out);
                }
            }
        }
        Form::Tagged {
            tag,
            variants,
            others,
        } => {
            let found = find_element(bytes, tag).ok().flatten();
            let named = found.and_then(|element| element.str().ok());
            match variants.iter().find(|(name, _)| Some(*name) == named) {
                Some((_, part)) => expand(part(), bytes, out),
                None => one_of(others, bytes, out),
            }
        }
        Form::OneOf(parts) => one_of(parts, bytes, out),
        other => out.add(other),
    }
}

fn one_of(parts: &[FormOf], bytes: &[u8], out: &mut Forms) {
    out.uncertain |= !parts.is_empty();
    parts.iter().for_each(|part| expand(part(), bytes, out));
}

fn convert_document(forms: &Forms, bytes: &[u8], out: &mut Vec<u8>) -> Result {
    let forms = forms.expand(bytes);
    let start = begin(out);
    for element in RawElements::new(bytes)? {
        let element = element?;
        convert_element(&forms.field(element.key), element, out).map_err(|e| e.in_field(element.key))?;
    }
    end(out, start)
}

fn convert_array(forms: &Forms, bytes: &[u8], out: &mut Vec<u8>) -> Result {
    let elements = forms.elements();
    let start = begin(out);
    for (index, element) in RawElements::new(bytes)?.enumerate() {
        let element = element?;
        let result = if elements.is_plain() {
            // The fields of a tuple have their positions as names.
            convert_element(&forms.field(element.key), element, out)
        } else {
            convert_element(&elements, element, out)
        };
        result.map_err(|e| e.at_index(index))?;
    }
    end(out, start)
}

/// Appends an element whose value has one of the forms.
fn convert_element(forms: &Forms, element: RawElement<'_>, out: &mut Vec<u8>) -> Result {
    let bytes = element.value.bytes();
    match element.kind() {
        kind if forms.is_plain() || kind == ElementType::Null => {
            head(&element, out);
            out.extend_from_slice(bytes);
            Ok(())
        }
        ElementType::EmbeddedDocument => {
            head(&element, out);
            convert_document(forms, bytes, out)
        }
        ElementType::Array => {
            head(&element, out);
            // The variants of an untagged enum can be arrays.
            convert_array(&forms.expand(bytes), bytes, out)
        }
        // A variant of an untagged enum can be a single value.
        _ => convert_value(&forms.expand(&[]), &element, out),
    }
}

/// Appends a value that is neither a document nor an array.
fn convert_value(forms: &Forms, element: &RawElement<'_>, out: &mut Vec<u8>) -> Result {
    let mut failed = None;
    let mut stored = None;
    for conversion in forms.conversions() {
        let stored = match &stored {
            Some(stored) => stored,
            None => stored.insert(bson(element)?),
        };
        match (conversion.decode)(stored) {
            Ok(Some(value)) => return append_bson(element.key, &value, out).map_err(malformed),
            Ok(None) => {}
            Err(error) => failed = Some(error),
        }
    }
    match failed {
        Some(error) if !forms.uncertain => Err(rejected(&error)),
        _ => {
            head(element, out);
            out.extend_from_slice(element.value.bytes());
            Ok(())
        }
    }
}

/// The value of an element.
fn bson(element: &RawElement<'_>) -> Result<Bson> {
    let mut bytes = Vec::new();
    let start = begin(&mut bytes);
    bytes.extend_from_slice(&[element.kind() as u8, 0]);
    bytes.extend_from_slice(element.value.bytes());
    end(&mut bytes, start)?;
    Ok(decode_document(&bytes)?.remove("").unwrap_or(Bson::Null))
}

/// Appends type and key of an element.
fn head(element: &RawElement<'_>, out: &mut Vec<u8>) {
    out.push(element.kind() as u8);
    out.extend_from_slice(element.key.as_bytes());
    out.push(0);
}

/// Begins a document.
fn begin(out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    start
}

/// Ends the document begun at `start`.
fn end(out: &mut Vec<u8>, start: usize) -> Result {
    out.push(0);
    let len = i32::try_from(out.len() - start).map_err(malformed)?;
    if let Some(place) = out.get_mut(start..).and_then(<[u8]>::first_chunk_mut) {
        *place = len.to_le_bytes();
    }
    Ok(())
}

#[cold]
fn malformed(error: impl std::fmt::Display) -> Undecodable {
    DecodeError::custom(error).into()
}

#[cold]
fn rejected(error: &ValueError) -> Undecodable {
    DecodeError::custom(error).into()
}

impl Undecodable {
    #[cold]
    fn in_field(mut self, key: &str) -> Self {
        let rest = std::mem::replace(&mut self.path, key.to_owned());
        if !rest.is_empty() && !rest.starts_with('[') {
            self.path.push('.');
        }
        self.path.push_str(&rest);
        self
    }

    #[cold]
    fn at_index(mut self, index: usize) -> Self {
        let rest = std::mem::replace(&mut self.path, format!("[{index}]"));
        if !rest.is_empty() && !rest.starts_with('[') {
            self.path.push('.');
        }
        self.path.push_str(&rest);
        self
    }
}
