//! What every client program of the comparison does alike, so that only the drivers differ.
//!
//! A program is called with
//! `--uri URI --task TASK --tasks N --runtime current|multi --ops M`, connects, warms up, does `M` operations in `N` tasks
//! at a time, and prints one line of JSON about the measured part:
//!
//! ```json
//! {"ops":20000,"wall_ns":812345678,"cpu_ns":512345678,"peak_kib":9876}
//! ```
//!
//! `cpu_ns` is the user and system time of all threads of the process, `peak_kib` the most memory that was ever resident.
//! Exit codes: 0, 1 when an operation failed, 2 for wrong arguments, 3 for a task that the driver has no means for.
//!
//! Called with `--futures URI`, a program in Rust prints how large the futures of its calls are instead, as
//! `[{"call":"insert_one","held":80,"boxed":900}]`.
//!
//! How often memory is allocated is not in it: `valgrind` counts that from outside, for programs in C as well, and without a
//! counting allocator in the way of what is measured.
//!
//! | task | one operation |
//! |---|---|
//! | `ping` | the command built, the whole reply read into a document |
//! | `ping_raw` | the command built before, the reply left as bytes |
//! | `insert_one` | a [`Small`] |
//! | `insert_one_27k` | a [`Large`] |
//! | `find_one` | by `_id`, into a [`Small`] |
//! | `find_one_raw_tweet` | by `_id`, left as bytes |
//! | `find_10k_owned`, `find_10k_borrowed`, `find_10k_raw` | 10,000 [`Small`]s, each into a struct that owns its strings, one that borrows them, or left as bytes |
//! | `find_10k_tweets_document` | 10,000 tweets, each into a tree of values |
//! | `find_10k_tweets_raw` | 10,000 tweets, left as bytes |
//! | `insert_many_10k` | 10,000 [`Small`]s in one call |
//!
//! The warm-up is the same number of operations whatever `--ops` says, so that the difference of two runs counts operations
//! and nothing else.

mod arguments;
mod documents;
mod meter;
mod run;
mod threads;

pub use crate::future_size;
pub use arguments::{Arguments, Runtime, Task};
pub use documents::{
    DATABASE, INSERTED, Large, Line, MANY, MANY_SMALL, MANY_TWEETS, Material, ONE_SMALL, ONE_TWEET, Small,
    SmallRef, id,
};
pub use meter::{Figures, Meter};
pub use run::{Contestant, Failure, FutureSize, NotOffered, run};
pub use threads::{Worker, run_threads};
