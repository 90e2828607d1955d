//! The main function of the Rust client programs: runtime, warm-up, tasks, measurement.

use std::{error::Error, fmt, future::Future, process::ExitCode, sync::Arc};

use tokio::runtime;

use crate::contract::{Arguments, Figures, Material, Meter, Runtime, Task, arguments::part};

/// The error of a program.
pub type Failure = Box<dyn Error + Send + Sync>;

/// The driver does not support the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotOffered;

impl fmt::Display for NotOffered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the driver does not support the task")
    }
}

impl Error for NotOffered {}

/// A driver to measure.
pub trait BenchClient: Clone + Send + Sync + 'static {
    /// Creates a client.
    ///
    /// # Errors
    /// Errors of the driver.
    fn connect(uri: &str) -> impl Future<Output = Result<Self, Failure>> + Send;

    /// Creates a client for a task that requires options of its own.
    ///
    /// # Errors
    /// Errors of the driver.
    fn connect_for(_task: Task, uri: &str) -> impl Future<Output = Result<Self, Failure>> + Send {
        Self::connect(uri)
    }

    /// Runs the operation `count` times, sequentially.
    ///
    /// # Errors
    /// Errors of the driver, and unexpected results.
    fn work(
        &self,
        task: Task,
        material: &Material,
        count: u64,
    ) -> impl Future<Output = Result<(), Failure>> + Send;

    /// The sizes of the futures of the main calls.
    ///
    /// # Errors
    /// Errors of the driver.
    fn futures(&self) -> impl Future<Output = Result<Vec<FutureSize>, Failure>> + Send {
        async { Ok(Vec::new()) }
    }
}

/// The size of the future of a call, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FutureSize {
    /// The name of the call.
    pub call: &'static str,
    /// Size of the future that the call returns, which is part of the caller's future.
    pub held: usize,
    /// Size of the future that the call allocates, if it does.
    pub boxed: Option<usize>,
}

/// The [`FutureSize`] of an expression that can be awaited; with `boxed`, of one whose `IntoFuture`
/// is a box.
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

/// The main function of a client program.
#[must_use]
pub fn run<C: BenchClient>() -> ExitCode {
    let given: Vec<String> = std::env::args().skip(1).collect();
    match given.as_slice() {
        [flag, uri] if flag == "--futures" => end(futures::<C>(uri)),
        _ => finish(given, measure::<C>),
    }
}

/// Parses the arguments, runs the task, and prints the measurements.
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

/// Formats the sizes as one line of JSON.
fn futures<C: BenchClient>(uri: &str) -> Result<String, Failure> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let sizes = C::connect(uri).await?.futures().await?;
        let sizes: Vec<String> = sizes.iter().map(FutureSize::to_string).collect();
        Ok(format!("[{}]", sizes.join(",")))
    })
}

fn measure<C: BenchClient>(arguments: &Arguments) -> Result<Figures, Failure> {
    let mut builder = match arguments.runtime {
        Runtime::Current => runtime::Builder::new_current_thread(),
        Runtime::Multi => runtime::Builder::new_multi_thread(),
    };
    let runtime = builder.enable_all().build()?;
    let material = Arc::new(Material::new(arguments.task));
    runtime.block_on(async {
        let client = C::connect_for(arguments.task, &arguments.uri).await?;
        let warm_up = arguments.task.warm_up() * arguments.tasks;
        share(&client, arguments, &material, warm_up).await?;
        let meter = Meter::start()?;
        share(&client, arguments, &material, arguments.ops).await?;
        Ok(meter.stop(arguments.ops)?)
    })
}

/// Distributes the operations among the tasks, and waits for all of them.
async fn share<C: BenchClient>(
    client: &C,
    arguments: &Arguments,
    material: &Arc<Material>,
    ops: u64,
) -> Result<(), Failure> {
    let (tasks, task) = (arguments.tasks, arguments.task);
    let handles: Vec<_> = (0..tasks)
        .map(|n| {
            let count = part(ops, tasks, n);
            let (client, material) = (client.clone(), material.clone());
            tokio::spawn(async move { client.work(task, &material, count).await })
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
    fn future_sizes_are_measured() {
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
