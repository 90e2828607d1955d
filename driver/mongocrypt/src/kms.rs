//! [`KmsContext`]: one request to a key management service.

use std::{
    ffi::{CStr, c_char},
    fmt,
    marker::PhantomData,
    ptr,
    ptr::NonNull,
    slice,
    time::Duration,
};

use zeroize::Zeroizing;

use crate::{
    binary::Binary,
    context::Context,
    error::Error,
    functions::{Functions, RawKms},
    status::{error_of, error_of_response},
};

/// A request to a key management service. The bytes are those of HTTP or KMIP, sent over TLS.
pub struct KmsContext<'a> {
    functions: &'static Functions,
    pointer: NonNull<RawKms>,
    /// It belongs to the context, which must not be used meanwhile.
    context: PhantomData<&'a mut Context>,
}

// SAFETY: like its context, it may be used by one thread at a time, and is not `Sync`.
unsafe impl Send for KmsContext<'_> {}

/// What comes after bytes of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fed {
    /// The reply is complete if [`bytes_needed`](KmsContext::bytes_needed) is zero.
    Accepted,
    /// The service has a transient error: the request is returned by [`Context::next_kms`] again.
    Again,
}

impl<'a> KmsContext<'a> {
    pub(crate) fn new(functions: &'static Functions, pointer: NonNull<RawKms>, _: &'a mut Context) -> Self {
        Self {
            functions,
            pointer,
            context: PhantomData,
        }
    }

    fn as_ptr(&self) -> *mut RawKms {
        self.pointer.as_ptr()
    }

    fn check(&self, done: bool) -> Result<(), Error> {
        if done {
            return Ok(());
        }
        Err(error_of(self.functions, |status| {
            // SAFETY: request and status are alive.
            unsafe { (self.functions.kms_status)(self.as_ptr(), status) };
        }))
    }

    /// The bytes to send. They contain credentials or signatures.
    ///
    /// # Errors
    /// The request is invalid.
    pub fn message(&mut self) -> Result<Zeroizing<Vec<u8>>, Error> {
        let output = Binary::output(self.functions)?;
        // SAFETY: request and output are alive.
        let done = unsafe { (self.functions.kms_message)(self.as_ptr(), output.as_ptr()) };
        self.check(done)?;
        // SAFETY: the bytes belong to the request, which has not been used since.
        Ok(unsafe { output.copy() })
    }

    /// The service: `host:port`.
    ///
    /// # Errors
    /// The request is invalid.
    pub fn endpoint(&mut self) -> Result<String, Error> {
        let mut text: *const c_char = ptr::null();
        // SAFETY: the request is alive, and `text` may be written to.
        let done = unsafe { (self.functions.kms_endpoint)(self.as_ptr(), ptr::from_mut(&mut text)) };
        self.check(done)?;
        if text.is_null() {
            return Err(Error::client(
                "libmongocrypt reports a key management service without an address",
            ));
        }
        // SAFETY: the text ends with a zero byte and belongs to the request, which has not been used since.
        let text = unsafe { CStr::from_ptr(text) };
        Ok(text.to_string_lossy().into_owned())
    }

    /// The name of the provider, e.g. `aws` or `kmip:name`.
    #[must_use]
    pub fn provider(&self) -> String {
        let mut length = 0;
        // SAFETY: the request is alive, and `length` may be written to.
        let text = unsafe { (self.functions.kms_provider)(self.as_ptr(), ptr::from_mut(&mut length)) };
        if text.is_null() {
            return String::new();
        }
        // SAFETY: the text has this length and belongs to the request.
        let bytes = unsafe { slice::from_raw_parts(text.cast::<u8>(), length as usize) };
        String::from_utf8_lossy(bytes).into_owned()
    }

    /// How many more bytes of the reply are expected, at most. Zero if it is complete.
    #[must_use]
    pub fn bytes_needed(&self) -> usize {
        // SAFETY: the request is alive.
        unsafe { (self.functions.kms_bytes_needed)(self.as_ptr()) as usize }
    }

    /// How long to wait before the request is sent.
    #[must_use]
    pub fn delay(&self) -> Duration {
        // SAFETY: the request is alive.
        let microseconds = unsafe { (self.functions.kms_usleep)(self.as_ptr()) };
        Duration::from_micros(u64::try_from(microseconds).unwrap_or_default())
    }

    /// Adds bytes of the reply.
    ///
    /// # Errors
    /// The reply is an error that is not transient, or is invalid.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Fed, Error> {
        let input = Binary::input(self.functions, bytes)?;
        let mut again = false;
        // SAFETY: the request is alive, the bytes are alive during the call and are copied, and `again` may be written to.
        let done = unsafe {
            (self.functions.kms_feed_with_retry)(self.as_ptr(), input.as_ptr(), ptr::from_mut(&mut again))
        };
        if !done {
            return Err(error_of_response(self.functions, |status| {
                // SAFETY: request and status are alive.
                unsafe { (self.functions.kms_status)(self.as_ptr(), status) };
            }));
        }
        Ok(if again { Fed::Again } else { Fed::Accepted })
    }

    /// Reports that the network failed. Returns whether the request is to be repeated: [`Context::next_kms`] returns it
    /// again.
    pub fn fail(&mut self) -> bool {
        // SAFETY: the request is alive.
        unsafe { (self.functions.kms_fail)(self.as_ptr()) }
    }
}

impl fmt::Debug for KmsContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KmsContext")
            .field("provider", &self.provider())
            .finish_non_exhaustive()
    }
}
