//! The steps of one encryption, decryption or creation of a key: what is needed next, until the result is ready
//! ([Client Side Encryption], "Integrating with libmongocrypt").
//!
//! [Client Side Encryption]:
//! https://github.com/mongodb/specifications/blob/master/source/client-side-encryption/client-side-encryption.md

use marula_mongocrypt::{
    Context, Error as CryptError, ErrorKind as CryptErrorKind, KmsContext, State, Zeroizing,
};

use crate::{
    Error, ErrorKind, Result,
    bson::{RawDocument, RawDocumentBuf},
    error::EncryptionError,
};

/// What [`EncryptionMachine`] needs next. Without `Debug`: a command is plaintext.
pub(crate) enum Step {
    /// The result of `listCollections` with a filter. The database is that of the command if it is `None`.
    CollectionInfo {
        database: Option<String>,
        filter: RawDocumentBuf,
    },
    /// The reply of mongocryptd to a command.
    Markings(RawDocumentBuf),
    /// The documents of the key vault that match a filter.
    Keys(RawDocumentBuf),
    /// Replies of key management services.
    Requests,
    /// Credentials of key management services.
    Credentials,
    /// Nothing: the result can be computed.
    Result,
    /// Nothing: there is no result, because no key matches the filter of a rewrap.
    End,
}

/// One encryption, decryption or creation of a key.
#[derive(Debug)]
pub(crate) struct EncryptionMachine {
    context: Context,
    /// Why the credentials of a provider are missing. libmongocrypt does not know it.
    missing: Option<Error>,
}

impl From<Context> for EncryptionMachine {
    fn from(context: Context) -> Self {
        Self {
            context,
            missing: None,
        }
    }
}

impl EncryptionMachine {
    /// What is needed next.
    ///
    /// # Errors
    /// The operation has failed.
    pub(crate) fn step(&mut self) -> Result<Step> {
        let step = self.next_step();
        self.explained(step)
    }

    fn next_step(&mut self) -> Result<Step> {
        Ok(match self.context.state()? {
            State::NeedCollectionInfo => Step::CollectionInfo {
                database: self.context.database()?,
                filter: self.operation()?,
            },
            State::NeedMarkings => Step::Markings(self.operation()?),
            State::NeedKeys => Step::Keys(self.operation()?),
            State::NeedKms => Step::Requests,
            State::NeedKmsCredentials => Step::Credentials,
            State::Ready => Step::Result,
            State::Done => Step::End,
        })
    }

    /// Notes why the credentials of a provider are missing: the error, if libmongocrypt rejects what follows.
    pub(crate) fn note_missing(&mut self, missing: Option<Error>) {
        self.missing = missing;
    }

    fn explained<T>(&mut self, result: Result<T>) -> Result<T> {
        result.map_err(|error| match error.kind() {
            ErrorKind::Encryption(EncryptionError::Rejected { .. }) => self.missing.take().unwrap_or(error),
            _ => error,
        })
    }

    fn operation(&mut self) -> Result<RawDocumentBuf> {
        document(&self.context.operation()?)
    }

    /// Adds a document of the reply that the step asks for.
    ///
    /// # Errors
    /// The document is invalid. `malformed` is the error of a reply that is not well-formed.
    pub(crate) fn feed(
        &mut self,
        document: &RawDocument,
        malformed: impl FnOnce(Error) -> EncryptionError,
    ) -> Result<()> {
        match self.context.feed(document.as_bytes()) {
            Err(error) if error.kind == CryptErrorKind::Malformed => Err(malformed(of_reply(error)).into()),
            fed => self.explained(fed.map_err(Error::from)),
        }
    }

    /// Ends the reply.
    ///
    /// # Errors
    /// The documents are not sufficient, e.g. a key does not exist.
    pub(crate) fn fed(&mut self) -> Result<()> {
        let done = self.context.done();
        self.explained(done.map_err(Error::from))
    }

    /// The next request to a key management service, also one that is to be repeated. `None` after the last.
    pub(crate) fn next_request(&mut self) -> Option<KmsContext<'_>> {
        self.context.next_kms()
    }

    /// Ends the requests.
    ///
    /// # Errors
    /// A reply is missing or invalid.
    pub(crate) fn requests_done(&mut self) -> Result<()> {
        let done = self.context.kms_done();
        self.explained(done.map_err(Error::from))
    }

    /// Sets the credentials that were asked for.
    ///
    /// # Errors
    /// Some are missing or invalid.
    pub(crate) fn provide_credentials(&mut self, providers: &[u8]) -> Result<()> {
        let provided = self.context.provide_kms_providers(providers);
        self.explained(provided.map_err(Error::from))
    }

    /// Computes the result, a document. May take milliseconds.
    ///
    /// # Errors
    /// A value cannot be encrypted or decrypted.
    pub(crate) fn result(&mut self) -> Result<Zeroizing<Vec<u8>>> {
        let result = self.context.finalize();
        self.explained(result.map_err(Error::from))
    }
}

/// The error of a reply.
pub(crate) fn of_reply(error: CryptError) -> Error {
    match error.kind {
        CryptErrorKind::Malformed => Error::invalid_reply(error.message),
        _ => error.into(),
    }
}

fn document(bytes: &[u8]) -> Result<RawDocumentBuf> {
    RawDocumentBuf::from_bytes(bytes.to_vec()).map_err(|error| {
        crate::error::EncryptionError::Rejected {
            message: format!("libmongocrypt returned a malformed document: {error}"),
            code: 0,
        }
        .into()
    })
}
