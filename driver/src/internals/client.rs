//! Clients in an environment that a test controls, and access to their topology.

use std::sync::Arc;

use crate::{
    Client, Result, api::Environment, options::ClientOptions, proto::description::TopologyDescription,
};

impl Environment {
    /// As [`Client::with_options`].
    ///
    /// # Errors
    /// Those of [`Client::with_options`].
    pub fn client(&self, options: ClientOptions) -> Result<Client> {
        Client::start(options, self)
    }

    /// As [`ClientOptions::resolve`].
    ///
    /// # Errors
    /// Those of [`ClientOptions::resolve`].
    pub async fn resolve(&self, options: ClientOptions) -> Result<ClientOptions> {
        options.resolve_in(self).await
    }

    /// As [`Client::connect`].
    ///
    /// # Errors
    /// Those of [`Client::connect`].
    pub async fn connect(&self, uri: &str) -> Result<Client> {
        self.client(self.resolve(ClientOptions::parse(uri)?).await?)
    }
}

/// The access token of `MONGODB-OIDC` that the client has cached.
pub fn cached_oidc_token(client: &Client) -> Option<String> {
    client.executor().topology().login()?.cached_token()
}

/// Replaces the access token of `MONGODB-OIDC` that the client has cached.
pub fn set_cached_oidc_token(client: &Client, token: Option<&str>) {
    if let Some(login) = client.executor().topology().login() {
        login.set_cached_token(token);
    }
}

/// The hosts in the client's topology description, in order.
pub fn hosts(client: &Client) -> Vec<String> {
    let hosts = client.executor().topology().hosts();
    hosts.iter().map(ToString::to_string).collect()
}

/// Waits until the hosts of the client's topology satisfy `suit`, and returns them. They are
/// checked after each change of the topology.
pub async fn wait_for_hosts(client: &Client, suit: impl Fn(&[String]) -> bool) -> Vec<String> {
    wait(client, hosts, |now| suit(now)).await
}

/// The description of the topology that error messages contain.
pub fn describe(client: &Client) -> String {
    client.executor().topology().describe()
}

/// Waits until the description of the topology in error messages satisfies `suit`, and returns it.
pub async fn wait_for_description(client: &Client, suit: impl Fn(&str) -> bool) -> String {
    wait(client, describe, |now| suit(now)).await
}

/// Waits until the topology description of the client satisfies `suit`, and returns it. It is
/// checked after each change.
pub async fn wait_for_topology(
    client: &Client,
    suit: impl Fn(&TopologyDescription) -> bool,
) -> Arc<TopologyDescription> {
    let look = |client: &Client| client.executor().topology().description();
    wait(client, look, |now| suit(now)).await
}

/// Waits until nothing is in flight: no operation, no open cursor, no transaction, no task of the
/// driver. Operations that begin in the meantime are refused.
pub async fn wait_until_idle(client: &Client) {
    client.executor().begin_shutdown().wait().await;
}

async fn wait<T>(client: &Client, look: impl Fn(&Client) -> T, suit: impl Fn(&T) -> bool) -> T {
    let mut changes = client.executor().topology().changes();
    loop {
        let now = look(client);
        // The topology of a closed client does not change.
        if suit(&now) || changes.changed().await.is_err() {
            return now;
        }
    }
}
