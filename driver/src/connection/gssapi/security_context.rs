//! A security context of the Kerberos library, through the GSS-API ([RFC 2744]).
//!
//! [RFC 2744]: https://www.rfc-editor.org/rfc/rfc2744

use std::fmt;

use libgssapi::{
    context::{ClientCtx, CtxFlags, SecurityContext as _},
    credential::{Cred, CredUsage},
    error::{Error, MajorFlags},
    name::Name,
    oid::{GSS_MECH_KRB5, GSS_NT_HOSTBASED_SERVICE, GSS_NT_KRB5_PRINCIPAL, OidSet},
};

use crate::{
    error::KerberosFailure,
    proto::auth::{GssCall, GssOutput, ServiceName},
};

/// The initiator's side of a context.
pub(in crate::connection) struct SecurityContext(ClientCtx);

/// An error of the library.
#[derive(Debug)]
pub(super) struct LibraryError {
    pub(super) failure: KerberosFailure,
    /// The messages of the library in one line.
    pub(super) message: String,
}

impl SecurityContext {
    /// A context of the user with the service, which no token was exchanged for. The credentials
    /// come from the ticket cache or the keytab of the environment, or with a password from the key
    /// distribution center. Blocks.
    pub(super) fn new(
        principal: &str,
        password: Option<&str>,
        service: &ServiceName,
    ) -> Result<Self, LibraryError> {
        let named = |principal: &str| Name::new(principal.as_bytes(), Some(GSS_NT_KRB5_PRINCIPAL));
        let user = named(principal)?;
        let service = match service {
            ServiceName::Principal(principal) => named(principal)?,
            ServiceName::HostBased { name, host } => {
                let text = format!("{name}@{host}");
                Name::new(text.as_bytes(), Some(GSS_NT_HOSTBASED_SERVICE))?
            }
        };
        let mut mechanisms = OidSet::new();
        mechanisms.add(GSS_MECH_KRB5)?;
        let credentials = match password {
            Some(password) => Cred::acquire_with_password(
                Some(&user),
                password,
                None,
                CredUsage::Initiate,
                Some(&mechanisms),
            ),
            None => Cred::acquire(Some(&user), None, CredUsage::Initiate, Some(&mechanisms)),
        }?;
        // Mutual: the server must prove that it has the key of the service. Integrity: the security
        // layers are negotiated in wrapped messages.
        let flags = CtxFlags::GSS_C_MUTUAL_FLAG | CtxFlags::GSS_C_INTEG_FLAG;
        let context = ClientCtx::new(Some(credentials), service, flags, Some(GSS_MECH_KRB5));
        Ok(Self(context))
    }

    /// Makes a call. Blocks.
    pub(super) fn call(&mut self, call: GssCall) -> Result<GssOutput, LibraryError> {
        let context = &mut self.0;
        let bytes = match call {
            GssCall::Initiate(token) => {
                let token = context.step(token.as_deref(), None)?;
                token.map(|token| token.to_vec()).unwrap_or_default()
            }
            GssCall::Unwrap(message) => context.unwrap(&message)?.to_vec(),
            GssCall::Wrap(message) => context.wrap(false, &message)?.to_vec(),
        };
        Ok(GssOutput {
            bytes,
            is_established: context.is_complete(),
        })
    }
}

impl fmt::Debug for SecurityContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecurityContext")
    }
}

impl From<Error> for LibraryError {
    /// The library keeps the text of an error for the thread of the call.
    fn from(error: Error) -> Self {
        let text = error.to_string();
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        Self {
            failure: failure(&error),
            message: lines.collect::<Vec<_>>().join("; "),
        }
    }
}

/// The first code of the errors of Kerberos (`ERROR_TABLE_BASE_krb5`).
const BASE: u32 = 0x96C7_3A00;

// Offsets of errors of the protocol (RFC 4120, section 7.5.9).
const KDC_ERR_C_PRINCIPAL_UNKNOWN: u32 = 6;
const KDC_ERR_S_PRINCIPAL_UNKNOWN: u32 = 7;
const KDC_ERR_PREAUTH_FAILED: u32 = 24;
const KRB_AP_ERR_BAD_INTEGRITY: u32 = 31;
const KRB_AP_ERR_TKT_EXPIRED: u32 = 32;
const KRB_AP_ERR_SKEW: u32 = 37;
const KRB_AP_ERR_NOKEY: u32 = 45;
const KDC_ERR_WRONG_REALM: u32 = 68;
// Offsets of errors of the library (krb5_err.et).
const KRB5_CC_NOTFOUND: u32 = 141;
const KRB5_REALM_UNKNOWN: u32 = 154;
const KRB5_KDC_UNREACH: u32 = 156;
const KRB5_KT_NOTFOUND: u32 = 181;
const KRB5_FCC_NOFILE: u32 = 195;
const KRB5_REALM_CANT_RESOLVE: u32 = 220;
const KRB5_CONFIG_NODEFREALM: u32 = 224;

/// The bits of the routine error in a major status (RFC 2744, section 3.9.1).
const ROUTINE_ERROR: u32 = 0x00FF_0000;

fn failure(error: &Error) -> KerberosFailure {
    match error.minor.wrapping_sub(BASE) {
        KDC_ERR_C_PRINCIPAL_UNKNOWN => return KerberosFailure::UnknownUser,
        KDC_ERR_S_PRINCIPAL_UNKNOWN | KRB_AP_ERR_NOKEY => return KerberosFailure::UnknownService,
        KDC_ERR_PREAUTH_FAILED | KRB_AP_ERR_BAD_INTEGRITY => return KerberosFailure::WrongPassword,
        KRB_AP_ERR_TKT_EXPIRED => return KerberosFailure::TicketExpired,
        KRB_AP_ERR_SKEW => return KerberosFailure::ClockSkew,
        KRB5_KDC_UNREACH => return KerberosFailure::KdcUnreachable,
        KDC_ERR_WRONG_REALM | KRB5_REALM_UNKNOWN | KRB5_REALM_CANT_RESOLVE | KRB5_CONFIG_NODEFREALM => {
            return KerberosFailure::UnknownRealm;
        }
        KRB5_CC_NOTFOUND | KRB5_FCC_NOFILE | KRB5_KT_NOTFOUND => return KerberosFailure::NoTicket,
        _ => {}
    }
    let is = |status: MajorFlags| error.major.bits() & ROUTINE_ERROR == status.bits();
    if is(MajorFlags::GSS_S_CREDENTIALS_EXPIRED) {
        KerberosFailure::TicketExpired
    } else if is(MajorFlags::GSS_S_NO_CRED) {
        KerberosFailure::NoTicket
    } else {
        KerberosFailure::Other
    }
}
