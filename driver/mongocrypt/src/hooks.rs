//! The functions that the library calls for cryptography, if it was built without its own.
//!
//! The library passes them the pointer that was given to `mongocrypt_setopt_crypto_hooks`: here, the table of its own
//! functions, which is never freed. They have no other state, so they may be called from any thread.

use std::{
    ffi::c_void,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
};

use zeroize::Zeroizing;

use crate::{
    binary::{copy_of, write_to},
    crypto::{self, Failure},
    functions::{Functions, RawBinary, RawCrypt, RawStatus},
    status::{HOOK_FAILED, HOOK_PANICKED, STATUS_CLIENT},
    text::Text,
};

/// Makes the library use this package's cryptography. `false` if it refuses.
///
/// # Safety
/// `crypt` must be alive and not initialized.
pub(crate) unsafe fn install(functions: &'static Functions, crypt: *mut RawCrypt) -> bool {
    let context = ptr::from_ref(functions).cast_mut().cast::<c_void>();
    // SAFETY: `crypt` is alive; the hooks have the types that the library expects, and the context is never freed.
    let done = unsafe {
        (functions.crypto_hooks)(
            crypt,
            cbc_encrypt,
            cbc_decrypt,
            random,
            hmac_sha_512,
            hmac_sha_256,
            sha_256,
            context,
        )
    };
    // SAFETY: the same. The library ignores this context and passes that of `crypto_hooks`, which is the same.
    let done = done && unsafe { (functions.aes_256_ctr)(crypt, ctr, ctr, context) };
    // SAFETY: the same.
    done && unsafe { (functions.sign_hook)(crypt, sign, context) }
}

/// The arguments of one call.
struct Call {
    functions: &'static Functions,
    status: *mut RawStatus,
}

impl Call {
    /// # Safety
    /// `context` must be the pointer that [`install`] passed, and `status` that of the call.
    unsafe fn new(context: *mut c_void, status: *mut RawStatus) -> Self {
        // SAFETY: the caller guarantees that it points to the table, which is never freed or changed.
        let functions = unsafe { &*context.cast::<Functions>() };
        Self { functions, status }
    }

    /// Runs the operation, writes its result to `output`, and reports a failure in the status. A panic does not leave
    /// this function.
    ///
    /// # Safety
    /// `output` must be the output argument of the call, and `written` null or that argument of the call.
    unsafe fn finish(
        &self,
        output: *mut RawBinary,
        written: *mut u32,
        operation: impl FnOnce() -> Result<Zeroizing<Vec<u8>>, Failure>,
    ) -> bool {
        let caught = catch_unwind(AssertUnwindSafe(operation));
        let code = if caught.is_ok() {
            HOOK_FAILED
        } else {
            HOOK_PANICKED
        };
        let result = caught
            .unwrap_or(Err("an operation of the cryptography panicked"))
            .and_then(|bytes| {
                let length = u32::try_from(bytes.len()).map_err(|_| "the output is too long")?;
                // SAFETY: the output argument is a view of memory that the library has allocated for this call.
                if !unsafe { write_to(self.functions, output, &bytes) } {
                    return Err("the output has a wrong length");
                }
                if !written.is_null() {
                    // SAFETY: the argument points to a number of the library, for the length of the output.
                    unsafe { written.write(length) };
                }
                Ok(())
            });
        let Err(message) = result else {
            return true;
        };
        let Ok(message) = Text::new(message) else {
            return false;
        };
        // SAFETY: the status is alive during the call. The library copies this number of bytes, the last of which is zero.
        unsafe {
            (self.functions.status_set)(
                self.status,
                STATUS_CLIENT,
                code,
                message.as_ptr(),
                message.length() + 1,
            );
        }
        false
    }

    /// # Safety
    /// `input` must be an input argument of the call.
    unsafe fn input(&self, input: *mut RawBinary) -> Zeroizing<Vec<u8>> {
        // SAFETY: an input argument is a view of initialized bytes that are alive during the call.
        unsafe { copy_of(self.functions, input) }
    }
}

