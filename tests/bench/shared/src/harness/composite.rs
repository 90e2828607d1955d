//! The composite scores of the driver suite: averages of the scores of tasks.

use crate::harness::Task;

/// A composite score over tasks.
#[derive(Clone, Copy, Debug)]
pub struct Composite {
    /// The name in the specification.
    pub name: &'static str,
    /// The tasks whose scores are averaged.
    pub tasks: &'static [Task],
}

/// The composites of tasks. DriverBench is the average of ReadBench and WriteBench.
pub const COMPOSITES: [Composite; 6] = [
    Composite {
        name: "BSONBench",
        tasks: &[
            Task::FlatEncode,
            Task::FlatDecode,
            Task::DeepEncode,
            Task::DeepDecode,
            Task::FullEncode,
            Task::FullDecode,
        ],
    },
    Composite {
        name: "SingleBench",
        tasks: &[Task::FindOneById, Task::SmallInsertOne, Task::LargeInsertOne],
    },
    Composite {
        name: "MultiBench",
        tasks: &[
            Task::FindMany,
            Task::SmallBulkInsert,
            Task::LargeBulkInsert,
            Task::SmallCollectionBulkWrite,
            Task::LargeCollectionBulkWrite,
            Task::SmallClientBulkWrite,
            Task::LargeClientBulkWrite,
            Task::MixedClientBulkWrite,
            Task::MixedCollectionBulkWrite,
            Task::GridFsUpload,
            Task::GridFsDownload,
        ],
    },
    Composite {
        name: "ParallelBench",
        tasks: &[
            Task::LdjsonImport,
            Task::LdjsonExport,
            Task::GridFsMultiUpload,
            Task::GridFsMultiDownload,
        ],
    },
    READ_BENCH,
    WRITE_BENCH,
];

/// The tasks that read.
pub const READ_BENCH: Composite = Composite {
    name: "ReadBench",
    tasks: &[
        Task::FindOneById,
        Task::FindMany,
        Task::GridFsDownload,
        Task::LdjsonExport,
        Task::GridFsMultiDownload,
    ],
};

/// The tasks that write.
pub const WRITE_BENCH: Composite = Composite {
    name: "WriteBench",
    tasks: &[
        Task::SmallInsertOne,
        Task::LargeInsertOne,
        Task::SmallBulkInsert,
        Task::LargeBulkInsert,
        Task::SmallCollectionBulkWrite,
        Task::LargeCollectionBulkWrite,
        Task::SmallClientBulkWrite,
        Task::LargeClientBulkWrite,
        Task::MixedClientBulkWrite,
        Task::MixedCollectionBulkWrite,
        Task::GridFsUpload,
        Task::LdjsonImport,
        Task::GridFsMultiUpload,
    ],
};

/// The composite scores of all clients, over the same tasks.
#[derive(Clone, Debug, PartialEq)]
pub struct Averages {
    /// One score for each client.
    pub scores: Vec<f64>,
    /// Number of excluded tasks, for which a client has no score.
    pub without: usize,
}

impl Composite {
    /// The averages over the tasks for which every client has a score; `None` if there are none.
    ///
    /// `scores` returns the scores of a task, one for each client.
    pub fn averages(&self, clients: usize, scores: impl Fn(Task) -> Vec<Option<f64>>) -> Option<Averages> {
        let complete: Vec<Vec<f64>> = self
            .tasks
            .iter()
            .filter_map(|task| scores(*task).into_iter().collect::<Option<Vec<f64>>>())
            .filter(|scores| scores.len() == clients)
            .collect();
        if complete.is_empty() {
            return None;
        }
        let average = |n: usize| complete.iter().map(|scores| scores[n]).sum::<f64>() / complete.len() as f64;
        Some(Averages {
            scores: (0..clients).map(average).collect(),
            without: self.tasks.len() - complete.len(),
        })
    }
}

/// DriverBench: the average of ReadBench and WriteBench.
#[must_use]
pub fn driver_bench(read: &Averages, write: &Averages) -> Averages {
    let both = read.scores.iter().zip(&write.scores);
    Averages {
        scores: both.map(|(read, write)| f64::midpoint(*read, *write)).collect(),
        without: read.without + write.without,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::task::Suite;

    #[test]
    fn composites_have_the_specified_sizes() {
        let sizes: Vec<_> = COMPOSITES.iter().map(|c| (c.name, c.tasks.len())).collect();
        let expected = [
            ("BSONBench", 6),
            ("SingleBench", 3),
            ("MultiBench", 11),
            ("ParallelBench", 4),
            ("ReadBench", 5),
            ("WriteBench", 13),
        ];
        assert_eq!(sizes, expected);
    }

    #[test]
    fn read_and_write_bench_have_all_tasks_with_a_server_except_run_command_and_transactions() {
        let of = |names: [&str; 2]| -> Vec<&str> {
            let composites = COMPOSITES
                .iter()
                .filter(|composite| names.contains(&composite.name));
            let mut tasks: Vec<_> = composites.flat_map(|c| c.tasks).map(|task| task.name()).collect();
            tasks.sort_unstable();
            tasks
        };
        let driver = Task::ALL.iter().filter(|task| task.suite() == Suite::Driver);
        let mut served: Vec<_> = driver
            .filter(|task| !task.is_codec_only())
            .filter(|task| !matches!(task, Task::RunCommand | Task::TransactionTwoInserts))
            .map(|task| task.name())
            .collect();
        served.sort_unstable();
        assert_eq!(of(["ReadBench", "WriteBench"]), served);
        let mut benches = of(["SingleBench", "MultiBench"]);
        benches.extend(of(["ParallelBench", "ParallelBench"]));
        benches.sort_unstable();
        assert_eq!(benches, served);
        let codec: Vec<_> = Task::ALL.iter().filter(|task| task.is_codec_only()).collect();
        assert_eq!(COMPOSITES[0].tasks.iter().collect::<Vec<_>>(), codec);
    }

    #[test]
    fn only_tasks_that_all_clients_support_are_averaged() {
        let scores = |task| match task {
            Task::FindOneById => vec![Some(10.0), Some(20.0)],
            Task::FindMany => vec![Some(30.0), Some(60.0)],
            Task::GridFsDownload => vec![None, Some(1_000.0)],
            Task::SmallInsertOne => vec![Some(2.0), Some(4.0)],
            _ => vec![None, None],
        };
        let read = READ_BENCH.averages(2, scores).unwrap();
        assert_eq!(
            (read.scores.as_slice(), read.without),
            ([20.0, 40.0].as_slice(), 3)
        );
        let write = WRITE_BENCH.averages(2, scores).unwrap();
        let driver = driver_bench(&read, &write);
        assert_eq!((driver.scores, driver.without), (vec![11.0, 22.0], 15));
        assert_eq!(COMPOSITES[0].averages(2, scores), None);
    }
}
