//! Page tokens: the values of the sort keys in the first or last document of a page, in base64url.

use base64::engine::{Engine as _, general_purpose::URL_SAFE_NO_PAD as BASE64};

use crate::{
    base::{
        bson::{Bson, Document, doc, from_slice_owned, to_vec},
        error::{Error, Result},
    },
    form::json_schema::{Constraint, OuterTypes},
    models::model::Model,
    path::field::Field,
    query::read::token_key::TokenKey,
    term::sort::KeysetSort,
};

/// Maximum length of a token in bytes. Longer ones are rejected before they are decoded, since
/// tokens are untrusted input.
const MAX_TOKEN: usize = 64 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::query) enum Direction {
    Forward,
    Backward,
}

#[derive(Clone, Debug, PartialEq)]
pub(in crate::query) struct Token {
    pub(in crate::query) direction: Direction,
    /// The values of the sort keys, in the order of the keys. A missing value is null.
    pub(in crate::query) values: Vec<Bson>,
}

/// A sort key of pages.
#[derive(Clone, Debug)]
pub(in crate::query) struct Key {
    pub(in crate::query) path: String,
    pub(in crate::query) is_descending: bool,
    /// Whether the value can be null or missing.
    pub(in crate::query) is_nullable: bool,
}

/// Whether the field at the path has a default or a condition of serde, so that it can be missing, whatever its type is.
fn can_be_missing<D: Field>(path: &str) -> bool {
    let mut fields = D::FIELDS.schemas.iter();
    let field =
        fields.find(|(name, _, constraint)| *name == path && !matches!(constraint, Constraint::Flattened));
    if let Some((_, _, constraint)) = field {
        return matches!(constraint, Constraint::Optional);
    }
    // The fields of embedded and flattened types.
    let mut schema = D::json_schema(&mut OuterTypes::default());
    path.split('.').any(|segment| match property(&schema, segment) {
        Some((inner, is_required)) => {
            schema = inner;
            !is_required
        }
        // An entry of a map, which its path knows to be nullable.
        None => {
            schema = Document::new();
            false
        }
    })
}

/// The schema of a field of a document, and whether it is required. `allOf` has those of flattened types.
fn property(schema: &Document, name: &str) -> Option<(Document, bool)> {
    let own = schema.get_document("properties");
    if let Ok(inner) = own.and_then(|properties| properties.get_document(name)) {
        let required = schema.get_array("required").into_iter().flatten();
        let is_required = required.filter_map(Bson::as_str).any(|required| required == name);
        return Some((inner.clone(), is_required));
    }
    let flattened = schema.get_array("allOf").into_iter().flatten();
    let mut flattened = flattened.filter_map(Bson::as_document);
    flattened.find_map(|schema| property(schema, name))
}

impl Key {
    /// The keys of a sort, each path once, and `_id` if it is not among them.
    pub(in crate::query) fn all<D: Model>(sort: Vec<KeysetSort<D>>) -> Vec<Key> {
        let mut keys: Vec<Key> = Vec::new();
        let is_known = |keys: &[Key], path: &str| keys.iter().any(|key| key.path == path);
        for key in sort {
            if !is_known(&keys, key.path()) {
                keys.push(Key {
                    path: key.path().to_owned(),
                    is_descending: key.is_descending(),
                    is_nullable: key.is_nullable() || can_be_missing::<D>(key.path()),
                });
            }
        }
        if !is_known(&keys, "_id") {
            keys.push(Key {
                path: "_id".to_owned(),
                is_descending: false,
                is_nullable: false,
            });
        }
        keys
    }

    /// Whether the value can be that of the key in a token. The comparison operators of the server
    /// do not order arrays and regular expressions among other values.
    pub(in crate::query) fn accepts(&self, value: &Bson) -> bool {
        match value {
            Bson::Null => self.is_nullable,
            Bson::Array(_) | Bson::Undefined | Bson::RegularExpression(_) => false,
            _ => true,
        }
    }
}

/// The sort document, in the direction of the pages or against it.
pub(in crate::query) fn sort_of(keys: &[Key], direction: Direction) -> Document {
    let backward = direction == Direction::Backward;
    let direction = |key: &Key| if key.is_descending == backward { 1 } else { -1 };
    keys.iter()
        .map(|key| (key.path.clone(), Bson::Int32(direction(key))))
        .collect()
}

/// The tokens of one list of pages.
pub(in crate::query) struct Tokens<'a> {
    pub(in crate::query) keys: &'a [Key],
    /// `database.collection`.
    pub(in crate::query) namespace: String,
    pub(in crate::query) secret: Option<&'a TokenKey>,
}

