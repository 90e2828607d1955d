//! Performs what the steps of an encryption need: reads of the key vault, requests to key management services, credentials.

use std::{fmt, sync::Arc, time::Duration};

use marula_mongocrypt::{Crypt, CryptOptions, Library, Zeroizing};
use tokio::{
    runtime::Handle,
    task::{spawn_blocking, yield_now},
};

use super::credentials::OnDemandCredentials;
use crate::{
    Client, Collection, Error, ErrorKind, Result,
    api::Environment,
    bson::{RawDocument, RawDocumentBuf},
    connection::{KmsTransport, MetadataServices},
    error::EncryptionError,
    options::encryption::EncryptionSettings,
    proto::encryption::{EncryptionMachine, Step},
    telemetry::log_mongocrypt,
    types::{
        concern::{ReadConcern, WriteConcern},
        timeout::Timeout,
    },
};

/// Results of this size or more are computed on a thread for blocking work, in bytes.
const LARGE: usize = 16 * 1024;
/// After this number of keys, other tasks run.
const KEYS_AT_ONCE: usize = 32;

/// libmongocrypt with its caches, and what it needs of the outside.
pub(crate) struct Engine {
    crypt: Crypt,
    key_vault: Collection<RawDocumentBuf>,
    transport: KmsTransport,
    credentials: OnDemandCredentials,
    /// The names of the providers.
    providers: Vec<String>,
}

/// How much work the result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// That of one value.
    Small,
    /// Many derivations of keys, or a large document.
    Large,
}

impl Work {
    pub(super) fn of_size(bytes: usize) -> Self {
        if bytes < LARGE { Self::Small } else { Self::Large }
    }
}

impl Engine {
    /// Loads libmongocrypt and configures it. `complete` adds the options of automatic encryption.
    ///
    /// # Errors
    /// An option is invalid, or libmongocrypt cannot be used.
    pub(super) fn new(
        key_vault_client: &Client,
        settings: &EncryptionSettings,
        environment: &Environment,
        services: MetadataServices,
        complete: impl FnOnce(&mut CryptOptions),
    ) -> Result<Self> {
        settings.validate()?;
        let namespace = settings.key_vault()?;
        let transport = KmsTransport::new(settings, environment.dialer(), environment.dns())?;
        let library = Library::load(settings.library.as_deref())?;
        let mut options = CryptOptions {
            kms_providers: settings.providers.document()?,
            key_expiration: settings.key_expiration,
            log_handler: Some(log_mongocrypt),
            ..CryptOptions::default()
        };
        complete(&mut options);
        Ok(Self {
            crypt: Crypt::new(library, &options)?,
            // "Key Vault collection"
            key_vault: key_vault_client
                .database(&namespace.database)
                .collection(&namespace.collection)
                .with_read_concern(ReadConcern::majority())
                .with_write_concern(WriteConcern::majority())
                .outside_transactions(),
            transport,
            credentials: OnDemandCredentials::new(settings, environment.clone(), services),
            providers: settings.providers.names(),
        })
    }

    /// Permits requests to the endpoints of a master key that the application has given.
    pub(super) fn permit(&self, provider: &str, master_key: Option<&RawDocument>) {
        if let Some(master_key) = master_key {
            self.transport.permit(provider, master_key);
        }
    }

    /// Checks that a provider can encrypt data keys. libmongocrypt does not name what is missing.
    ///
    /// # Errors
    /// It is not one of the options, or requires a master key.
    pub(super) fn check_provider(&self, provider: &str, has_master_key: bool) -> Result<()> {
        if !self.providers.iter().any(|name| name == provider) {
            return Err(Error::invalid_argument(format!(
                "the KMS provider {provider:?} is not one of the options, which have: {}",
                self.providers.join(", ")
            )));
        }
        let kind = provider.split(':').next().unwrap_or_default();
        if matches!(kind, "aws" | "azure" | "gcp") && !has_master_key {
            return Err(Error::invalid_argument(format!(
                "the KMS provider {provider:?} requires a master key"
            )));
        }
        Ok(())
    }

