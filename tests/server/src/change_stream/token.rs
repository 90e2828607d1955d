//! Resume tokens: a place in the oplog, written as text that sorts as the places do.

use crate::error::{Error, Result, code};
use bson::{Bson, Document, Timestamp, doc};

/// What a token stands behind, among all that has the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// Before everything.
    Before,
    /// The event itself.
    Event,
    /// The invalidation that follows from it.
    Invalidate,
    /// Everything: no event need exist at this time.
    HighWater,
}

/// A resume token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Token {
    pub(crate) time: Timestamp,
    pub(crate) place: Place,
}

impl Token {
    /// The `_id` of an event.
    pub(crate) fn to_document(self) -> Document {
        let place = self.place as u8;
        doc! { "_data": format!("{:08X}{:08X}{place:02X}", self.time.time, self.time.increment) }
    }

    /// Reads what [`Token::to_document`] wrote.
    pub(crate) fn parse(document: &Document) -> Result<Token> {
        let invalid = |what: &str| {
            Error::new(
                code::INVALID_RESUME_TOKEN,
                format!("The resume token is invalid: {what}"),
            )
        };
        let Some(Bson::String(text)) = document.get("_data") else {
            return Err(Error::new(
                40647,
                "Bad resume token: _data of missing or of wrong type",
            ));
        };
        if text.len() != 18 || !text.is_ascii() {
            return Err(invalid("its length"));
        }
        let number = |range: std::ops::Range<usize>| {
            u32::from_str_radix(&text[range], 16).map_err(|_| invalid("not hexadecimal"))
        };
        let place = match number(16..18)? {
            0 => Place::Before,
            1 => Place::Event,
            2 => Place::Invalidate,
            3 => Place::HighWater,
            _ => return Err(invalid("its kind")),
        };
        Ok(Token {
            time: Timestamp {
                time: number(0..8)?,
                increment: number(8..16)?,
            },
            place,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_round_trip_and_sort() {
        let token = |increment: u32, place: Place| Token {
            time: Timestamp { time: 7, increment },
            place,
        };
        let tokens = [
            token(1, Place::Event),
            token(1, Place::HighWater),
            token(2, Place::Event),
        ];
        let texts = tokens.map(|token| token.to_document().get_str("_data").unwrap().to_owned());
        assert!(texts.is_sorted());
        for token in tokens {
            assert_eq!(Token::parse(&token.to_document()).unwrap(), token);
        }
        assert_eq!(Token::parse(&doc! {"_data": "xyz"}).unwrap_err().code, 260);
        assert_eq!(Token::parse(&doc! {}).unwrap_err().code, 40647);
    }
}
