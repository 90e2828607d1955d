//! The frame of a client program in Rust: runtime, warm-up, tasks, measuring.

use std::{error::Error, fmt, future::Future, process::ExitCode, sync::Arc};

use tokio::runtime;

use crate::contract::{Arguments, Figures, Material, Meter, Runtime, Task, arguments::part};

/// Why a program ends early.
pub type Failure = Box<dyn Error + Send + Sync>;

/// A driver has no means for the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotOffered;

impl fmt::Display for NotOffered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this driver has no means for the task")
    }
}

impl Error for NotOffered {}

/// A driver that is measured.
pub trait Contestant: Clone + Send + Sync + 'static {
    /// Makes a client.
    ///
    /// # Errors
    /// What the driver reports.
    fn connect(uri: &str) -> impl Future<Output = Result<Self, Failure>> + Send;

    /// Does the operation so many times, one after the other.
    ///
    /// # Errors
    /// What the driver reports, or that a result is not what it must be.
    fn work(
        &self,
        task: Task,
        material: &Material,
        count: u64,
    ) -> impl Future<Output = Result<(), Failure>> + Send;

    /// How large the futures of the main calls are.
    ///
    /// # Errors
    /// What the driver reports.
    fn futures(&self) -> impl Future<Output = Result<Vec<FutureSize>, Failure>> + Send {
        async { Ok(Vec::new()) }
    }
}

/// How large the future of a call is, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FutureSize {
    /// The name of the call.
    pub call: &'static str,
    /// What an application's own future holds while it awaits the call.
    pub held: usize,
    /// What is in the box that the call makes of its own, where it makes one.
    pub boxed: Option<usize>,
}

/// The [`FutureSize`] of an expression that can be awaited; with `boxed` before it, of one whose future is a box.
#[macro_export]
macro_rules! future_size {
    ($call:literal, boxed $future:expr) => {
        $crate::contract::FutureSize {
            boxed: Some(size_of_val(&*($future).into_future())),
            ..$crate::future_size!($call, $future)
        }
    };
    ($call:literal, $future:expr) => {
        $crate::contract::FutureSize {
            call: $call,
            held: size_of_val(&async {
                let _ = $future.await;
            }),
            boxed: None,
        }
    };
}

impl fmt::Display for FutureSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { call, held, boxed } = self;
        write!(f, r#"{{"call":"{call}","held":{held},"boxed":"#)?;
        match boxed {
            Some(boxed) => write!(f, "{boxed}}}"),
            None => f.write_str("null}"),
        }
    }
}

/// The whole program.
#[must_use]
pub fn run<C: Contestant>() -> ExitCode {
    let given: Vec<String> = std::env::args().skip(1).collect();
    match given.as_slice() {
        [flag, uri] if flag == "--futures" => end(futures::<C>(uri)),
        _ => finish(given, measure::<C>),
    }
}

/// Reads the arguments, measures, and prints the figures.
pub(crate) fn finish(
    given: impl IntoIterator<Item = String>,
    measure: impl FnOnce(&Arguments) -> Result<Figures, Failure>,
) -> ExitCode {
    match Arguments::parse(given) {
        Ok(arguments) => end(measure(&arguments)),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn end(result: Result<impl fmt::Display, Failure>) -> ExitCode {
    match result {
        Ok(result) => {
            println!("{result}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(if error.is::<NotOffered>() { 3 } else { 1 })
        }
    }
}

/// The sizes as one line of JSON.
fn futures<C: Contestant>(uri: &str) -> Result<String, Failure> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let sizes = C::connect(uri).await?.futures().await?;
        let sizes: Vec<String> = sizes.iter().map(FutureSize::to_string).collect();
        Ok(format!("[{}]", sizes.join(",")))
    })
}

fn measure<C: Contestant>(arguments: &Arguments) -> Result<Figures, Failure> {
    let mut builder = match arguments.runtime {
        Runtime::Current => runtime::Builder::new_current_thread(),
        Runtime::Multi => runtime::Builder::new_multi_thread(),
    };
    let runtime = builder.enable_all().build()?;
    let material = Arc::new(Material::new(arguments.task));
    runtime.block_on(async {
        let contestant = C::connect(&arguments.uri).await?;
        let warm_up = arguments.task.warm_up() * arguments.tasks;
        share(&contestant, arguments, &material, warm_up).await?;
        let meter = Meter::start()?;
        share(&contestant, arguments, &material, arguments.ops).await?;
        Ok(meter.stop(arguments.ops)?)
    })
}

/// Shares the operations among the tasks, and waits until all are done.
async fn share<C: Contestant>(
    contestant: &C,
    arguments: &Arguments,
    material: &Arc<Material>,
    ops: u64,
) -> Result<(), Failure> {
    let (tasks, task) = (arguments.tasks, arguments.task);
    let handles: Vec<_> = (0..tasks)
        .map(|n| {
            let count = part(ops, tasks, n);
            let (contestant, material) = (contestant.clone(), material.clone());
            tokio::spawn(async move { contestant.work(task, &material, count).await })
        })
        .collect();
    for handle in handles {
        handle.await??;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_printed_as_json() {
        let size = |boxed| FutureSize {
            call: "ping",
            held: 24,
            boxed,
        };
        assert_eq!(
            size(None).to_string(),
            r#"{"call":"ping","held":24,"boxed":null}"#
        );
        assert_eq!(
            size(Some(8)).to_string(),
            r#"{"call":"ping","held":24,"boxed":8}"#
        );
    }

    #[test]
    fn a_future_is_as_large_as_what_it_waits_for() {
        let large = || async {
            let bytes = std::hint::black_box([0_u8; 1_000]);
            std::future::ready(()).await;
            std::hint::black_box(bytes);
        };
        let size = future_size!("large", large());
        assert!(size.held >= 1_000 && size.boxed.is_none(), "{size}");
        let size = future_size!("boxed", boxed Box::pin(large()));
        assert!(size.held < 100 && size.boxed >= Some(1_000), "{size}");
    }
}
