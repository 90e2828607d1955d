//! The names of commands that contain secrets, and of the hello command.

/// Commands whose events have no content (Command Logging and Monitoring, "Security") and that are
/// not compressed (OP_COMPRESSED, "Messages not allowed to be compressed").
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

/// Whether a command with this name contains secrets. The comparison ignores case: a server rejects
/// other spellings, but the command still contains the secret.
pub fn is_sensitive(name: &[u8]) -> bool {
    SENSITIVE.iter().any(|command| command.eq_ignore_ascii_case(name))
}

/// Whether this is the name of the hello command. It is sensitive only if it contains
/// `speculativeAuthenticate`; it is never compressed.
pub fn is_hello(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"hello") || name.eq_ignore_ascii_case(b"isMaster")
}
