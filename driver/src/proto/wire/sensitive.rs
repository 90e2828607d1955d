//! Commands that hold secrets, and handshakes, by name.

/// Commands that events show without content (Command Logging and Monitoring specification, "Security") and that are not
/// compressed (Wire Compression specification, "Messages not allowed to be compressed").
const SENSITIVE: [&[u8]; 9] = [
    b"authenticate",
    b"saslStart",
    b"saslContinue",
    b"getnonce",
    b"createUser",
    b"updateUser",
    b"copydbgetnonce",
    b"copydbsaslstart",
    b"copydb",
];

/// Whether a command of this name holds secrets, in any spelling: a server rejects a misspelled one, which holds the same secret.
pub fn is_sensitive(name: &[u8]) -> bool {
    SENSITIVE.iter().any(|command| command.eq_ignore_ascii_case(name))
}

/// Whether this is the name of a handshake. It is sensitive only while it authenticates, and never compressed.
pub fn is_hello(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"hello") || name.eq_ignore_ascii_case(b"isMaster")
}
