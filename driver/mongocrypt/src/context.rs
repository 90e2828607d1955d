//! [`Context`]: one encryption, decryption or creation of a key, which asks for its inputs one after another.

use std::{
    ffi::{CStr, c_char, c_int, c_uint},
    fmt,
    ptr::NonNull,
    sync::Arc,
};

use zeroize::Zeroizing;

use crate::{
    binary::Binary,
    crypt::{Crypt, Handle},
    error::Error,
    functions::{Functions, RawBinary, RawContext},
    kms::KmsContext,
    status::error_of,
    text::Text,
    wrapper,
};

/// What a [`Context`] needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The result of `listCollections` on the database [`database`](Context::database), or on that of the command if it is
    /// `None`, with the filter [`operation`](Context::operation).
    NeedCollectionInfo,
    /// The reply of mongocryptd to the command [`operation`](Context::operation).
    NeedMarkings,
    /// The documents of the key vault that match the filter [`operation`](Context::operation).
    NeedKeys,
    /// Replies of key management services; see [`next_kms`](Context::next_kms).
    NeedKms,
    /// Credentials for the providers that were configured with an empty document; see
    /// [`provide_kms_providers`](Context::provide_kms_providers).
    NeedKmsCredentials,
    /// Nothing: the result can be computed with [`finalize`](Context::finalize).
    Ready,
    /// Nothing: the context has ended.
    Done,
}

/// `MONGOCRYPT_CTX_NEED_MONGO_COLLINFO_WITH_DB`
const NEED_COLLECTION_INFO_WITH_DATABASE: c_uint = 8;

/// A new data key.
/// `Debug` does not print the key material.
#[derive(Clone, Copy, Default)]
pub struct DataKeyOptions<'a> {
    /// The key that encrypts it, with the field `provider` first. BSON.
    pub key_encryption_key: &'a [u8],
    /// Alternate names of the key.
    pub alt_names: &'a [String],
    /// The 96 bytes of the key. Default: random bytes.
    pub key_material: Option<&'a [u8; 96]>,
}

impl fmt::Debug for DataKeyOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DataKeyOptions")
            .field("alt_names", &self.alt_names)
            .field("has_key_material", &self.key_material.is_some())
            .finish_non_exhaustive()
    }
}

/// How a data key is identified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyReference<'a> {
    /// By `_id`, a UUID.
    Id(&'a [u8; 16]),
    /// By one of its alternate names.
    AltName(&'a str),
}

/// An explicit encryption.
#[derive(Clone, Copy, Debug)]
pub struct ExplicitOptions<'a> {
    /// The data key.
    pub key: KeyReference<'a>,
    /// The name of the algorithm.
    pub algorithm: &'a str,
    /// `contentionFactor`, for the algorithms that have it.
    pub contention_factor: Option<i64>,
    /// `queryType`, for a value in a query.
    pub query_type: Option<&'a str>,
    /// The options of the algorithm `Range`. BSON.
    pub range: Option<&'a [u8]>,
    /// The options of the algorithm `String`. BSON.
    pub text: Option<&'a [u8]>,
}

/// A context. It is used by one thread at a time.
pub struct Context {
    crypt: Arc<Handle>,
    pointer: NonNull<RawContext>,
}

// SAFETY: a context may be used by one thread at a time (mongocrypt.h), not only by the one that created it. It is not
// `Sync`. It shares the caches of its `Crypt`, which are thread safe.
unsafe impl Send for Context {}

type Setter = unsafe extern "C" fn(*mut RawContext, *mut RawBinary) -> bool;
type TextSetter = unsafe extern "C" fn(*mut RawContext, *const c_char, c_int) -> bool;

