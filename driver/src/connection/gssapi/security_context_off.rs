//! Replaces `security_context` on platforms without the GSS-API. Clients with `GSSAPI` are rejected
//! there when they are created.

use crate::{
    error::KerberosFailure,
    proto::auth::{GssCall, GssOutput, ServiceName},
};

/// A context, of which there is none.
#[derive(Debug)]
pub(in crate::connection) enum SecurityContext {}

/// An error of the library.
#[derive(Debug)]
pub(super) struct LibraryError {
    pub(super) failure: KerberosFailure,
    pub(super) message: String,
}

impl SecurityContext {
    pub(super) fn new(_: &str, _: Option<&str>, _: &ServiceName) -> Result<Self, LibraryError> {
        Err(LibraryError {
            failure: KerberosFailure::Other,
            message: "this platform has no GSS-API".to_owned(),
        })
    }

    pub(super) fn call(&mut self, _: GssCall) -> Result<GssOutput, LibraryError> {
        match *self {}
    }
}