    pub(super) fn crypt(&self) -> &Crypt {
        &self.crypt
    }

    pub(super) fn key_vault(&self) -> &Collection<RawDocumentBuf> {
        &self.key_vault
    }

    /// Applies a time limit to the operations on the key vault.
    pub(super) fn set_timeout(&mut self, timeout: Duration) {
        self.key_vault = self.key_vault.with_timeout(timeout);
    }

    /// Starts the time limit of an operation.
    pub(super) fn start_timeout(&self, own: Option<Duration>) -> Result<Timeout> {
        self.key_vault.inner().start_timeout("encryption", own, None)
    }

    /// Runs the steps to the result, an empty document if there is none. Dropping the future ends them; a computation that
    /// has begun on another thread ends later.
    ///
    /// # Errors
    /// Those of the steps; the step that failed is part of the error.
    pub(super) async fn run(
        &self,
        mut machine: EncryptionMachine,
        timeout: Timeout,
        work: Work,
    ) -> Result<Zeroizing<Vec<u8>>> {
        loop {
            match machine.step()? {
                Step::Result => return compute(machine, timeout, work).await,
                Step::End => return Ok(Zeroizing::new(vec![5, 0, 0, 0, 0])),
                step => self.perform(&mut machine, step, timeout).await?,
            }
        }
    }

    /// Performs a step that does not depend on the collections of a command.
    pub(super) async fn perform(
        &self,
        machine: &mut EncryptionMachine,
        step: Step,
        timeout: Timeout,
    ) -> Result<()> {
        // A time limit that a step met is that of the operation.
        self.perform_step(machine, step, timeout)
            .await
            .map_err(|error| timeout.report(error))
    }

    async fn perform_step(
        &self,
        machine: &mut EncryptionMachine,
        step: Step,
        timeout: Timeout,
    ) -> Result<()> {
        match step {
            Step::Keys(filter) => {
                self.feed_keys(machine, filter, timeout).await?;
                machine.fed().map_err(|error| self.with_key_vault(error))
            }
            Step::Requests => {
                while let Some(mut request) = machine.next_request() {
                    self.transport
                        .exchange(&mut request, timeout.deadline(None))
                        .await?;
                }
                machine.requests_done()
            }
            Step::Credentials => {
                let (credentials, missing) = self.credentials.obtain(timeout.deadline(None)).await?;
                // Client Side Operations Timeout, "Errors".
                if let Some(error) = missing.as_ref().filter(|_| timeout.has_expired()) {
                    return Err(error.clone().into_timeout());
                }
                machine.note_missing(missing);
                machine.provide_credentials(&credentials)
            }
            Step::CollectionInfo { .. } | Step::Markings(_) | Step::Result | Step::End => {
                Err(EncryptionError::Rejected {
                    message: "libmongocrypt asks for the schema of a collection for a single value"
                        .to_owned(),
                    code: 0,
                }
                .into())
            }
        }
    }

    /// Names the key vault in the error of a missing key.
    fn with_key_vault(&self, error: Error) -> Error {
        match error.kind() {
            ErrorKind::Encryption(EncryptionError::Rejected { message, code }) => EncryptionError::Rejected {
                message: format!("{message} (key vault: {})", self.key_vault.namespace()),
                code: *code,
            }
            .into(),
            _ => error,
        }
    }

