//! The DNS lookups of `mongodb+srv` connection strings.

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
    /// Looks up the hosts of a `mongodb+srv` connection string, and its default options, in DNS: with these,
    /// [`Client::with_options`](crate::Client::with_options) makes a client. Other options come back as they are.
    /// [`Client::connect`](crate::Client::connect) does this by itself.
    ///
    /// The SRV records become [`hosts`](Self::hosts), at random as many as `srvMaxHosts` where that is given. The TXT record
    /// may set `authSource`, `replicaSet` and `loadBalanced`, where the connection string and the application have not; to
    /// keep its `loadBalanced=true` from counting, write `loadBalanced=false` into the connection string. Connections are
    /// encrypted unless `tls=false`. The name servers are those of the system; `connectTimeoutMS` limits the lookups.
    ///
    /// # Errors
    /// [`Dns`](crate::ErrorKind::Dns) when there are no records, a host lies outside the domain, or the TXT record holds
    /// something else; a [`Network`](crate::ErrorKind::Network) error when no name server answers; options that contradict
    /// each other, those of the TXT record among them. The text names the host or the record.
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

    /// As [`resolve`](Self::resolve).
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

/// The records, which may be none.
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
            format!("no answer for {name} within connectTimeoutMS"),
        ),
    }
}
