//! Resume tokens: positions in the oplog, encoded as text with the same order.

use crate::error::{Error, Result, code};
use bson::{Bson, Document, Timestamp, doc};

/// The position of a token among the events of its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Position {
    /// Before all events.
    Before,
    /// After the event.
    Event,
    /// After the invalidate event that follows the event.
    Invalidate,
    /// After all events; there need not be any.
    HighWater,
}

/// A resume token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Token {
    pub(crate) time: Timestamp,
    pub(crate) position: Position,
    /// The number of a fragment of the event, from 1. 0 for a whole event.
    pub(crate) fragment: i32,
}

impl Token {
    /// The token of a position among the events of a time.
    pub(crate) fn new(time: Timestamp, position: Position) -> Token {
        Token {
            time,
            position,
            fragment: 0,
        }
    }

    /// The token after a fragment of the event.
    pub(crate) fn of_fragment(self, fragment: i32) -> Token {
        Token { fragment, ..self }
    }

    /// The token as `_id` of an event.
    pub(crate) fn to_document(self) -> Document {
        let position = self.position as u8;
        let mut text = format!("{:08X}{:08X}{position:02X}", self.time.time, self.time.increment);
        if self.fragment > 0 {
            text += &format!("{:08X}", self.fragment);
        }
        doc! { "_data": text }
    }

    /// Parses the document that [`Token::to_document`] returns.
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
        if ![18, 26].contains(&text.len()) || !text.is_ascii() {
            return Err(invalid("its length"));
        }
        let number = |range: std::ops::Range<usize>| {
            u32::from_str_radix(&text[range], 16).map_err(|_| invalid("not hexadecimal"))
        };
        let position = match number(16..18)? {
            0 => Position::Before,
            1 => Position::Event,
            2 => Position::Invalidate,
            3 => Position::HighWater,
            _ => return Err(invalid("its kind")),
        };
        let fragment = match text.len() {
            26 => i32::try_from(number(18..26)?).map_err(|_| invalid("its fragment"))?,
            _ => 0,
        };
        Ok(Token {
            time: Timestamp {
                time: number(0..8)?,
                increment: number(8..16)?,
            },
            position,
            fragment,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_round_trip_and_sort() {
        let token =
            |increment: u32, position: Position| Token::new(Timestamp { time: 7, increment }, position);
        let tokens = [
            token(1, Position::Event),
            token(1, Position::Event).of_fragment(1),
            token(1, Position::Event).of_fragment(2),
            token(1, Position::HighWater),
            token(2, Position::Event),
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
