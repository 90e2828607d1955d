//! Timeouts and shutdown: time limits of calls, warm-up, shutdown.
//!
//! # One limit for the whole call
//!
//! `timeoutMS` limits a call as a whole: the selection of a server, the wait for a connection, all
//! commands and retries. Default: none; set one in production. It is inherited: client, database or
//! collection, action.
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! use std::time::Duration;
//!
//! // mongodb://host/?timeoutMS=10000 for the client.
//! let orders = orders.with_timeout(Duration::from_secs(2)); // this handle
//! let count = orders.count(|o| o.total().gt(0)).timeout(Duration::from_millis(500)).await?; // this call
//! assert_eq!(count, 3);
//! # Ok(()) });
//! ```
//!
//! The server receives the rest of the time with each command, and ends the command itself. The
//! connection is used again. Do not wrap calls in `tokio::time::timeout`: the server does not know
//! of it and continues to work.
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! use std::time::Duration;
//!
//! let slow = doc! {
//!     "configureFailPoint": "failCommand", "mode": { "times": 1 },
//!     "data": { "failCommands": ["find"], "blockConnection": true, "blockTimeMS": 60_000 },
//! };
//! client.driver().database("admin").run_command(slow).await?;
//!
//! let error = orders.find_all().timeout(Duration::from_millis(50)).await.unwrap_err();
//! assert!(error.is_timeout());
//! # Ok(()) });
//! ```
//!
//! # Other limits
//!
//! | option | default | limits |
//! |---|---|---|
//! | `timeoutMS` | none | a whole operation |
//! | `serverSelectionTimeoutMS` | 30 s | the wait for a suitable server |
//! | `connectTimeoutMS` | 10 s | a connection, and each heartbeat |
//! | `maxIdleTimeMS` | none | how long an unused connection is kept |
//! | `maxPoolSize` | 100 | connections to each server |
//!
//! A change stream has no end: `timeoutMS` limits each request for events, and
//! [`max_await_time`](crate::collection::Watch::max_await_time) how long the server waits for one.
//!
//! # Cancellation
//!
//! A call is a future: dropping it cancels it. A command that was sent may be executed; the reply
//! is read in the background, so that the connection can be used again. A dropped stream closes its
//! cursor on the server, and a dropped transaction is aborted.
//!
//! # Start
//!
//! [`Client::connect`](crate::Client::connect) returns without a connection. To have connections
//! before the first request, and to fail early, set `minPoolSize` and await
//! [`warm_up`](crate::Client::warm_up):
//!
//! ```no_run
//! use std::time::Duration;
//!
//! async fn start() -> Result<marula::Client, Box<dyn std::error::Error>> {
//!     let client = marula::connect("mongodb://db/?minPoolSize=10&serverSelectionTimeoutMS=5000").await?;
//!     client.warm_up().await?;
//!     Ok(client)
//! }
//! ```
//!
//! # Shutdown
//!
//! [`Client::shutdown`](crate::Client::shutdown) refuses new calls, waits for those in progress until its
//! [`deadline`](crate::driver::action::Shutdown::deadline), ends sessions and closes connections. **Without
//! a deadline it does not wait**: calls in progress fail, also writes that wait for a connection, and
//! transactions are aborted. The order in a web application: stop accepting requests, let handlers end, shut
//! down the client with a deadline.
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! use std::time::Duration;
//!
//! let (count, rest) = tokio::join!(
//!     orders.count(|o| o.total().gt(0)), // in progress: it ends
//!     async { client.shutdown().deadline(Duration::from_secs(10)).await },
//! );
//! assert_eq!((count?, rest.operations), (3, 0));
//! assert!(orders.find_all().await.is_err()); // refused
//! # Ok(()) });
//! ```
//!
//! # Elections and overload
//!
//! Reads and writes are repeated once after network errors and elections (`retryReads`,
//! `retryWrites`, default: on), within the time limit.
//! [`Error::is_unavailable`](crate::Error::is_unavailable) recognizes what the application can
//! repeat later. `update_many` and `delete_many` are not repeated by the driver.
