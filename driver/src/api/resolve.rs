//! From a `mongodb+srv` connection string to hosts.

use std::{
    hash::{BuildHasher, RandomState},
    io,
};

use super::Environment;
use crate::{
    Error, ErrorKind, Result, ServerAddress,
    connection::{Lookup, LookupError},
    error::NetworkPhase,
    options::{ClientOptions, SrvOrigin},
    proto::srv::{SrvName, seeds, txt_options},
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
        let mut options = self;
        if !options.srv || options.srv_origin.is_some() {
            return Ok(options);
        }
        let [ServerAddress::Tcp { host, .. }] = options.hosts.as_slice() else {
            return Err(Error::invalid_argument("mongodb+srv takes exactly one host name"));
        };
        let name = SrvName::new(host, &options.srv_service_name).map_err(Error::connection_string)?;
        let deadline = Deadline::after(Some(options.connect_timeout));

        let dns = environment.dns();
        let query = name.query();
        let records = ask(dns.srv(&query), &query, deadline).await?;
        let random = RandomState::new().hash_one(0);
        let found =
            seeds(&name, &records.unwrap_or_default(), options.srv_max_hosts, random).map_err(Error::dns)?;

        let records = ask(dns.txt(name.hostname()), name.hostname(), deadline).await?;
        if let Some(text) = txt_options(&name, &records.unwrap_or_default()).map_err(Error::dns)? {
            options
                .apply_txt(&text)
                .map_err(|why| Error::dns(format!("the TXT record of {name}: {why}")))?;
        }

        options.hosts = found.hosts;
        options.srv_origin = Some(SrvOrigin { name, ttl: found.ttl });
        options.tls.enabled.get_or_insert(true);
        options.settle_auth_source();
        options.validate()?;
        Ok(options)
    }
}

/// The records; `None` when there are none.
async fn ask<T>(lookup: Lookup<'_, T>, name: &str, deadline: Deadline) -> Result<Option<Vec<T>>> {
    let unanswered =
        |kind, why: String| Err(Error::network(NetworkPhase::Resolve, io::Error::new(kind, why)));
    match deadline.run(lookup).await {
        Ok(Ok(records)) => Ok(Some(records)),
        Ok(Err(LookupError::NoRecords(_))) => Ok(None),
        Ok(Err(LookupError::Unavailable(why))) => Err(Error::unsupported(why)),
        Ok(Err(LookupError::Failed(why))) => unanswered(io::ErrorKind::Other, why),
        Err(_) => unanswered(
            io::ErrorKind::TimedOut,
            format!("no answer for {name} within connectTimeoutMS"),
        ),
    }
}

/// Whether options still name DNS records in place of hosts.
pub(super) fn check_resolved(options: &ClientOptions) -> Result<()> {
    if options.srv && options.srv_origin.is_none() {
        return Err(Error::new(ErrorKind::InvalidArgument(
            "the hosts of a mongodb+srv connection string must be looked up first: call resolve() on the options and \
             await it, or use Client::connect"
                .into(),
        )));
    }
    Ok(())
}