    /// Reads the keys, each of which libmongocrypt checks before the next is read.
    async fn feed_keys(
        &self,
        machine: &mut EncryptionMachine,
        filter: RawDocumentBuf,
        timeout: Timeout,
    ) -> Result<()> {
        let time_left = |step| time_left(timeout, step).map_err(EncryptionError::KeyVault);
        let mut find = self.key_vault.find(filter);
        if let Some(left) = time_left("before the keys were read from the key vault")? {
            find = find.timeout(left);
        }
        let mut keys = find.await.map_err(EncryptionError::KeyVault)?;
        let mut fed = 0;
        while let Some(key) = keys.try_next().await.map_err(EncryptionError::KeyVault)? {
            machine.feed(&key, EncryptionError::KeyVault)?;
            fed += 1;
            // libmongocrypt compares each key with all that it needs.
            if fed % KEYS_AT_ONCE == 0 {
                time_left("while the keys were read from the key vault")?;
                yield_now().await;
            }
        }
        Ok(())
    }
}

/// Computes the result, on a thread for blocking work if it takes long.
pub(super) async fn compute(
    mut machine: EncryptionMachine,
    timeout: Timeout,
    work: Work,
) -> Result<Zeroizing<Vec<u8>>> {
    const STEP: &str = "while values were encrypted or decrypted";
    perform_work(work, timeout, STEP, move || machine.result()).await
}

/// Performs a computation, on a thread for blocking work if it takes long. One that has begun there ends also if the future is
/// dropped or the time limit expires. `step` is what the error of the time limit says.
///
/// # Errors
/// Those of the computation; the time limit has expired.
pub(super) async fn perform_work<T: Send + 'static>(
    work: Work,
    timeout: Timeout,
    step: &'static str,
    computation: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    if work == Work::Small || Handle::try_current().is_err() {
        return computation();
    }
    let computing = timeout.deadline(None).run(on_blocking_thread(computation));
    computing
        .await
        .unwrap_or_else(|_| Err(Error::timed_out_by(timeout.source(), step)))
}

/// Runs a computation on a thread for blocking work.
///
/// # Errors
/// Those of the computation; [`EncryptionError::Internal`] if it panics, and `Shutdown` if the runtime ends.
async fn on_blocking_thread<T: Send + 'static>(
    computation: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    match spawn_blocking(computation).await {
        Ok(result) => result,
        Err(error) if error.is_panic() => {
            Err(EncryptionError::Internal("a computation of libmongocrypt panicked".to_owned()).into())
        }
        Err(_) => Err(Error::new(ErrorKind::Shutdown)),
    }
}

/// The option `timeout` of a part of an operation: what is left of its time limit. `step` is what the error says, e.g.
/// "before the key was inserted".
///
/// # Errors
/// The time is over.
pub(super) fn time_left(timeout: Timeout, step: &'static str) -> Result<Option<Duration>> {
    if !timeout.is_set() {
        return Ok(None);
    }
    match timeout.remaining() {
        None => Ok(Some(Duration::ZERO)),
        Some(Duration::ZERO) => Err(Error::timed_out_by(timeout.source(), step)),
        left => Ok(left),
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("key_vault", self.key_vault.namespace())
            .finish_non_exhaustive()
    }
}

/// An engine that several values share.
pub(super) type SharedEngine = Arc<Engine>;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_of_a_computation_is_an_internal_error() {
        let error = on_blocking_thread(|| -> Result<()> { panic!("a panic") })
            .await
            .unwrap_err();
        let ErrorKind::Encryption(EncryptionError::Internal(message)) = error.kind() else {
            panic!("{error:?}");
        };
        assert!(message.contains("panicked"), "{message}");
        assert_eq!(on_blocking_thread(|| Ok(7)).await.unwrap(), 7);
    }

    #[test]
    fn the_error_of_an_expired_time_limit_names_the_step() {
        assert_eq!(time_left(Timeout::UNSET, "x").unwrap(), None);
        assert_eq!(time_left(Timeout::INFINITE, "x").unwrap(), Some(Duration::ZERO));
        let expired = Timeout::start(Some(Duration::from_nanos(1)));
        while !expired.has_expired() {
            std::hint::spin_loop();
        }
        let error = time_left(expired, "before the key was inserted").unwrap_err();
        assert!(
            error.to_string().contains("before the key was inserted"),
            "{error}"
        );
    }
}
