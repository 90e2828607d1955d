//! [`Crypt`]: one configured instance of the library, with its cache of keys and collection infos.

use std::{
    ffi::{CString, OsString},
    fmt, ptr,
    ptr::NonNull,
    sync::Arc,
    time::Duration,
};

use zeroize::Zeroizing;

use crate::{
    binary::Binary,
    error::Error,
    functions::{Functions, RawBinary, RawCrypt},
    hooks,
    library::Library,
    log::{self, LogHandler},
    status::error_of,
};

/// The options of a [`Crypt`]. Documents are BSON.
#[derive(Clone, Default)]
pub struct CryptOptions {
    /// The credentials of the key management services, each under the name of its provider.
    pub kms_providers: Zeroizing<Vec<u8>>,
    /// Maps namespaces to schemas with the keyword `encrypt`. Default: none.
    pub schema_map: Option<Vec<u8>>,
    /// Maps namespaces to `encryptedFields`. Default: none.
    pub encrypted_fields_map: Option<Vec<u8>>,
    /// The library `crypt_shared` for the analysis of commands. Default: not used.
    pub crypt_shared: CryptShared,
    /// Whether commands are not analyzed: values are then encrypted explicitly only. Default: `false`.
    pub bypass_query_analysis: bool,
    /// How long keys are cached. Zero means indefinitely. Default: 60 s.
    pub key_expiration: Option<Duration>,
    /// Receives the library's log messages, except for trace messages. Default: they are discarded.
    pub log_handler: Option<LogHandler>,
}

/// Where the library looks for `crypt_shared`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CryptShared {
    /// It is not loaded.
    #[default]
    Off,
    /// Where the system's loader looks. A missing library is not an error.
    System,
    /// This file. Creating the [`Crypt`] fails if it cannot be loaded.
    Path(OsString),
}

impl fmt::Debug for CryptOptions {
    /// Without the credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CryptOptions")
            .field("crypt_shared", &self.crypt_shared)
            .field("bypass_query_analysis", &self.bypass_query_analysis)
            .field("key_expiration", &self.key_expiration)
            .finish_non_exhaustive()
    }
}

/// A configured instance of libmongocrypt. Clones are cheap and share its caches.
#[derive(Clone, Debug)]
pub struct Crypt {
    pub(crate) handle: Arc<Handle>,
}

/// A `mongocrypt_t`, destroyed when dropped.
pub(crate) struct Handle {
    library: Library,
    pointer: NonNull<RawCrypt>,
    /// The library has a pointer to it. Never changed, and not a `Box`, because moving one invalidates pointers into it.
    log_handler: Arc<Option<LogHandler>>,
}

// SAFETY: "Functions on a mongocrypt_t are thread safe" (mongocrypt.h). The hooks have no state.
unsafe impl Send for Handle {}
// SAFETY: the same.
unsafe impl Sync for Handle {}

impl Crypt {
    /// Creates an instance. Key management services are asked again after transient errors, and credentials that are
    /// empty documents are requested with [`State::NeedKmsCredentials`](crate::State::NeedKmsCredentials).
    ///
    /// # Errors
    /// An option is invalid, or `crypt_shared` cannot be loaded from its path.
    pub fn new(library: Library, options: &CryptOptions) -> Result<Self, Error> {
        let functions = library.functions();
        // SAFETY: the function has no arguments and no precondition.
        let pointer = unsafe { (functions.new)() };
        let pointer =
            NonNull::new(pointer).ok_or_else(|| Error::client("libmongocrypt could not allocate memory"))?;
        let handle = Handle {
            library,
            pointer,
            log_handler: Arc::new(options.log_handler),
        };
        handle.configure(options)?;
        // SAFETY: the handle is alive and not initialized.
        let done = unsafe { (functions.init)(handle.as_ptr()) };
        handle.check(done)?;
        Ok(Self {
            handle: Arc::new(handle),
        })
    }

    /// The library.
    #[must_use]
    pub fn library(&self) -> Library {
        self.handle.library
    }

    /// The version of `crypt_shared`. `None` if it is not loaded.
    #[must_use]
    pub fn crypt_shared_version(&self) -> Option<String> {
        let functions = self.handle.functions();
        let mut length = 0;
        // SAFETY: the handle is alive and initialized, and `length` may be written to.
        let text = unsafe {
            (functions.crypt_shared_version_string)(self.handle.as_ptr(), ptr::from_mut(&mut length))
        };
        if text.is_null() {
            return None;
        }
        // SAFETY: the library returns a pointer to this number of bytes, which are alive as long as the handle.
        let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length as usize) };
        Some(String::from_utf8_lossy(bytes).into_owned())
    }
}

