//! TLS, OCSP and authentication.

mod authentication;
mod ocsp;
mod tls;
