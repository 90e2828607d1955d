//! Patterns of host names to which secrets may be sent.

/// Whether a host matches a pattern: its name, or `*.` and a domain that it is below.
pub(crate) fn matches(host: &str, patterns: &[String]) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    // Paths of sockets and addresses with a zone are below no domain, however they end.
    let is_name = host
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    patterns.iter().any(|pattern| {
        let pattern = pattern.to_ascii_lowercase();
        match pattern.strip_prefix('*') {
            Some(domain) if domain.starts_with('.') => {
                is_name && host.len() > domain.len() && host.ends_with(domain)
            }
            _ => host == pattern,
        }
    })
}
