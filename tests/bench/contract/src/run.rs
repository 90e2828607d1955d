//! The frame of a client program in Rust: runtime, warm-up, tasks, measuring.

use std::{error::Error, fmt, future::Future, process::ExitCode, sync::Arc};

use tokio::runtime;

use crate::{Arguments, Figures, Material, Meter, Runtime, Task};

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
}

/// The whole program.
#[must_use]
pub fn run<C: Contestant>() -> ExitCode {
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    match measure::<C>(&arguments) {
        Ok(figures) => {
            println!("{figures}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(if error.is::<NotOffered>() { 3 } else { 1 })
        }
    }
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
            let count = ops / tasks + u64::from(n < ops % tasks);
            let (contestant, material) = (contestant.clone(), material.clone());
            tokio::spawn(async move { contestant.work(task, &material, count).await })
        })
        .collect();
    for handle in handles {
        handle.await??;
    }
    Ok(())
}
