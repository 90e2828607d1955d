//! The keys that passwords were turned into, kept for the next connection.

use std::{collections::VecDeque, fmt, sync::Arc};

use tokio::sync::Semaphore;

use crate::{
    error::AuthenticationFailure,
    proto::auth::{SaltedKeys, ScramParameters},
    types::lock::{Inner, InnerGuard},
};

/// The maximum number of keys kept. A client has one user, and a user has one salt per hash until
/// its password changes. Servers that do not know the user return other salts.
const CAPACITY: usize = 8;

/// The maximum number of computations at the same time. A computation continues after its
/// connection is dropped, so that servers with high iteration counts could accumulate them.
const AT_ONCE: usize = 4;

/// The newest keys of a client. Making them takes milliseconds of a processor, on purpose.
pub(super) struct KeyCache {
    kept: Inner<VecDeque<(ScramParameters, SaltedKeys)>>,
    places: Arc<Semaphore>,
}

impl Default for KeyCache {
    fn default() -> Self {
        Self {
            kept: Inner::default(),
            places: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }
}

impl KeyCache {
    /// The keys for the parameters. If they are not cached, they are computed on a thread for
    /// blocking tasks. Two connections that need the same keys at the same time both compute them.
    pub(super) async fn get(&self, parameters: ScramParameters) -> Result<SaltedKeys, AuthenticationFailure> {
        if let Some(keys) = self.find(&parameters) {
            return Ok(keys);
        }
        let ending = || AuthenticationFailure::Unavailable("the runtime is ending".to_owned());
        let place = Arc::clone(&self.places).acquire_owned().await;
        let place = place.map_err(|_| ending())?;
        // Another connection may have made them meanwhile.
        if let Some(keys) = self.find(&parameters) {
            return Ok(keys);
        }
        let deriving = tokio::task::spawn_blocking(move || {
            let keys = parameters.derive();
            drop(place);
            (parameters, keys)
        });
        let (parameters, keys) = deriving.await.map_err(|_| ending())?;
        self.keep(parameters, keys.clone());
        Ok(keys)
    }

    fn lock(&self) -> InnerGuard<'_, VecDeque<(ScramParameters, SaltedKeys)>> {
        self.kept.lock()
    }

    fn find(&self, parameters: &ScramParameters) -> Option<SaltedKeys> {
        let kept = self.lock();
        let (_, keys) = kept.iter().find(|(known, _)| known == parameters)?;
        Some(keys.clone())
    }

    fn keep(&self, parameters: ScramParameters, keys: SaltedKeys) {
        let mut kept = self.lock();
        if kept.iter().any(|(known, _)| *known == parameters) {
            return;
        }
        kept.truncate(CAPACITY - 1);
        kept.push_front((parameters, keys));
    }
}

impl fmt::Debug for KeyCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyCache")
            .field("kept", &self.lock().len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        bson::{BinarySubtype, doc, to_vec},
        proto::auth::{Identity, Login, Mechanism, ScramHash, Step},
    };

    /// The SCRAM parameters of a server whose salt ends with this digit.
    fn parameters(digit: usize) -> ScramParameters {
        let mechanism = Mechanism::Scram(ScramHash::Sha256);
        let identity = Identity::new(Some(mechanism), "admin", Some("user"), Some("pencil"));
        let Step::Send(_, awaiting) = Login::new(identity, [0; 32]).begin(None) else {
            panic!("another step");
        };
        let text = format!("r={}x,s=AAA{digit},i=4096", "A".repeat(32));
        let payload = crate::bson::Binary {
            subtype: BinarySubtype::Generic,
            bytes: text.into_bytes(),
        };
        let reply = to_vec(&doc! { "conversationId": 1, "payload": payload, "done": false }).unwrap();
        match awaiting.handle_reply(&reply) {
            Ok(Step::Derive(parameters, _)) => parameters,
            Ok(_) => panic!("another step"),
            Err(error) => panic!("{error}"),
        }
    }

    #[tokio::test]
    async fn keys_are_cached_by_their_parameters_up_to_a_limit() {
        let cache = KeyCache::default();
        let first = cache.get(parameters(0)).await.unwrap();
        assert!(first == parameters(0).derive());
        assert!(cache.find(&parameters(0)).is_some() && cache.find(&parameters(1)).is_none());
        assert!(cache.get(parameters(0)).await.unwrap() == first);
        assert_eq!(cache.lock().len(), 1);
        for digit in 1..10 {
            assert!(cache.get(parameters(digit)).await.unwrap() != first);
        }
        assert_eq!(cache.lock().len(), CAPACITY);
        assert!(cache.find(&parameters(0)).is_none() && cache.find(&parameters(9)).is_some());
        assert!(!format!("{cache:?}").contains("pencil"));
    }
}
