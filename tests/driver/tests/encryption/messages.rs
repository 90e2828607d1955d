//! Log messages of libmongocrypt.

use marula_driver_tests::Messages;
use tracing::Level;

use super::automatic::Automatic;

/// The library `crypt_shared` is looked for, and not found.
pub(crate) async fn messages_of_libmongocrypt_are_logged() {
    let automatic = Automatic::new().await;
    let (messages, _guard) = Messages::listen(Level::TRACE);
    let (_client, _sent) = automatic.client("");
    let mut found = messages.take();
    found.retain(|message| message.target == "marula_driver::encryption");
    assert!(!found.is_empty());
    for message in found {
        let text = message.fields.get_str("message").expect("a text");
        assert!(text.starts_with("libmongocrypt: "), "{text}");
    }
}
