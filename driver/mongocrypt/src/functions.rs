//! The functions of libmongocrypt's C API that this package calls, with the signatures of `mongocrypt.h`.

use std::ffi::{c_char, c_int, c_uint, c_void};

/// `mongocrypt_t`
#[repr(C)]
pub(crate) struct RawCrypt {
    opaque: [u8; 0],
}

/// `mongocrypt_ctx_t`
#[repr(C)]
pub(crate) struct RawContext {
    opaque: [u8; 0],
}

/// `mongocrypt_kms_ctx_t`
#[repr(C)]
pub(crate) struct RawKms {
    opaque: [u8; 0],
}

/// `mongocrypt_status_t`
#[repr(C)]
pub(crate) struct RawStatus {
    opaque: [u8; 0],
}

/// `mongocrypt_binary_t`: a view of bytes that it does not own.
#[repr(C)]
pub(crate) struct RawBinary {
    opaque: [u8; 0],
}

/// `mongocrypt_crypto_fn`
pub(crate) type CryptoHook = unsafe extern "C" fn(
    *mut c_void,
    *mut RawBinary,
    *mut RawBinary,
    *mut RawBinary,
    *mut RawBinary,
    *mut u32,
    *mut RawStatus,
) -> bool;

/// `mongocrypt_hmac_fn`
pub(crate) type HmacHook =
    unsafe extern "C" fn(*mut c_void, *mut RawBinary, *mut RawBinary, *mut RawBinary, *mut RawStatus) -> bool;

/// `mongocrypt_hash_fn`
pub(crate) type HashHook =
    unsafe extern "C" fn(*mut c_void, *mut RawBinary, *mut RawBinary, *mut RawStatus) -> bool;

/// `mongocrypt_random_fn`
pub(crate) type RandomHook = unsafe extern "C" fn(*mut c_void, *mut RawBinary, u32, *mut RawStatus) -> bool;

