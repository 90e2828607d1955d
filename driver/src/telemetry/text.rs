//! Documents as text of limited length (Logging, "Truncation of large documents").

use std::fmt::{self, Write};

use crate::{
    bson::{ExtendedJson, RawDocument},
    types::text::truncate,
};

const ELLIPSIS: &str = "...";

/// A string of limited length.
struct Limited {
    text: String,
    left: usize,
}

impl Write for Limited {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let fits = truncate(more, self.left);
        self.text.push_str(fits);
        self.left -= fits.len();
        if fits.len() < more.len() {
            // Later text must not be appended after a character that did not fit.
            self.left = 0;
            return Err(fmt::Error);
        }
        Ok(())
    }
}

/// A document as relaxed Extended JSON, truncated after `limit` bytes at a character boundary. The
/// truncated part is not serialized.
pub(super) fn document(document: &RawDocument, limit: usize) -> String {
    let mut limited = Limited {
        text: String::new(),
        left: limit,
    };
    if write!(limited, "{}", ExtendedJson::relaxed(document)).is_err() {
        limited.text.push_str(ELLIPSIS);
    }
    limited.text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bson::rawdoc;

    #[test]
    fn documents_are_truncated_at_character_boundaries() {
        // {"a": "é€😀"}: the characters are at the bytes 7 to 8, 9 to 11, 12 to 15.
        let wide = rawdoc! { "a": "é€😀" };
        let whole = "{\"a\": \"é€😀\"}";
        assert_eq!(document(&wide, 18), whole);
        assert_eq!(document(&wide, 1000), whole);
        for (limit, kept) in [
            (17, "{\"a\": \"é€😀\""),
            (16, "{\"a\": \"é€😀"),
            (15, "{\"a\": \"é€"),
            (13, "{\"a\": \"é€"),
            (12, "{\"a\": \"é€"),
            (11, "{\"a\": \"é"),
            (9, "{\"a\": \"é"),
            (8, "{\"a\": \""),
            (1, "{"),
            (0, ""),
        ] {
            assert_eq!(document(&wide, limit), format!("{kept}..."), "{limit}");
        }
    }
}
