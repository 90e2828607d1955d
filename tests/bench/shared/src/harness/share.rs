//! Work that is shared among as many tasks as there are cores, as an application would.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::harness::Failure;

/// How many tasks work at a time: one for each core.
#[must_use]
pub fn workers() -> usize {
    std::thread::available_parallelism().map_or(4, usize::from)
}

/// Does `work` for every number below `count`; each worker takes the next number when it is done with one.
///
/// # Errors
/// What a worker reports.
pub async fn share<W, F>(count: usize, work: W) -> Result<(), Failure>
where
    W: Fn(usize) -> F + Clone + Send + 'static,
    F: Future<Output = Result<(), Failure>> + Send,
{
    let next = Arc::new(AtomicUsize::new(0));
    let workers: Vec<_> = (0..workers().min(count))
        .map(|_| {
            let (next, work) = (next.clone(), work.clone());
            tokio::spawn(async move {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return Ok::<(), Failure>(());
                    }
                    work(number).await?;
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await??;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    fn run(future: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
        let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
        runtime.block_on(future)
    }

    #[test]
    fn every_number_is_worked_on_once() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let of_workers = seen.clone();
        run(share(50, move |number| {
            let seen = of_workers.clone();
            async move {
                seen.lock().unwrap().push(number);
                Ok(())
            }
        }))
        .unwrap();
        let mut seen = seen.lock().unwrap().clone();
        seen.sort_unstable();
        assert_eq!(seen, (0..50).collect::<Vec<_>>());
    }

    #[test]
    fn an_error_is_reported() {
        let result = run(share(5, async |number| match number {
            3 => Err("three".into()),
            _ => Ok(()),
        }));
        assert_eq!(result.unwrap_err().to_string(), "three");
    }
}
