//! Page tokens: the sort keys of the first or last document of a page, in base64url.

use base64::engine::{Engine as _, general_purpose::URL_SAFE_NO_PAD as BASE64};

use crate::base::{
    bson::{Bson, Document, doc, from_slice_owned, to_vec},
    error::{Error, Result},
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
    /// The values of the sort keys, in the order of the keys.
    pub(in crate::query) values: Vec<Bson>,
}

pub(in crate::query) fn print(token: &Token, keys: &Document) -> Result<String> {
    let document = doc! {
        "s": keys.clone(),
        "b": token.direction == Direction::Backward,
        "k": token.values.clone(),
    };
    let bytes = to_vec(&document).map_err(|e| Error::encode(e.path(), e.clone().into()))?;
    let text = BASE64.encode(bytes);
    if text.len() > MAX_TOKEN {
        return Err(Error::argument(
            "the sort keys of a document are too long for a page token of 64 KiB; sort by shorter values",
        ));
    }
    Ok(text)
}

pub(in crate::query) fn parse(text: &str, keys: &Document) -> Result<Token> {
    if text.len() > MAX_TOKEN {
        return Err(Error::InvalidPageToken);
    }
    let bytes = BASE64.decode(text).map_err(|_| Error::InvalidPageToken)?;
    let mut document: Document = from_slice_owned(&bytes).map_err(|_| Error::InvalidPageToken)?;
    // Documents with their fields in another order are equal.
    let same_sort = document.get_document("s").is_ok_and(|s| s.iter().eq(keys));
    let (backward, values) = (document.get_bool("b"), document.remove("k"));
    match (backward, values) {
        (Ok(backward), Some(Bson::Array(values)))
            if same_sort && values.len() == keys.len() && values.iter().all(can_be_key) =>
        {
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

/// Whether the value can be a sort key in a token. The comparison operators of the server do not
/// order null, arrays and regular expressions among other values.
pub(in crate::query) fn can_be_key(value: &Bson) -> bool {
    !matches!(
        value,
        Bson::Null | Bson::Array(_) | Bson::Undefined | Bson::RegularExpression(_)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_round_trip_and_others_are_rejected() {
        let keys = doc! { "at": -1, "_id": 1 };
        let token = Token {
            direction: Direction::Backward,
            values: vec![Bson::Int64(3), "ä?".into()],
        };
        let text = print(&token, &keys).unwrap();
        assert!(
            text.bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'),
            "{text}"
        );
        assert_eq!(parse(&text, &keys).unwrap(), token);
        for bad in [
            "",
            "x",
            "%%%%",
            &text[1..],
            &text[..text.len() - 3],
            &"A".repeat(MAX_TOKEN + 1),
        ] {
            assert!(matches!(parse(bad, &keys), Err(Error::InvalidPageToken)), "{bad}");
        }
        assert!(parse(&text, &doc! { "at": 1, "_id": 1 }).is_err());
        assert!(parse(&text, &doc! { "_id": 1, "at": -1 }).is_err());
        let long = Token {
            direction: Direction::Forward,
            values: vec!["x".repeat(MAX_TOKEN).into(), 1.into()],
        };
        assert!(matches!(print(&long, &keys), Err(Error::InvalidArgument { .. })));
        // Values that the server does not compare.
        let regex = crate::base::bson::Regex {
            pattern: "a".try_into().unwrap(),
            options: "".try_into().unwrap(),
        };
        for value in [
            Bson::RegularExpression(regex),
            Bson::Null,
            Bson::Array(Vec::new()),
        ] {
            let forged = Token {
                direction: Direction::Forward,
                values: vec![value, 1.into()],
            };
            let text = print(&forged, &keys).unwrap();
            assert!(matches!(parse(&text, &keys), Err(Error::InvalidPageToken)));
        }
    }
}
