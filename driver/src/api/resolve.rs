//! DNS queries for `mongodb+srv` connection strings ([Initial DNS Seedlist Discovery]).
//!
//! [Initial DNS Seedlist Discovery]:
//! https://github.com/mongodb/specifications/blob/master/source/initial-dns-seedlist-discovery/initial-dns-seedlist-discovery.md

use std::{
    hash::{BuildHasher, RandomState},
    io,
};

use super::Environment;
use crate::{
    Error, Result,
    connection::{Lookup, LookupError},
    error::NetworkPhase,
    options::ClientOptions,
    types::deadline::Deadline,
};

impl ClientOptions {
    /// Queries the DNS records of a `mongodb+srv` connection string and applies them.
    /// [`Client::with_options`](crate::Client::with_options) requires resolved options;
    /// [`Client::connect`](crate::Client::connect) resolves them itself. Options without
    /// `mongodb+srv` are returned unchanged.
    ///
    /// [`hosts`](Self::hosts) becomes the list of the hosts in the SRV records; if `srvMaxHosts` is
    /// set, at most that number of them, selected at random. The options `authSource`, `replicaSet`
    /// and `loadBalanced` of the TXT record are applied unless they are set in the connection
    /// string or by the application. To ignore `loadBalanced=true` of the TXT record, set
    /// `loadBalanced=false` in the connection string. TLS is enabled unless `tls=false`. The name
    /// servers are those of the system. `connectTimeoutMS` limits the queries.
    ///
    /// # Errors
    /// [`Dns`](crate::ErrorKind::Dns) if there are no SRV records, a host is not in the domain of
    /// the name, or the TXT record contains other options. [`Network`](crate::ErrorKind::Network)
    /// if no name server answers. [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if options
    /// contradict each other, including those of the TXT record.
    /// [`Unsupported`](crate::ErrorKind::Unsupported) without the feature `dns`, and on Windows and
    /// Android without the feature `hickory`. The message names the host or the record.
    ///
    /// ```no_run
    /// # async fn run() -> marula_driver::Result<()> {
    /// use marula_driver::{Client, options::ClientOptions};
    /// let mut options = ClientOptions::parse("mongodb+srv://cluster.example.com")?;
    /// options.app_name = Some("checkout".into());
    /// let client = Client::with_options(options.resolve().await?)?;
    /// # Ok(()) }
    /// ```
    pub async fn resolve(self) -> Result<Self> {
        self.resolve_in(&Environment::default()).await
    }

    /// As [`resolve`](Self::resolve), in an environment that tests can replace.
    pub(crate) async fn resolve_in(self, environment: &Environment) -> Result<Self> {
        let Some(name) = self.srv_name()? else {
            return Ok(self);
        };
        let deadline = Deadline::after(Some(self.connect_timeout));
        let dns = environment.dns();
        let query = name.query();
        let records = look_up(dns.srv(&query), &query, deadline).await?;
        let seeds = self.srv_seeds(&name, &records, RandomState::new().hash_one(0))?;
        let records = look_up(dns.txt(name.hostname()), name.hostname(), deadline).await?;
        self.with_srv_records(name, seeds, &records)
    }
}

/// The records of a name; may be empty.
async fn look_up<T>(lookup: Lookup<'_, T>, name: &str, deadline: Deadline) -> Result<Vec<T>> {
    let unanswered =
        |kind, why: String| Err(Error::network(NetworkPhase::Resolve, io::Error::new(kind, why)));
    match deadline.run(lookup).await {
        Ok(Ok(records)) => Ok(records),
        Ok(Err(LookupError::NoRecords(_))) => Ok(Vec::new()),
        Ok(Err(LookupError::Unavailable(why))) => Err(Error::unsupported(why)),
        Ok(Err(LookupError::Failed(why))) => unanswered(io::ErrorKind::Other, why),
        Err(_) => unanswered(
            io::ErrorKind::TimedOut,
            format!("no answer to the DNS query for {name} within connectTimeoutMS"),
        ),
    }
}
