//! Distributes work among one task for each core.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::harness::Failure;

/// Number of concurrent tasks: one for each core.
#[must_use]
pub fn workers() -> usize {
    std::thread::available_parallelism().map_or(4, usize::from)
}

/// Runs `work` for every number below `count`. Each worker takes the next number when it has
/// completed one.
///
/// # Errors
/// The first error of a worker.
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
    fn every_number_is_processed_once() {
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
    fn an_error_is_returned() {
        let result = run(share(5, async |number| match number {
            3 => Err("three".into()),
            _ => Ok(()),
        }));
        assert_eq!(result.unwrap_err().to_string(), "three");
    }
}
