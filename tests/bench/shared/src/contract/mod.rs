//! The common part of the client programs of the comparison, so that only the drivers differ.
//!
//! A program is called with `--uri URI --task TASK --tasks N --runtime current|multi --ops M`,
//! connects, warms up, runs `M` operations in `N` concurrent tasks, and prints one line of JSON:
//!
//! ```json
//! {"ops":20000,"wall_ns":812345678,"cpu_ns":512345678,"peak_kib":9876}
//! ```
//!
//! `cpu_ns` is the user and system time of all threads of the process, `peak_kib` the peak resident
//! memory. Exit codes: 0; 1 if an operation failed; 2 for invalid arguments; 3 if the driver does
//! not support the task.
//!
//! With `--futures URI`, a Rust program prints the sizes of the futures of its calls instead:
//! `[{"call":"insert_one","held":80,"boxed":900}]`.
//!
//! Allocations are counted by valgrind, also for programs in C, so that no counting allocator
//! affects the measurement.
//!
//! | task | one operation |
//! |---|---|
//! | `ping` | the command is built, the reply is decoded into a document |
//! | `ping_raw` | the command is built once, the reply is not decoded |
//! | `insert_one` | a [`Small`] |
//! | `insert_one_27k` | a [`Large`] |
//! | `find_one` | by `_id`, into a [`Small`] |
//! | `find_one_timeout` | as `find_one`, of a client with `timeoutMS` |
//! | `find_one_two_fields` | by two conditions, into a [`Small`] |
//! | `update_one` | by `_id`: a `$inc` and a `$set` |
//! | `find_one_27k` | by `_id`, into a [`Large`] |
//! | `find_one_raw_tweet` | by `_id`, not decoded |
//! | `transaction_two_inserts` | a session, two `insert_one` of a [`Small`] and the commit, by the convenient API |
//! | `find_10k_owned`, `find_10k_borrowed`, `find_10k_raw` | 10,000 [`Small`]s, each into a struct that owns its strings, one that borrows them, or not decoded |
//! | `find_10k_tweets_document` | 10,000 tweets, each into a `Document` |
//! | `find_10k_tweets_raw` | 10,000 tweets, not decoded |
//! | `find_10k_rich` | 10,000 [`Rich`] documents, each into a struct |
//! | `insert_many_10k`, `insert_many_10k_rich` | 10,000 [`Small`]s or [`Rich`] documents in one call |
//! | `change_stream_10k` | a change stream is opened, and 10,000 events with a [`Small`] as `fullDocument` are decoded; 1,000 in a batch |
//!
//! The number of warm-up operations does not depend on `--ops`, so that the difference of the
//! counts of two runs is that of the operations.

mod arguments;
mod documents;
mod meter;
mod run;
mod threads;

pub use crate::future_size;
pub use arguments::{Arguments, Runtime, Task};
pub use documents::{
    Address, DATABASE, INSERTED, Item, Large, Line, MANY, MANY_RICH, MANY_SMALL, MANY_TWEETS, Material,
    ONE_LARGE, ONE_SMALL, ONE_TWEET, Rich, Small, SmallRef, State, WATCHED, id,
};
pub use meter::{Figures, Meter};
pub use run::{BenchClient, Failure, FutureSize, NotOffered, run};
pub use threads::{Worker, run_threads};
