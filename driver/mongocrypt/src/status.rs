//! The status that a failed function leaves.

use std::{ffi::c_uint, ptr, ptr::NonNull, slice};

use crate::{
    error::{Error, ErrorKind},
    functions::{Functions, RawStatus},
    kms_error::of_response,
    redact::redacted,
};

/// `MONGOCRYPT_STATUS_ERROR_CLIENT`
pub(crate) const STATUS_CLIENT: c_uint = 1;
/// The code of a failed hook.
pub(crate) const HOOK_FAILED: u32 = 1;
/// The code of a hook that panicked: one that the library does not use.
pub(crate) const HOOK_PANICKED: u32 = 0x5AFE_0001;
const STATUS_KMS: c_uint = 2;
const STATUS_CRYPT_SHARED: c_uint = 3;

/// A `mongocrypt_status_t`, destroyed when dropped.
struct Status {
    functions: &'static Functions,
    pointer: NonNull<RawStatus>,
}

/// The error of a failed call. `fill` copies the status of the object that failed.
pub(crate) fn error_of(functions: &'static Functions, fill: impl FnOnce(*mut RawStatus)) -> Error {
    read(functions, fill, redacted)
}

/// As [`error_of`], for a call that handles a response of a key management service.
pub(crate) fn error_of_response(functions: &'static Functions, fill: impl FnOnce(*mut RawStatus)) -> Error {
    let mut error = read(functions, fill, |message| of_response(&message));
    if error.kind == ErrorKind::Client {
        error.kind = ErrorKind::Kms;
    }
    error
}

fn read(
    functions: &'static Functions,
    fill: impl FnOnce(*mut RawStatus),
    shown: impl FnOnce(String) -> String,
) -> Error {
    // SAFETY: the function has no arguments and no precondition.
    let pointer = unsafe { (functions.status_new)() };
    let Some(pointer) = NonNull::new(pointer) else {
        return Error::client("libmongocrypt could not allocate memory");
    };
    let status = Status { functions, pointer };
    fill(status.pointer.as_ptr());
    status.error(shown)
}

impl Status {
    fn error(&self, shown: impl FnOnce(String) -> String) -> Error {
        let pointer = self.pointer.as_ptr();
        // SAFETY: the status is alive.
        let source = unsafe { (self.functions.status_type)(pointer) };
        // SAFETY: the status is alive.
        let code = unsafe { (self.functions.status_code)(pointer) };
        let kind = match source {
            _ if code == HOOK_PANICKED => ErrorKind::Internal,
            STATUS_KMS => ErrorKind::Kms,
            STATUS_CRYPT_SHARED => ErrorKind::CryptShared,
            _ => ErrorKind::Client,
        };
        let mut length = 0;
        // SAFETY: the status is alive, and `length` may be written to.
        let message = unsafe { (self.functions.status_message)(pointer, ptr::from_mut(&mut length)) };
        let message = if message.is_null() || length == 0 {
            "libmongocrypt failed without a message".to_owned()
        } else {
            // SAFETY: the library returns a pointer to this number of bytes, which belong to the status.
            let bytes = unsafe { slice::from_raw_parts(message.cast::<u8>(), length as usize) };
            shown(String::from_utf8_lossy(bytes).into_owned())
        };
        Error { kind, code, message }
    }
}

impl Drop for Status {
    fn drop(&mut self) {
        // SAFETY: the status was created by the library and is destroyed once.
        unsafe { (self.functions.status_destroy)(self.pointer.as_ptr()) };
    }
}