impl Tokens<'_> {
    pub(in crate::query) fn print(&self, token: &Token) -> Result<String> {
        let mut document = doc! {
            "b": token.direction == Direction::Backward,
            "k": token.values.clone(),
        };
        let sort = sort_of(self.keys, Direction::Forward);
        let bytes = match self.secret {
            None => {
                document.insert("s", sort);
                encoded(&document)?
            }
            Some(key) => {
                let (sort, content) = (encoded(&sort)?, encoded(&document)?);
                key.seal(&[self.namespace.as_bytes(), &sort], content)
            }
        };
        let text = BASE64.encode(bytes);
        if text.len() > MAX_TOKEN {
            return Err(Error::argument(
                "the sort keys of a document are too long for a page token of 64 KiB; sort by shorter values",
            ));
        }
        Ok(text)
    }

    pub(in crate::query) fn parse(&self, text: &str) -> Result<Token> {
        if text.len() > MAX_TOKEN {
            return Err(Error::InvalidPageToken);
        }
        let bytes = BASE64.decode(text).map_err(|_| Error::InvalidPageToken)?;
        let sort = sort_of(self.keys, Direction::Forward);
        let mut document = match self.secret {
            None => {
                let document = decoded(&bytes)?;
                // Documents with their fields in another order are equal.
                if !document.get_document("s").is_ok_and(|s| s.iter().eq(&sort)) {
                    return Err(Error::InvalidPageToken);
                }
                document
            }
            Some(key) => {
                let bound = encoded(&sort)?;
                let content = key.open(&[self.namespace.as_bytes(), &bound], &bytes);
                decoded(&content.ok_or(Error::InvalidPageToken)?)?
            }
        };
        let is_acceptable = |values: &[Bson]| {
            values.len() == self.keys.len()
                && self
                    .keys
                    .iter()
                    .zip(values)
                    .all(|(key, value)| key.accepts(value))
        };
        match (document.get_bool("b"), document.remove("k")) {
            (Ok(backward), Some(Bson::Array(values))) if is_acceptable(&values) => {
                let direction = if backward {
                    Direction::Backward
                } else {
                    Direction::Forward
                };
                Ok(Token { direction, values })
            }
            _ => Err(Error::InvalidPageToken),
        }
    }
}

fn encoded(document: &Document) -> Result<Vec<u8>> {
    to_vec(document).map_err(|e| Error::encode(e.path(), e.clone().into()))
}

fn decoded(bytes: &[u8]) -> Result<Document> {
    from_slice_owned(bytes).map_err(|_| Error::InvalidPageToken)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(path: &str, is_descending: bool) -> Key {
        Key {
            path: path.to_owned(),
            is_descending,
            is_nullable: path == "note",
        }
    }

    fn tokens<'a>(keys: &'a [Key], secret: Option<&'a TokenKey>) -> Tokens<'a> {
        Tokens {
            keys,
            namespace: "shop.orders".to_owned(),
            secret,
        }
    }

    fn is_refused(tokens: &Tokens<'_>, text: &str) -> bool {
        matches!(tokens.parse(text), Err(Error::InvalidPageToken))
    }

    #[test]
    fn tokens_round_trip_and_others_are_rejected() {
        let keys = [key("at", true), key("_id", false)];
        let secret = TokenKey::new([1; 32]);
        for secret in [None, Some(&secret)] {
            let tokens = tokens(&keys, secret);
            let token = Token {
                direction: Direction::Backward,
                values: vec![Bson::Int64(3), "ä?".into()],
            };
            let text = tokens.print(&token).unwrap();
            assert!(
                text.bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'),
                "{text}"
            );
            assert_eq!(tokens.parse(&text).unwrap(), token);
            for bad in [
                "",
                "x",
                "%%%%",
                &text[1..],
                &text[..text.len() - 3],
                &"A".repeat(MAX_TOKEN + 1),
            ] {
                assert!(is_refused(&tokens, bad), "{bad}");
            }
            for other in [
                [key("at", false), key("_id", false)],
                [key("_id", false), key("at", true)],
            ] {
                assert!(is_refused(
                    &Tokens {
                        keys: &other,
                        namespace: tokens.namespace.clone(),
                        ..tokens
                    },
                    &text
                ));
            }
            let long = Token {
                direction: Direction::Forward,
                values: vec!["x".repeat(MAX_TOKEN).into(), 1.into()],
            };
            assert!(matches!(tokens.print(&long), Err(Error::InvalidArgument { .. })));
        }
    }

    #[test]
    fn values_that_the_server_does_not_order_are_rejected() {
        let regex = crate::base::bson::Regex {
            pattern: "a".try_into().unwrap(),
            options: "".try_into().unwrap(),
        };
        let keys = [key("note", false), key("at", false), key("_id", false)];
        let tokens = tokens(&keys, None);
        let forged = |values: [Bson; 3]| {
            let token = Token {
                direction: Direction::Forward,
                values: values.to_vec(),
            };
            tokens.parse(&tokens.print(&token).unwrap())
        };
        for value in [Bson::RegularExpression(regex), Bson::Array(Vec::new())] {
            assert!(forged([value.clone(), 1.into(), 1.into()]).is_err(), "{value}");
            assert!(forged([1.into(), value.clone(), 1.into()]).is_err(), "{value}");
        }
        assert!(forged([Bson::Null, 1.into(), 1.into()]).is_ok());
        assert!(forged([1.into(), Bson::Null, 1.into()]).is_err());
        assert!(forged([1.into(), 1.into(), Bson::Null]).is_err());
    }
}
