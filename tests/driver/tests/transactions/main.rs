//! Transactions: commands and states, the convenient API, cursors, time limits, pins, and what is
//! dropped.

mod change_streams;
mod convenient;
mod cursors;
mod drops;
mod late_replies;
mod load_balanced;
mod pinning;
mod prose;
mod recovery_tokens;
mod removed_mongos;
mod send;
mod states;
mod time_limits;

use marula_driver::{
    Client, Collection,
    bson::{Bson, Document, doc},
    internals::fix_jitter,
    options::ClientOptions,
};
use marula_driver_tests::{CommandRecorder, Deployment, Proxy, proxy::Action, replica_set};

/// A replica set, and a client whose commands are recorded and whose pauses are short.
struct Bank {
    deployment: Deployment,
    client: Client,
    commands: CommandRecorder,
    accounts: Collection<Document>,
}

impl Bank {
    async fn open() -> Self {
        Self::of(replica_set().await)
    }

    fn of(deployment: Deployment) -> Self {
        Self::with(deployment, |options| fix_jitter(options, 0.0))
    }

    /// The client reaches the primary through the proxy, and no other member.
    async fn behind_proxy() -> (Proxy, Self) {
        let deployment = replica_set().await;
        let primary = deployment.server.primary().expect("a primary");
        let proxy = Proxy::start(primary).await;
        let uri = proxy.uri("");
        let bank = Self::at(&uri, deployment, |options| fix_jitter(options, 0.0));
        (proxy, bank)
    }

    fn with(deployment: Deployment, change: impl FnOnce(&mut ClientOptions)) -> Self {
        Self::at(&deployment.server.uri(), deployment, change)
    }

    fn at(uri: &str, deployment: Deployment, change: impl FnOnce(&mut ClientOptions)) -> Self {
        let commands = CommandRecorder::default();
        let mut options = ClientOptions::parse(uri).expect("a connection string");
        commands.listen(&mut options);
        change(&mut options);
        let client = Client::with_options(options).expect("a client");
        Self {
            accounts: client.database("bank").collection("accounts"),
            deployment,
            client,
            commands,
        }
    }

    /// The next commands with this name fail with these fields of the fail point.
    async fn fail(&self, command: &str, times: i32, data: Document) {
        let mut data = data;
        data.insert("failCommands", vec![Bson::from(command)]);
        let point = doc! { "configureFailPoint": "failCommand", "mode": { "times": times }, "data": data };
        let admin = self.deployment.client.database("admin");
        admin.run_command(point).await.expect("a fail point");
    }

    /// The names of the commands since the last call; `*` follows that of a command that starts a
    /// transaction.
    fn names(&self) -> String {
        let name = |command: &Document| {
            let name = command.keys().next().cloned().unwrap_or_default();
            if command.contains_key("startTransaction") {
                format!("{name}*")
            } else {
                name
            }
        };
        let commands = self.commands.commands();
        commands.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    /// The committed documents.
    async fn stored(&self) -> u64 {
        let accounts = self.deployment.client.database("bank");
        let accounts = accounts.collection::<Document>("accounts");
        accounts.count_documents(doc! {}).await.expect("a count")
    }
}

/// Holds the next request of this command back until [`Proxy::end_waits`].
fn hold_next(proxy: &Proxy, command: &'static str) {
    let mut is_next = true;
    proxy.set_rule(move |exchange| {
        if exchange.command == command && std::mem::take(&mut is_next) {
            Action::Later(Box::new(Action::Pass))
        } else {
            Action::Pass
        }
    });
}
