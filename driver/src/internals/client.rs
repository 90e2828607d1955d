//! Clients in an environment of a test's making, and what tests want to know of them.

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

/// The hosts that the client's deployment consists of now, in order.
pub fn hosts(client: &Client) -> Vec<String> {
    let hosts = client.executor().topology().hosts();
    hosts.iter().map(ToString::to_string).collect()
}

/// Waits until the client's deployment consists of hosts that suit, and returns them. Looks after each change.
pub async fn wait_for_hosts(client: &Client, suit: impl Fn(&[String]) -> bool) -> Vec<String> {
    wait(client, hosts, |now| suit(now)).await
}

/// The text that describes the deployment in errors.
pub fn describe(client: &Client) -> String {
    client.executor().topology().describe()
}

/// Waits until the text that describes the deployment in errors suits, and returns it.
pub async fn wait_for_description(client: &Client, suit: impl Fn(&str) -> bool) -> String {
    wait(client, describe, |now| suit(now)).await
}

/// Waits until what is known of the client's deployment suits, and returns it. Looks after each check.
pub async fn wait_for_topology(
    client: &Client,
    suit: impl Fn(&TopologyDescription) -> bool,
) -> Arc<TopologyDescription> {
    let look = |client: &Client| client.executor().topology().description();
    wait(client, look, |now| suit(now)).await
}

async fn wait<T>(client: &Client, look: impl Fn(&Client) -> T, suit: impl Fn(&T) -> bool) -> T {
    let mut changes = client.executor().topology().changes();
    loop {
        let now = look(client);
        // A closed client changes no more.
        if suit(&now) || changes.changed().await.is_err() {
            return now;
        }
    }
}
