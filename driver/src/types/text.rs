//! Truncation of strings.

/// The longest prefix of `text` that has at most `limit` bytes and ends at a character boundary.
pub(crate) fn truncate(text: &str, limit: usize) -> &str {
    // `str::floor_char_boundary` needs Rust 1.91. A character has at most four bytes.
    let limit = limit.min(text.len());
    (limit.saturating_sub(3)..=limit)
        .rev()
        .find_map(|end| text.get(..end))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_not_split() {
        let text = "aé€😀";
        let lengths: Vec<usize> = (0..12).map(|limit| truncate(text, limit).len()).collect();
        assert_eq!(lengths, [0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10]);
    }
}
