//! The renaming rules of serde's `rename_all`.

/// A rule of serde.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Rule {
    /// No `rename_all`.
    #[default]
    None,
    Lower,
    Upper,
    Pascal,
    Camel,
    Snake,
    ScreamingSnake,
    Kebab,
    ScreamingKebab,
}

const RULES: [(&str, Rule); 8] = [
    ("lowercase", Rule::Lower),
    ("UPPERCASE", Rule::Upper),
    ("PascalCase", Rule::Pascal),
    ("camelCase", Rule::Camel),
    ("snake_case", Rule::Snake),
    ("SCREAMING_SNAKE_CASE", Rule::ScreamingSnake),
    ("kebab-case", Rule::Kebab),
    ("SCREAMING-KEBAB-CASE", Rule::ScreamingKebab),
];

impl Rule {
    /// The rule of this name.
    pub(crate) fn parse(name: &str) -> Option<Rule> {
        let found = RULES.iter().find(|(known, _)| *known == name);
        found.map(|(_, rule)| *rule)
    }

    /// The names of all rules.
    pub(crate) fn names() -> String {
        let names = RULES.iter().map(|(name, _)| format!("`{name}`"));
        names.collect::<Vec<_>>().join(", ")
    }

    /// The stored name of a field, whose Rust name is in snake case.
    pub(crate) fn field(self, name: &str) -> String {
        match self {
            Rule::None | Rule::Lower | Rule::Snake => name.to_owned(),
            Rule::Upper | Rule::ScreamingSnake => name.to_ascii_uppercase(),
            Rule::Pascal => pascal(name),
            Rule::Camel => lower_first(&pascal(name)),
            Rule::Kebab => name.replace('_', "-"),
            Rule::ScreamingKebab => name.to_ascii_uppercase().replace('_', "-"),
        }
    }

    /// The stored name of a variant, whose Rust name is in Pascal case.
    pub(crate) fn variant(self, name: &str) -> String {
        match self {
            Rule::None | Rule::Pascal => name.to_owned(),
            Rule::Lower => name.to_ascii_lowercase(),
            Rule::Upper => name.to_ascii_uppercase(),
            Rule::Camel => lower_first(name),
            Rule::Snake => snake(name),
            Rule::ScreamingSnake => snake(name).to_ascii_uppercase(),
            Rule::Kebab => snake(name).replace('_', "-"),
            Rule::ScreamingKebab => snake(name).to_ascii_uppercase().replace('_', "-"),
        }
    }
}

/// Converts `customer_id` to `CustomerId`.
fn pascal(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut capital = true;
    for c in name.chars() {
        if c == '_' {
            capital = true;
        } else if capital {
            out.push(c.to_ascii_uppercase());
            capital = false;
        } else {
            out.push(c);
        }
    }
    out
}

/// The name of the accessor of a variant: `customer_id` for `CustomerId`, `url` for `URL`, `http_server` for `HTTPServer`, `ipv4` for
/// `IPv4`.
pub(crate) fn accessor(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let is_lower = |i: usize| chars.get(i).is_some_and(|c| c.is_lowercase());
    // The `v` of a version is not the begin of a word.
    let is_version =
        |i: usize| chars.get(i) == Some(&'v') && chars.get(i + 1).is_some_and(char::is_ascii_digit);
    let mut out = String::with_capacity(name.len() + 4);
    for (i, c) in chars.iter().enumerate() {
        let is_begin = c.is_uppercase() && i > 0;
        let ends_word = i > 0 && (!chars[i - 1].is_uppercase() || (is_lower(i + 1) && !is_version(i + 1)));
        if is_begin && ends_word && !out.ends_with('_') {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    out
}

/// Converts `CustomerId` to `customer_id`, as serde does.
pub(crate) fn snake(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for (i, c) in name.char_indices() {
        if i > 0 && c.is_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

fn lower_first(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map_or_else(String::new, |c| {
        c.to_ascii_lowercase().to_string() + chars.as_str()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abbreviations_are_one_word_of_an_accessor() {
        let names = [
            ("CustomerId", "customer_id"),
            ("URL", "url"),
            ("HTTPServer", "http_server"),
            ("IPv4", "ipv4"),
            ("IPv4Address", "ipv4_address"),
            ("XAxis", "x_axis"),
            ("UserID", "user_id"),
            ("V2", "v2"),
            ("A", "a"),
            ("Sha256Sum", "sha256_sum"),
            ("snake_Case", "snake_case"),
        ];
        for (variant, expected) in names {
            assert_eq!(accessor(variant), expected);
        }
    }

    #[test]
    fn fields_and_variants_follow_every_rule() {
        let fields = [
            "customer_id",
            "CUSTOMER_ID",
            "CustomerId",
            "customerId",
            "customer_id",
            "CUSTOMER_ID",
        ];
        let variants = [
            "inreview",
            "INREVIEW",
            "InReview",
            "inReview",
            "in_review",
            "IN_REVIEW",
        ];
        for (i, (_, rule)) in RULES.iter().take(6).enumerate() {
            assert_eq!(rule.field("customer_id"), fields[i]);
            assert_eq!(rule.variant("InReview"), variants[i]);
        }
        assert_eq!(Rule::Kebab.field("customer_id"), "customer-id");
        assert_eq!(Rule::ScreamingKebab.variant("InReview"), "IN-REVIEW");
        assert_eq!(Rule::parse("nothing"), None);
    }
}