impl Crypt {
    /// Begins the creation of a data key. The result is the document for the key vault.
    ///
    /// # Errors
    /// An option is invalid.
    pub fn create_data_key(&self, options: &DataKeyOptions<'_>) -> Result<Context, Error> {
        let mut context = Context::new(self)?;
        let functions = context.functions();
        context.set(functions.ctx_key_encryption_key, options.key_encryption_key)?;
        for name in options.alt_names {
            context.set(functions.ctx_key_alt_name, &wrapper::text("keyAltName", name))?;
        }
        if let Some(material) = options.key_material {
            let document = wrapper::binary("keyMaterial", material);
            context.set(functions.ctx_key_material, &document)?;
        }
        // SAFETY: the context is alive and not initialized.
        let done = unsafe { (functions.ctx_datakey_init)(context.as_ptr()) };
        context.check(done)?;
        Ok(context)
    }

    /// Begins the encryption of all data keys that match a filter with another key, or with their own again. The result has
    /// the array `v` of key documents.
    ///
    /// # Errors
    /// The key is invalid.
    pub fn rewrap_data_keys(
        &self,
        filter: &[u8],
        key_encryption_key: Option<&[u8]>,
    ) -> Result<Context, Error> {
        let mut context = Context::new(self)?;
        let functions = context.functions();
        if let Some(key) = key_encryption_key {
            context.set(functions.ctx_key_encryption_key, key)?;
        }
        context.set(functions.ctx_rewrap_init, filter)?;
        Ok(context)
    }

    /// Begins the encryption of a command on this database. The result is the command to send.
    ///
    /// # Errors
    /// The command is not supported with automatic encryption, or is invalid. [`Malformed`](crate::ErrorKind::Malformed) if it is
    /// not well-formed.
    pub fn encrypt(&self, database: &str, command: &[u8]) -> Result<Context, Error> {
        let context = Context::new(self)?;
        let functions = context.functions();
        let database = Text::new(database)?;
        let command = Binary::document(functions, command)?;
        // SAFETY: the context is alive and not initialized; the arguments are alive during the call and are copied. A zero byte
        // follows the name, which the library reads too.
        let done = unsafe {
            (functions.ctx_encrypt_init)(
                context.as_ptr(),
                database.as_ptr(),
                database.length(),
                command.as_ptr(),
            )
        };
        context.check(done)?;
        Ok(context)
    }

    /// Begins the decryption of a document. The result is the document with its values decrypted. Takes up to a second for 10,000
    /// data keys.
    ///
    /// # Errors
    /// The document is invalid, or its values have more than 10,000 data keys. [`Malformed`](crate::ErrorKind::Malformed) if it is
    /// not well-formed.
    pub fn decrypt(&self, document: &[u8]) -> Result<Context, Error> {
        let mut context = Context::new(self)?;
        let functions = context.functions();
        context.call(
            functions.ctx_decrypt_init,
            &Binary::encrypted(functions, document)?,
        )?;
        Ok(context)
    }

    /// Begins the encryption of the value `v` of a document. The result has the encrypted value as `v`.
    ///
    /// # Errors
    /// An option is invalid.
    pub fn encrypt_value(&self, document: &[u8], options: &ExplicitOptions<'_>) -> Result<Context, Error> {
        let mut context = Context::new(self)?;
        context.set_explicit(options)?;
        context.set(context.functions().ctx_explicit_encrypt_init, document)?;
        Ok(context)
    }

    /// Begins the encryption of the values in an expression, the document `v`, that queries a field with a range index. The
    /// result has the expression as `v`.
    ///
    /// # Errors
    /// An option is invalid.
    pub fn encrypt_expression(
        &self,
        document: &[u8],
        options: &ExplicitOptions<'_>,
    ) -> Result<Context, Error> {
        let mut context = Context::new(self)?;
        context.set_explicit(options)?;
        context.set(context.functions().ctx_explicit_encrypt_expression_init, document)?;
        Ok(context)
    }

    /// Begins the decryption of the value `v` of a document. The result has the decrypted value as `v`.
    ///
    /// # Errors
    /// The value is invalid.
    pub fn decrypt_value(&self, document: &[u8]) -> Result<Context, Error> {
        let mut context = Context::new(self)?;
        context.set(context.functions().ctx_explicit_decrypt_init, document)?;
        Ok(context)
    }
}