/// Defines the table of functions, and how it is filled from a library.
macro_rules! functions {
    ($($(#[$doc:meta])* $field:ident = $symbol:literal: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions of a loaded library. It is never unloaded, so the pointers remain valid.
        pub(crate) struct Functions {
            $($(#[$doc])* pub(crate) $field: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Functions {
            /// Looks up all functions.
            ///
            /// # Errors
            /// The name of a function that the library does not have.
            ///
            /// # Safety
            /// `library` must be libmongocrypt, whose functions of these names have these signatures
            /// in every release of the major version 1, and must never be unloaded.
            pub(crate) unsafe fn load(library: &libloading::Library) -> Result<Self, &'static str> {
                Ok(Self {
                    $($field: {
                        // SAFETY: the caller guarantees that the symbol has this type.
                        let symbol = unsafe {
                            library.get::<unsafe extern "C" fn($($argument),*) $(-> $result)?>(
                                concat!($symbol, "\0").as_bytes(),
                            )
                        };
                        *symbol.map_err(|_| $symbol)?
                    },)*
                })
            }
        }
    };
}

/// `mongocrypt_log_fn_t`
pub(crate) type LogHook = unsafe extern "C" fn(c_uint, *const c_char, u32, *mut c_void);

functions! {
    is_crypto_available = "mongocrypt_is_crypto_available": fn() -> bool;

    binary_new = "mongocrypt_binary_new": fn() -> *mut RawBinary;
    binary_new_from_data = "mongocrypt_binary_new_from_data": fn(*mut u8, u32) -> *mut RawBinary;
    binary_data = "mongocrypt_binary_data": fn(*const RawBinary) -> *mut u8;
    binary_len = "mongocrypt_binary_len": fn(*const RawBinary) -> u32;
    binary_destroy = "mongocrypt_binary_destroy": fn(*mut RawBinary);

    status_new = "mongocrypt_status_new": fn() -> *mut RawStatus;
    status_set = "mongocrypt_status_set": fn(*mut RawStatus, c_uint, u32, *const c_char, i32);
    status_type = "mongocrypt_status_type": fn(*mut RawStatus) -> c_uint;
    status_code = "mongocrypt_status_code": fn(*mut RawStatus) -> u32;
    status_message = "mongocrypt_status_message": fn(*mut RawStatus, *mut u32) -> *const c_char;
    status_destroy = "mongocrypt_status_destroy": fn(*mut RawStatus);

    new = "mongocrypt_new": fn() -> *mut RawCrypt;
    log_handler = "mongocrypt_setopt_log_handler": fn(*mut RawCrypt, LogHook, *mut c_void) -> bool;
    crypto_hooks = "mongocrypt_setopt_crypto_hooks": fn(
        *mut RawCrypt, CryptoHook, CryptoHook, RandomHook, HmacHook, HmacHook, HashHook, *mut c_void
    ) -> bool;
    aes_256_ctr = "mongocrypt_setopt_aes_256_ctr": fn(*mut RawCrypt, CryptoHook, CryptoHook, *mut c_void) -> bool;
    sign_hook = "mongocrypt_setopt_crypto_hook_sign_rsaes_pkcs1_v1_5": fn(*mut RawCrypt, HmacHook, *mut c_void) -> bool;
    kms_providers = "mongocrypt_setopt_kms_providers": fn(*mut RawCrypt, *mut RawBinary) -> bool;
    schema_map = "mongocrypt_setopt_schema_map": fn(*mut RawCrypt, *mut RawBinary) -> bool;
    encrypted_field_config_map = "mongocrypt_setopt_encrypted_field_config_map": fn(*mut RawCrypt, *mut RawBinary) -> bool;
    append_crypt_shared_search_path = "mongocrypt_setopt_append_crypt_shared_lib_search_path": fn(*mut RawCrypt, *const c_char);
    crypt_shared_path_override = "mongocrypt_setopt_set_crypt_shared_lib_path_override": fn(*mut RawCrypt, *const c_char);
    use_need_kms_credentials_state = "mongocrypt_setopt_use_need_kms_credentials_state": fn(*mut RawCrypt);
    use_need_collinfo_with_db_state = "mongocrypt_setopt_use_need_mongo_collinfo_with_db_state": fn(*mut RawCrypt);
    enable_multiple_collinfo = "mongocrypt_setopt_enable_multiple_collinfo": fn(*mut RawCrypt) -> bool;
    bypass_query_analysis = "mongocrypt_setopt_bypass_query_analysis": fn(*mut RawCrypt);
    key_expiration = "mongocrypt_setopt_key_expiration": fn(*mut RawCrypt, u64) -> bool;
    retry_kms = "mongocrypt_setopt_retry_kms": fn(*mut RawCrypt, bool) -> bool;
    init = "mongocrypt_init": fn(*mut RawCrypt) -> bool;
    crypt_status = "mongocrypt_status": fn(*mut RawCrypt, *mut RawStatus) -> bool;
    destroy = "mongocrypt_destroy": fn(*mut RawCrypt);
    crypt_shared_version_string = "mongocrypt_crypt_shared_lib_version_string": fn(*const RawCrypt, *mut u32) -> *const c_char;

    ctx_new = "mongocrypt_ctx_new": fn(*mut RawCrypt) -> *mut RawContext;
    ctx_status = "mongocrypt_ctx_status": fn(*mut RawContext, *mut RawStatus) -> bool;
    ctx_key_id = "mongocrypt_ctx_setopt_key_id": fn(*mut RawContext, *mut RawBinary) -> bool;
    ctx_key_alt_name = "mongocrypt_ctx_setopt_key_alt_name": fn(*mut RawContext, *mut RawBinary) -> bool;
    ctx_key_material = "mongocrypt_ctx_setopt_key_material": fn(*mut RawContext, *mut RawBinary) -> bool;
    ctx_key_encryption_key = "mongocrypt_ctx_setopt_key_encryption_key": fn(*mut RawContext, *mut RawBinary) -> bool;
    ctx_algorithm = "mongocrypt_ctx_setopt_algorithm": fn(*mut RawContext, *const c_char, c_int) -> bool;
    ctx_algorithm_range = "mongocrypt_ctx_setopt_algorithm_range": fn(*mut RawContext, *mut RawBinary) -> bool;
    ctx_algorithm_text = "mongocrypt_ctx_setopt_algorithm_text": fn(*mut RawContext, *mut RawBinary) -> bool;
    ctx_contention_factor = "mongocrypt_ctx_setopt_contention_factor": fn(*mut RawContext, i64) -> bool;
    ctx_query_type = "mongocrypt_ctx_setopt_query_type": fn(*mut RawContext, *const c_char, c_int) -> bool;
    ctx_datakey_init = "mongocrypt_ctx_datakey_init": fn(*mut RawContext) -> bool;
    ctx_encrypt_init = "mongocrypt_ctx_encrypt_init": fn(*mut RawContext, *const c_char, i32, *mut RawBinary) -> bool;
    ctx_explicit_encrypt_init = "mongocrypt_ctx_explicit_encrypt_init": fn(*mut RawContext, *mut RawBinary) -> bool;
    ctx_explicit_encrypt_expression_init = "mongocrypt_ctx_explicit_encrypt_expression_init": fn(*mut RawContext, *mut RawBinary) -> bool;
    ctx_decrypt_init = "mongocrypt_ctx_decrypt_init": fn(*mut RawContext, *mut RawBinary) -> bool;
    ctx_explicit_decrypt_init = "mongocrypt_ctx_explicit_decrypt_init": fn(*mut RawContext, *mut RawBinary) -> bool;
    ctx_rewrap_init = "mongocrypt_ctx_rewrap_many_datakey_init": fn(*mut RawContext, *mut RawBinary) -> bool;
    ctx_state = "mongocrypt_ctx_state": fn(*mut RawContext) -> c_uint;
    ctx_mongo_op = "mongocrypt_ctx_mongo_op": fn(*mut RawContext, *mut RawBinary) -> bool;
    ctx_mongo_db = "mongocrypt_ctx_mongo_db": fn(*mut RawContext) -> *const c_char;
    ctx_mongo_feed = "mongocrypt_ctx_mongo_feed": fn(*mut RawContext, *mut RawBinary) -> bool;
    ctx_mongo_done = "mongocrypt_ctx_mongo_done": fn(*mut RawContext) -> bool;
    ctx_next_kms = "mongocrypt_ctx_next_kms_ctx": fn(*mut RawContext) -> *mut RawKms;
    ctx_kms_done = "mongocrypt_ctx_kms_done": fn(*mut RawContext) -> bool;
    ctx_provide_kms_providers = "mongocrypt_ctx_provide_kms_providers": fn(*mut RawContext, *mut RawBinary) -> bool;
    ctx_finalize = "mongocrypt_ctx_finalize": fn(*mut RawContext, *mut RawBinary) -> bool;
    ctx_destroy = "mongocrypt_ctx_destroy": fn(*mut RawContext);

    kms_message = "mongocrypt_kms_ctx_message": fn(*mut RawKms, *mut RawBinary) -> bool;
    kms_endpoint = "mongocrypt_kms_ctx_endpoint": fn(*mut RawKms, *mut *const c_char) -> bool;
    kms_bytes_needed = "mongocrypt_kms_ctx_bytes_needed": fn(*mut RawKms) -> u32;
    kms_usleep = "mongocrypt_kms_ctx_usleep": fn(*mut RawKms) -> i64;
    kms_feed_with_retry = "mongocrypt_kms_ctx_feed_with_retry": fn(*mut RawKms, *mut RawBinary, *mut bool) -> bool;
    kms_fail = "mongocrypt_kms_ctx_fail": fn(*mut RawKms) -> bool;
    kms_status = "mongocrypt_kms_ctx_status": fn(*mut RawKms, *mut RawStatus) -> bool;
    kms_provider = "mongocrypt_kms_ctx_get_kms_provider": fn(*mut RawKms, *mut u32) -> *const c_char;
}
