//! The main function of client programs without a runtime: one thread for each task, warm-up,
//! measurement.

use std::{process::ExitCode, sync::Barrier, thread};

use crate::contract::{Arguments, Failure, Figures, Material, Meter, run::finish};

/// The state of a thread.
pub trait Worker: Sized {
    /// Connects.
    ///
    /// # Errors
    /// If the connection fails.
    fn connect(arguments: &Arguments, material: &Material) -> Result<Self, Failure>;

    /// Runs the operation once.
    ///
    /// # Errors
    /// Errors of the connection, and unexpected replies.
    fn operation(&mut self) -> Result<(), Failure>;
}

/// The main function of a client program. The argument `--runtime` is ignored.
#[must_use]
pub fn run_threads<W: Worker>() -> ExitCode {
    finish(std::env::args().skip(1), measure::<W>)
}

/// The threads wait at a barrier before and after the measurement, so that none ends during it. An
/// error is returned after the last barrier, so that no thread waits for one that has ended.
fn measure<W: Worker>(arguments: &Arguments) -> Result<Figures, Failure> {
    let material = Material::new(arguments.task);
    let threads = usize::try_from(arguments.tasks)?;
    let meeting = Barrier::new(threads + 1);
    let work = |count: u64| {
        let mut worker = W::connect(arguments, &material);
        let warm_up = times(&mut worker, arguments.task.warm_up());
        meeting.wait();
        let done = times(&mut worker, count);
        // First wait: all operations are complete. Second wait: the measurement is complete.
        meeting.wait();
        meeting.wait();
        warm_up.and(done)
    };
    let work = &work;
    thread::scope(|scope| {
        let handles: Vec<_> = (0..arguments.tasks)
            .map(|n| scope.spawn(move || work(arguments.share(n))))
            .collect();
        meeting.wait();
        let meter = Meter::start();
        meeting.wait();
        let figures = meter.and_then(|meter| meter.stop(arguments.ops));
        meeting.wait();
        for handle in handles {
            handle.join().map_err(|_| "a thread has panicked")??;
        }
        Ok(figures?)
    })
}

/// Runs the operation `count` times. Returns the error of a worker that could not connect, once.
fn times<W: Worker>(worker: &mut Result<W, Failure>, count: u64) -> Result<(), Failure> {
    let Ok(connected) = worker else {
        let missing = std::mem::replace(worker, Err("the worker is not connected".into()));
        return missing.map(|_| ());
    };
    for _ in 0..count {
        connected.operation()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Runtime, Task};
    use std::sync::atomic::{AtomicU64, Ordering};

    static DONE: AtomicU64 = AtomicU64::new(0);

    struct Counting;

    impl Worker for Counting {
        fn connect(arguments: &Arguments, _: &Material) -> Result<Self, Failure> {
            match arguments.uri.as_str() {
                "nowhere" => Err("connection refused".into()),
                _ => Ok(Self),
            }
        }

        fn operation(&mut self) -> Result<(), Failure> {
            DONE.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
    }

    fn arguments(uri: &str) -> Arguments {
        Arguments {
            uri: uri.to_owned(),
            task: Task::Ping,
            tasks: 3,
            runtime: Runtime::Current,
            ops: 10,
        }
    }

    #[test]
    fn operations_are_distributed_among_the_threads() {
        let figures = measure::<Counting>(&arguments("somewhere")).unwrap();
        assert_eq!(figures.ops, 10);
        assert_eq!(DONE.load(Ordering::Relaxed), 3 * Task::Ping.warm_up() + 10);
    }

    #[test]
    fn errors_are_returned_when_all_threads_are_done() {
        let error = measure::<Counting>(&arguments("nowhere")).unwrap_err();
        assert_eq!(error.to_string(), "connection refused");
    }
}