/// Defines a hook for an operation with key, initialization vector and input.
macro_rules! cipher_hook {
    ($name:ident, $operation:path) => {
        unsafe extern "C" fn $name(
            context: *mut c_void,
            key: *mut RawBinary,
            iv: *mut RawBinary,
            input: *mut RawBinary,
            output: *mut RawBinary,
            written: *mut u32,
            status: *mut RawStatus,
        ) -> bool {
            // SAFETY: the library calls the hook with these arguments (`mongocrypt_crypto_fn`).
            let call = unsafe { Call::new(context, status) };
            // SAFETY: the same.
            let key = unsafe { call.input(key) };
            // SAFETY: the same.
            let iv = unsafe { call.input(iv) };
            // SAFETY: the same.
            let input = unsafe { call.input(input) };
            // SAFETY: the same.
            unsafe { call.finish(output, written, || $operation(&key, &iv, &input)) }
        }
    };
}

cipher_hook!(cbc_encrypt, crypto::cbc_encrypt);
cipher_hook!(cbc_decrypt, crypto::cbc_decrypt);
cipher_hook!(ctr, crypto::ctr);

/// Defines a hook for an operation with key and input.
macro_rules! keyed_hook {
    ($name:ident, $operation:path) => {
        unsafe extern "C" fn $name(
            context: *mut c_void,
            key: *mut RawBinary,
            input: *mut RawBinary,
            output: *mut RawBinary,
            status: *mut RawStatus,
        ) -> bool {
            // SAFETY: the library calls the hook with these arguments (`mongocrypt_hmac_fn`).
            let call = unsafe { Call::new(context, status) };
            // SAFETY: the same.
            let key = unsafe { call.input(key) };
            // SAFETY: the same.
            let input = unsafe { call.input(input) };
            // SAFETY: the same.
            unsafe { call.finish(output, ptr::null_mut(), || $operation(&key, &input)) }
        }
    };
}

keyed_hook!(hmac_sha_256, crypto::hmac_sha_256);
keyed_hook!(hmac_sha_512, crypto::hmac_sha_512);
keyed_hook!(sign, crypto::sign);

unsafe extern "C" fn sha_256(
    context: *mut c_void,
    input: *mut RawBinary,
    output: *mut RawBinary,
    status: *mut RawStatus,
) -> bool {
    // SAFETY: the library calls the hook with these arguments (`mongocrypt_hash_fn`).
    let call = unsafe { Call::new(context, status) };
    // SAFETY: the same.
    let input = unsafe { call.input(input) };
    // SAFETY: the same.
    unsafe { call.finish(output, ptr::null_mut(), || Ok(crypto::sha_256(&input))) }
}

unsafe extern "C" fn random(
    context: *mut c_void,
    output: *mut RawBinary,
    count: u32,
    status: *mut RawStatus,
) -> bool {
    // SAFETY: the library calls the hook with these arguments (`mongocrypt_random_fn`).
    let call = unsafe { Call::new(context, status) };
    // SAFETY: the same.
    unsafe { call.finish(output, ptr::null_mut(), || crypto::random(count as usize)) }
}

#[cfg(test)]
mod tests {
    use std::env;

    use super::*;
    use crate::{ErrorKind, Library, status::error_of};

    /// Does nothing without the library.
    #[test]
    fn a_panic_is_an_internal_error() {
        let library = match Library::load(None) {
            Ok(library) => library,
            Err(error) if env::var_os("MARULA_REQUIRE_MONGOCRYPT").is_some() => panic!("{error}"),
            Err(_) => return,
        };
        let functions = library.functions();
        let fail = |operation: fn() -> Result<Zeroizing<Vec<u8>>, Failure>| {
            error_of(functions, |status| {
                let call = Call { functions, status };
                // SAFETY: the operation fails before the output is used.
                let done = unsafe { call.finish(ptr::null_mut(), ptr::null_mut(), operation) };
                assert!(!done);
            })
        };
        let error = fail(|| panic!("a panic"));
        assert_eq!(error.kind, ErrorKind::Internal, "{error:?}");
        assert!(error.message.contains("panicked"), "{error}");
        let error = fail(|| Err("the key must have 32 bytes"));
        assert_eq!(
            (error.kind, error.message.as_str()),
            (ErrorKind::Client, "the key must have 32 bytes")
        );
    }
}
