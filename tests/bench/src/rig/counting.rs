//! Counts of all clients. Counts do not depend on the load of the machine, so several runs are in
//! progress at a time.

use std::{
    num::NonZero,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use marula_bench_shared::contract::Task;

use super::{
    Failure, Paths, callgrind,
    clients::BenchClient,
    dhat, plan,
    report::{Count, Counted},
    server::{Server, Topology},
};

/// Maximum number of concurrent runs. A run can take minutes.
const AT_A_TIME: usize = 3;

/// The counts of all selected rows.
pub(super) fn rows(
    clients: &[BenchClient],
    paths: &Paths,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<Counted>, Failure> {
    let cases: Vec<(Topology, Task)> = [Topology::Standalone, Topology::ThreeNode]
        .into_iter()
        .flat_map(|topology| {
            plan::counted(topology)
                .into_iter()
                .map(move |task| (topology, task))
        })
        .filter(|(topology, task)| wanted(&format!("{task} {}", topology.name())))
        .collect();
    let server = Server::start(Some(callgrind::DELAY_US))?;
    let jobs: Vec<_> = cases
        .iter()
        .flat_map(|case| clients.iter().map(move |client| (*case, client)))
        .collect();
    let mut counts = at_a_time(&jobs, |((topology, task), client)| {
        let count = count(client, &server, *topology, *task, paths);
        eprintln!("counted: {task}, {}, {}", topology.name(), client.role.name());
        count.map_err(|error| error.to_string())
    })?
    .into_iter();
    let row = |(topology, task): (Topology, Task)| Counted {
        task: task.name(),
        topology: topology.name(),
        entries: counts.by_ref().take(clients.len()).collect(),
    };
    Ok(cases.into_iter().map(row).collect())
}

fn count(
    client: &BenchClient,
    server: &Server,
    topology: Topology,
    task: Task,
    paths: &Paths,
) -> Result<Option<Count>, Failure> {
    let counts = callgrind::per_operation(client, server, topology, task, &paths.out)?;
    let Some(counts) = counts else { return Ok(None) };
    let bytes = dhat::bytes_per_operation(client, server, topology, task)?;
    Ok(bytes.map(|bytes| Count {
        instructions: counts.instructions,
        allocations: counts.allocations,
        bytes,
    }))
}

/// Runs all jobs concurrently, starting with the last ones, which take longest. The results are in
/// the order of the jobs. After an error no further job is started.
fn at_a_time<J: Sync, R: Send>(
    jobs: &[J],
    work: impl Fn(&J) -> Result<R, String> + Sync,
) -> Result<Vec<R>, Failure> {
    let remaining = AtomicUsize::new(jobs.len());
    let results: Vec<Mutex<Option<R>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let failure = Mutex::new(None);
    let worker = || {
        let take = |remaining: usize| remaining.checked_sub(1);
        while let Ok(number) = remaining.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
            match work(&jobs[number - 1]) {
                Ok(result) => *lock(&results[number - 1]) = Some(result),
                Err(error) => {
                    remaining.store(0, Ordering::Relaxed);
                    lock(&failure).get_or_insert(error);
                }
            }
        }
    };
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME.min(cores) {
            scope.spawn(worker);
        }
    });
    if let Some(error) = lock(&failure).take() {
        return Err(error.into());
    }
    let results = results.into_iter().map(|result| {
        let result = result.into_inner().unwrap_or_else(PoisonError::into_inner);
        result.ok_or_else(|| "a count is missing".into())
    });
    results.collect()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_jobs() {
        let jobs: Vec<u32> = (0..20).collect();
        let doubled = at_a_time(&jobs, |job| Ok(job * 2)).unwrap();
        assert_eq!(doubled, jobs.iter().map(|job| job * 2).collect::<Vec<_>>());
        assert!(at_a_time(&[], |job: &u32| Ok(*job)).unwrap().is_empty());
    }

    #[test]
    fn an_error_stops_the_jobs() {
        let failed = at_a_time(&[1, 2, 3], |job| match job {
            2 => Err("two".to_owned()),
            other => Ok(*other),
        });
        assert_eq!(failed.unwrap_err().to_string(), "two");
    }
}