impl Context {
    fn new(crypt: &Crypt) -> Result<Self, Error> {
        let handle = &crypt.handle;
        // SAFETY: the handle is alive and initialized, and the context holds a reference to it.
        let pointer = unsafe { (handle.functions().ctx_new)(handle.as_ptr()) };
        match NonNull::new(pointer) {
            Some(pointer) => Ok(Self {
                crypt: Arc::clone(handle),
                pointer,
            }),
            None => {
                handle.check(false)?;
                Err(Error::client("libmongocrypt could not allocate memory"))
            }
        }
    }

    fn functions(&self) -> &'static Functions {
        self.crypt.functions()
    }

    fn as_ptr(&self) -> *mut RawContext {
        self.pointer.as_ptr()
    }

    fn check(&self, done: bool) -> Result<(), Error> {
        if done { Ok(()) } else { Err(self.error()) }
    }

    fn error(&self) -> Error {
        let functions = self.functions();
        error_of(functions, |status| {
            // SAFETY: context and status are alive.
            unsafe { (functions.ctx_status)(self.as_ptr(), status) };
        })
    }

    /// Calls a function that reads one document.
    fn set(&mut self, function: Setter, document: &[u8]) -> Result<(), Error> {
        let argument = Binary::document(self.functions(), document)?;
        self.call(function, &argument)
    }

    /// Calls a function that reads one argument.
    fn call(&mut self, function: Setter, argument: &Binary<'_>) -> Result<(), Error> {
        // SAFETY: the context is alive; the argument is alive during the call, and the function copies it.
        let done = unsafe { function(self.as_ptr(), argument.as_ptr()) };
        self.check(done)
    }

    fn set_text(&mut self, function: TextSetter, text: &str) -> Result<(), Error> {
        let text = Text::new(text)?;
        // SAFETY: the context is alive; the text has this length and a zero byte after it, is alive during the call, and is copied.
        let done = unsafe { function(self.as_ptr(), text.as_ptr(), text.length()) };
        self.check(done)
    }

    fn set_explicit(&mut self, options: &ExplicitOptions<'_>) -> Result<(), Error> {
        let functions = self.functions();
        match options.key {
            KeyReference::Id(id) => self.call(functions.ctx_key_id, &Binary::input(functions, id)?)?,
            KeyReference::AltName(name) => {
                self.set(functions.ctx_key_alt_name, &wrapper::text("keyAltName", name))?;
            }
        }
        self.set_text(functions.ctx_algorithm, options.algorithm)?;
        if let Some(factor) = options.contention_factor {
            // SAFETY: the context is alive and not initialized.
            let done = unsafe { (functions.ctx_contention_factor)(self.as_ptr(), factor) };
            self.check(done)?;
        }
        if let Some(query_type) = options.query_type {
            self.set_text(functions.ctx_query_type, query_type)?;
        }
        if let Some(range) = options.range {
            self.set(functions.ctx_algorithm_range, range)?;
        }
        if let Some(text) = options.text {
            self.set(functions.ctx_algorithm_text, text)?;
        }
        Ok(())
    }

    /// What the context needs next.
    ///
    /// # Errors
    /// The context has failed.
    pub fn state(&self) -> Result<State, Error> {
        // SAFETY: the context is alive.
        match unsafe { (self.functions().ctx_state)(self.as_ptr()) } {
            0 => Err(self.error()),
            1 | NEED_COLLECTION_INFO_WITH_DATABASE => Ok(State::NeedCollectionInfo),
            2 => Ok(State::NeedMarkings),
            3 => Ok(State::NeedKeys),
            4 => Ok(State::NeedKms),
            7 => Ok(State::NeedKmsCredentials),
            5 => Ok(State::Ready),
            6 => Ok(State::Done),
            other => Err(Error::client(format!(
                "libmongocrypt reports the state {other}, which marula-mongocrypt does not know; use an older libmongocrypt"
            ))),
        }
    }

    /// The filter or command of the states [`NeedCollectionInfo`](State::NeedCollectionInfo),
    /// [`NeedMarkings`](State::NeedMarkings) and [`NeedKeys`](State::NeedKeys).
    ///
    /// # Errors
    /// The context is in another state.
    pub fn operation(&mut self) -> Result<Zeroizing<Vec<u8>>, Error> {
        let output = Binary::output(self.functions())?;
        // SAFETY: context and output are alive.
        let done = unsafe { (self.functions().ctx_mongo_op)(self.as_ptr(), output.as_ptr()) };
        self.check(done)?;
        // SAFETY: the bytes belong to the context, which has not been used since.
        Ok(unsafe { output.copy() })
    }

    /// The database of the state [`NeedCollectionInfo`](State::NeedCollectionInfo). `None`: that of the command.
    ///
    /// # Errors
    /// The context has failed.
    pub fn database(&mut self) -> Result<Option<String>, Error> {
        // SAFETY: the context is alive. In another state, the next call would make it fail.
        if unsafe { (self.functions().ctx_state)(self.as_ptr()) } != NEED_COLLECTION_INFO_WITH_DATABASE {
            return self.state().map(|_| None);
        }
        // SAFETY: the context is alive.
        let name = unsafe { (self.functions().ctx_mongo_db)(self.as_ptr()) };
        if name.is_null() {
            return Err(self.error());
        }
        // SAFETY: the text ends with a zero byte and belongs to the context, which has not been used since.
        let name = unsafe { CStr::from_ptr(name) };
        Ok(Some(name.to_string_lossy().into_owned()))
    }

    /// Adds a document of the result that the state asks for.
    ///
    /// # Errors
    /// The document is invalid, or the context is in another state.
    pub fn feed(&mut self, document: &[u8]) -> Result<(), Error> {
        self.set(self.functions().ctx_mongo_feed, document)
    }

    /// Ends the result: there are no more documents.
    ///
    /// # Errors
    /// The documents are not sufficient, e.g. a key does not exist.
    pub fn done(&mut self) -> Result<(), Error> {
        // SAFETY: the context is alive.
        let done = unsafe { (self.functions().ctx_mongo_done)(self.as_ptr()) };
        self.check(done)
    }

    /// The next request to a key management service. One that must be repeated is returned again. `None` after the last.
    pub fn next_kms(&mut self) -> Option<KmsContext<'_>> {
        // SAFETY: the context is alive.
        let kms = unsafe { (self.functions().ctx_next_kms)(self.as_ptr()) };
        NonNull::new(kms).map(|kms| KmsContext::new(self.functions(), kms, self))
    }

    /// Ends the requests to key management services.
    ///
    /// # Errors
    /// A reply is missing or invalid.
    pub fn kms_done(&mut self) -> Result<(), Error> {
        // SAFETY: the context is alive.
        let done = unsafe { (self.functions().ctx_kms_done)(self.as_ptr()) };
        self.check(done)
    }

    /// Sets the credentials of key management services, in BSON.
    ///
    /// # Errors
    /// A credential that is needed is missing or invalid.
    pub fn provide_kms_providers(&mut self, credentials: &[u8]) -> Result<(), Error> {
        self.set(self.functions().ctx_provide_kms_providers, credentials)
    }

    /// Computes the result. Takes milliseconds for large documents and for values with a range or string index.
    ///
    /// # Errors
    /// The context is in another state, or decryption failed.
    pub fn finalize(&mut self) -> Result<Zeroizing<Vec<u8>>, Error> {
        let output = Binary::output(self.functions())?;
        // SAFETY: context and output are alive.
        let done = unsafe { (self.functions().ctx_finalize)(self.as_ptr(), output.as_ptr()) };
        self.check(done)?;
        // SAFETY: the bytes belong to the context, which has not been used since.
        Ok(unsafe { output.copy() })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context was created by the library and is destroyed once; its requests borrow it.
        unsafe { (self.functions().ctx_destroy)(self.as_ptr()) };
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").finish_non_exhaustive()
    }
}
