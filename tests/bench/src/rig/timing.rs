//! Measures times. The clients run in alternating rounds, so that other load on the machine affects
//! all of them.

use marula_bench_shared::contract::{Arguments, Figures};

use super::{
    Failure,
    clients::BenchClient,
    plan::Cell,
    report::{Times, Timing},
    server::Server,
    statistics::Spread,
};

/// The amount of measurement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    pub(super) rounds: u64,
    /// Duration of a run, in nanoseconds.
    pub(super) run_ns: u64,
}

impl Effort {
    pub(super) fn new(quick: bool, rounds: Option<u64>) -> Self {
        let (usual, run_ns) = if quick { (3, 100_000_000) } else { (5, 300_000_000) };
        Self {
            rounds: rounds.unwrap_or(usual).max(1),
            run_ns,
        }
    }

    /// Number of operations of a run, estimated from a short one.
    fn ops(&self, short: &Figures, cell: &Cell) -> u64 {
        let of_one = short.wall_ns / short.ops.max(1);
        (self.run_ns / of_one.max(1)).max(cell.least_ops())
    }
}

/// The times of a row. A short run of each client determines the number of operations of its other
/// runs.
pub(super) fn row(
    clients: &[BenchClient],
    server: &Server,
    cell: &Cell,
    effort: Effort,
) -> Result<Times, Failure> {
    let mut arguments = Arguments {
        uri: server.uri(cell.topology)?,
        task: cell.task,
        tasks: cell.tasks,
        runtime: cell.runtime,
        ops: cell.first_ops(),
    };
    let mut ops = Vec::new();
    for client in clients {
        let short = client.run(&arguments)?;
        ops.push(short.map(|short| effort.ops(&short, cell)));
    }
    let mut runs: Vec<Vec<Figures>> = vec![Vec::new(); clients.len()];
    for _ in 0..effort.rounds {
        for ((client, runs), ops) in clients.iter().zip(&mut runs).zip(&ops) {
            if let Some(ops) = *ops {
                arguments.ops = ops;
                runs.extend(client.run(&arguments)?);
            }
        }
    }
    Ok(Times {
        task: cell.task.name(),
        topology: cell.topology.name(),
        tasks: cell.tasks,
        runtime: cell.runtime.name(),
        charted: cell.charted,
        entries: runs.iter().map(|runs| Timing::of(runs)).collect(),
    })
}

impl Timing {
    fn of(runs: &[Figures]) -> Option<Self> {
        let spread = |value: fn(&Figures) -> f64| Spread::of(runs.iter().map(value).collect());
        Some(Self {
            ops_per_second: spread(|run| run.ops as f64 * 1e9 / run.wall_ns.max(1) as f64)?,
            cpu_us: spread(|run| run.cpu_ns as f64 / 1e3 / run.ops.max(1) as f64)?,
            peak_kib: spread(|run| run.peak_kib as f64)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: Figures = Figures {
        ops: 1_000,
        wall_ns: 500_000_000,
        cpu_ns: 20_000_000,
        peak_kib: 4_096,
    };

    #[test]
    fn rates_are_computed() {
        let timing = Timing::of(&[RUN]).unwrap();
        assert_eq!(timing.ops_per_second.median, 2_000.0);
        assert_eq!(timing.cpu_us.median, 20.0);
        assert!(Timing::of(&[]).is_none());
    }

    #[test]
    fn runs_have_the_same_duration() {
        let cells = super::super::plan::cells(false);
        let effort = Effort::new(false, None);
        assert_eq!(effort.ops(&RUN, &cells[0]), 600);
        let slow = Figures { ops: 1, ..RUN };
        assert_eq!(effort.ops(&slow, &cells[0]), cells[0].least_ops());
    }
}
