//! Errors of Kerberos.

use std::fmt;

/// Kerberos did not authenticate the user of `GSSAPI`, before or while tokens were exchanged with the
/// server. The error contains no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KerberosError {
    /// The cause of the failure.
    pub failure: KerberosFailure,
    /// The principal of the user: the user name of the credential.
    pub principal: String,
    /// The principal of the service, e.g. `mongodb/db1.example.com@EXAMPLE.COM`. Without a realm
    /// (`SERVICE_REALM`), the Kerberos library determines the one of the host.
    pub service: String,
    /// The message of the Kerberos library; empty if the library was not called.
    pub message: String,
}

/// The cause of a [`KerberosError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KerberosFailure {
    /// There is no ticket of the user: neither in the ticket cache (`KRB5CCNAME`), nor could one be
    /// obtained with a keytab (`KRB5_CLIENT_KTNAME`).
    NoTicket,
    /// The ticket of the user has expired.
    TicketExpired,
    /// The key distribution center (KDC) rejected the password, or the key in the keytab.
    WrongPassword,
    /// The KDC does not know the user.
    UnknownUser,
    /// The KDC does not know the service, or the server has no key of it.
    UnknownService,
    /// There is no configuration of the realm, or no path between the realms of user and service.
    UnknownRealm,
    /// No KDC of the realm could be reached.
    KdcUnreachable,
    /// The Kerberos library did not return within `connectTimeoutMS`. It asks the KDCs of the realm
    /// one after the other, and repeats its requests.
    NoAnswer,
    /// The clocks of the machine and of the KDC or the server differ too much.
    ClockSkew,
    /// The server is a Unix domain socket, which has no host for the principal of the service.
    NoHost,
    /// Another failure, which the message describes.
    Other,
}

impl fmt::Display for KerberosError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (user, service) = (&self.principal, &self.service);
        match self.failure {
            KerberosFailure::NoTicket => write!(
                f,
                "there is no Kerberos ticket of {user}: run `kinit {user}`, or name a keytab with the environment \
                 variable KRB5_CLIENT_KTNAME; KRB5CCNAME names the ticket cache"
            ),
            KerberosFailure::TicketExpired => write!(
                f,
                "the Kerberos ticket of {user} has expired: run `kinit {user}` again, or name a keytab with the \
                 environment variable KRB5_CLIENT_KTNAME"
            ),
            KerberosFailure::WrongPassword => write!(
                f,
                "the key distribution center rejected the password or the keytab of {user}"
            ),
            KerberosFailure::UnknownUser => write!(
                f,
                "the key distribution center does not know {user}: check the user name and its realm"
            ),
            KerberosFailure::UnknownService => write!(
                f,
                "the service {service} is not known: check the host in the connection string, and SERVICE_NAME, \
                 SERVICE_REALM, SERVICE_HOST and CANONICALIZE_HOST_NAME in authMechanismProperties"
            ),
            KerberosFailure::UnknownRealm => write!(
                f,
                "the realm of {user} or of {service} is not known: check SERVICE_REALM, and default_realm, realms and \
                 capaths in /etc/krb5.conf or the file that KRB5_CONFIG names"
            ),
            KerberosFailure::KdcUnreachable => write!(
                f,
                "no key distribution center can be reached for {user} and {service}: check the section realms in \
                 /etc/krb5.conf or the file that KRB5_CONFIG names"
            ),
            KerberosFailure::NoAnswer => write!(
                f,
                "Kerberos has no ticket of {user} for {service} within the time limit: a key distribution center does \
                 not answer; check the section realms in /etc/krb5.conf or the file that KRB5_CONFIG names"
            ),
            KerberosFailure::ClockSkew => f.write_str(
                "the clock of this machine and that of the key distribution center or the server differ too much for \
                 Kerberos: synchronize them",
            ),
            KerberosFailure::NoHost => f.write_str(
                "the server is a Unix domain socket: set SERVICE_HOST in authMechanismProperties to the host in the \
                 principal of the service",
            ),
            KerberosFailure::Other => write!(f, "Kerberos failed for {user} and {service}"),
        }?;
        if self.message.is_empty() {
            Ok(())
        } else {
            write!(f, " ({})", self.message)
        }
    }
}