impl Handle {
    pub(crate) fn functions(&self) -> &'static Functions {
        self.library.functions()
    }

    pub(crate) fn as_ptr(&self) -> *mut RawCrypt {
        self.pointer.as_ptr()
    }

    pub(crate) fn check(&self, done: bool) -> Result<(), Error> {
        if done {
            return Ok(());
        }
        let functions = self.functions();
        Err(error_of(functions, |status| {
            // SAFETY: handle and status are alive.
            unsafe { (functions.crypt_status)(self.as_ptr(), status) };
        }))
    }

    /// Sets the options, before the initialization.
    fn configure(&self, options: &CryptOptions) -> Result<(), Error> {
        let functions = self.functions();
        let crypt = self.as_ptr();
        // SAFETY: the handle is alive and not initialized. It owns the log handler, which is dropped after it is destroyed.
        let done = unsafe { log::install(functions, crypt, &self.log_handler) };
        self.check(done)?;
        if !self.library.has_crypto() {
            // SAFETY: the handle is alive and not initialized.
            let done = unsafe { hooks::install(functions, crypt) };
            self.check(done)?;
        }
        self.set_document(functions.kms_providers, &options.kms_providers)?;
        // SAFETY: the handle is alive and not initialized. So are those of the following calls.
        unsafe { (functions.use_need_kms_credentials_state)(crypt) };
        // SAFETY: as above.
        unsafe { (functions.use_need_collinfo_with_db_state)(crypt) };
        // SAFETY: as above.
        let done = unsafe { (functions.enable_multiple_collinfo)(crypt) };
        self.check(done)?;
        // SAFETY: as above.
        let done = unsafe { (functions.retry_kms)(crypt, true) };
        self.check(done)?;
        if let Some(time) = options.key_expiration {
            // Zero disables the expiry, and the library takes no more than this.
            let least = u128::from(!time.is_zero());
            let milliseconds = time.as_millis().clamp(least, i64::MAX.unsigned_abs().into());
            let milliseconds = u64::try_from(milliseconds).unwrap_or(i64::MAX.unsigned_abs());
            // SAFETY: as above.
            let done = unsafe { (functions.key_expiration)(crypt, milliseconds) };
            self.check(done)?;
        }
        if let Some(map) = &options.schema_map {
            self.set_document(functions.schema_map, map)?;
        }
        if let Some(map) = &options.encrypted_fields_map {
            self.set_document(functions.encrypted_field_config_map, map)?;
        }
        if options.bypass_query_analysis {
            // SAFETY: as above.
            unsafe { (functions.bypass_query_analysis)(crypt) };
        }
        match &options.crypt_shared {
            CryptShared::Off => {}
            CryptShared::System => {
                // SAFETY: as above; the text ends with a zero byte and is copied.
                unsafe { (functions.append_crypt_shared_search_path)(crypt, c"$SYSTEM".as_ptr()) };
            }
            CryptShared::Path(path) => {
                let path = path
                    .to_str()
                    .and_then(|path| CString::new(path).ok())
                    .ok_or_else(|| {
                        Error::client(format!(
                            "the path of crypt_shared must be UTF-8 without zero bytes, found {}",
                            path.display()
                        ))
                    })?;
                // SAFETY: as above; the text ends with a zero byte and is copied.
                unsafe { (functions.crypt_shared_path_override)(crypt, path.as_ptr()) };
            }
        }
        Ok(())
    }

    fn set_document(
        &self,
        function: unsafe extern "C" fn(*mut RawCrypt, *mut RawBinary) -> bool,
        document: &[u8],
    ) -> Result<(), Error> {
        let document = Binary::document(self.functions(), document)?;
        // SAFETY: the handle is alive and not initialized, and the document is alive during the call.
        let done = unsafe { function(self.as_ptr(), document.as_ptr()) };
        self.check(done)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the handle was created by the library and is destroyed once. Its contexts hold a reference to it, so
        // all of them are destroyed.
        unsafe { (self.functions().destroy)(self.as_ptr()) };
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Crypt")
            .field("library", &self.library)
            .finish_non_exhaustive()
    }
}
