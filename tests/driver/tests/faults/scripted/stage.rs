//! A deployment behind proxies, a client whose connections fail, and the checks after the faults.

use marula_driver::{Client, bson::doc, options::ClientOptions};
use marula_driver_tests::{Counts, PoolTally, Proxied, Topology, proxy::Action, tasks};
use marula_test_server::TestServer;
use tokio::{sync::watch, task::JoinSet};

use super::{MAX_CLEARS, OF_MONITOR, POOL, TIMEOUTS, USER, kinds::Mode, script::Script, work};

/// A deployment and a client without proxies.
pub(super) struct Stage {
    pub(super) deployment: Proxied,
    pub(super) direct: Client,
}

/// The client whose connections fail.
pub(super) struct Connected {
    pub(super) client: Client,
    pub(super) tally: PoolTally,
    /// The number of tasks of the runtime before the client was created.
    pub(super) tasks_before: usize,
}

impl Stage {
    pub(super) async fn start(kind: Topology) -> Self {
        // The minimum iteration count that clients accept, to save time.
        let builder = TestServer::builder()
            .parameter("scramIterationCount", 4096)
            // The server aborts transactions whose client cannot abort them.
            .parameter("transactionLifetimeLimitSeconds", 1)
            .auth("owner", "secret");
        let deployment = match kind {
            // Both routers, so that retries use the other router.
            Topology::Sharded => Proxied::sharded(builder, 2).await,
            _ => Proxied::start(kind, builder).await,
        };
        let direct = Client::connect(deployment.direct_uri()).await.expect("a client");
        let create =
            doc! { "createUser": "older", "pwd": "secret", "roles": ["root"], "mechanisms": ["SCRAM-SHA-1"] };
        direct
            .database("admin")
            .run_command(create)
            .await
            .expect("a user");
        Self { deployment, direct }
    }

    /// Connects a client through the proxies, and counts its connections.
    pub(super) fn connect(&self, mode: Mode, change: impl FnOnce(&mut ClientOptions)) -> Connected {
        let tasks_before = tasks::alive();
        let options = format!(
            "maxPoolSize={POOL}&serverMonitoringMode={}&{TIMEOUTS}",
            mode.as_str()
        );
        let mut options =
            ClientOptions::parse(&self.deployment.uri(USER, options)).expect("a connection string");
        let tally = PoolTally::default();
        tally.listen(&mut options);
        change(&mut options);
        let client = Client::with_options(options).expect("a client");
        Connected {
            client,
            tally,
            tasks_before,
        }
    }

    /// Ends all faults, also those that have begun.
    pub(super) fn end_faults(&self) {
        for proxy in &self.deployment.proxies {
            proxy.pass_everything();
            proxy.end_waits();
        }
    }

    /// Waits until operations of the client succeed again.
    pub(super) async fn wait_for_recovery(&self, connected: &Connected, script: &Script) {
        // The client may not have observed the last faults yet.
        while let Err(error) = work::ping(&connected.client).await {
            work::check(&error);
        }
        script.recovered_from_all();
    }

    /// Checks that no connection has leaked, shuts the client down, and checks that it leaves
    /// nothing behind.
    pub(super) async fn end(&self, connected: Connected) -> Counts {
        let Connected {
            client,
            tally,
            tasks_before,
        } = connected;
        self.expect_whole_pool(&client).await;
        println!("the pool is complete: {:?}", tally.counts());
        // Cursors may still be killed in the background.
        tally.wait_until(Counts::is_at_rest).await;
        client.shutdown().await;
        drop(client);
        println!("the client is shut down: {:?}", tally.counts());
        self.deployment.wait_for_at_most_open(0).await;
        println!("all connections are closed");
        tasks::wait_for_at_most(tasks_before).await;
        tally.assert_nothing_left();
        let counts = tally.counts();
        assert!(counts.max_pending <= 2 && counts.max_open <= POOL, "{counts:?}");
        counts
    }

    /// Checks that no connection has leaked: as many operations as the pool of the primary has
    /// connections can run at the same time.
    ///
    /// A check of a server that hangs because of a fault can still time out here, which clears the
    /// pool. Then the operations are sent again.
    async fn expect_whole_pool(&self, client: &Client) {
        for _ in 0..MAX_CLEARS {
            if self.use_whole_pool(client).await {
                return self.deployment.wait_for_at_most_open(POOL + OF_MONITOR).await;
            }
        }
        panic!("{POOL} operations cannot run at the same time");
    }

    /// Returns whether the operations ran at the same time and succeeded.
    async fn use_whole_pool(&self, client: &Client) -> bool {
        let (seen, mut count) = watch::channel(0);
        for proxy in &self.deployment.proxies {
            let seen = seen.clone();
            proxy.set_rule(move |exchange| {
                if exchange.command != "ping" {
                    return Action::Pass;
                }
                seen.send_modify(|seen| *seen += 1);
                Action::Delay
            });
        }
        let mut pings = JoinSet::new();
        for _ in 0..POOL {
            let client = client.clone();
            pings.spawn(async move { work::ping(&client).await });
        }
        let mut all_succeeded = tokio::select! {
            all_sent = count.wait_for(|count| *count == POOL) => {
                all_sent.expect("the rule exists");
                true
            }
            Some(ended) = pings.join_next() => {
                work::check(&ended.expect("no panic").expect_err("the reply is held back"));
                false
            }
        };
        self.end_faults();
        while let Some(ended) = pings.join_next().await {
            if let Err(error) = ended.expect("no panic") {
                work::check(&error);
                all_succeeded = false;
            }
        }
        all_succeeded
    }
}
