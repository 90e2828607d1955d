use marula_spec_tests::{
    case::Outcome,
    unified::{Matrix, collect},
};
use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Mutex, mpsc},
    time::{Duration, Instant},
};
fn main() {
    let filter: Vec<String> = std::env::args().skip(1).collect();
    let root = std::env::var("SPEC_TESTS_DIR").unwrap_or("/work/shared/spec-tests".into());
    let cases = collect(Path::new(&root), Matrix::from_environment());
    let cases: Vec<_> = cases
        .into_iter()
        .filter(|c| {
            let n = format!("{}::{}", c.file, c.description);
            filter.is_empty() || filter.iter().any(|f| n.contains(f.as_str()))
        })
        .collect();
    let total = cases.len();
    let cases = Mutex::new(cases.into_iter());
    let results = Mutex::new(Vec::new());
    let start = Instant::now();
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                loop {
                    let Some(case) = cases.lock().unwrap().next() else {
                        break;
                    };
                    let (tx, rx) = mpsc::channel();
                    let run = case.run;
                    let t = Instant::now();
                    std::thread::Builder::new()
                        .stack_size(16 << 20)
                        .spawn(move || {
                            let _ = tx.send(run());
                        })
                        .unwrap();
                    let outcome = rx
                        .recv_timeout(Duration::from_secs(150))
                        .unwrap_or(Outcome::Failed("HANG".into()));
                    results.lock().unwrap().push((
                        case.suite,
                        format!(
                            "{}::{}@{:?},{:?}",
                            case.file,
                            case.description,
                            case.topology.unwrap_or_default(),
                            case.version.unwrap_or_default()
                        ),
                        outcome,
                        t.elapsed(),
                    ));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap();
    results.sort_by(|a, b| a.1.cmp(&b.1));
    let mut table: BTreeMap<String, [usize; 4]> = BTreeMap::new();
    let mut pend: BTreeMap<String, usize> = BTreeMap::new();
    let mut skip: BTreeMap<String, usize> = BTreeMap::new();
    for (suite, name, outcome, time) in &results {
        let row = table.entry(suite.clone()).or_default();
        match outcome {
            Outcome::Passed => row[0] += 1,
            Outcome::Failed(m) => {
                row[1] += 1;
                println!("FAILED {name} ({time:?})\n    {m}");
            }
            Outcome::Pending(m) => {
                row[2] += 1;
                *pend.entry(m.clone()).or_default() += 1;
            }
            Outcome::Skipped(m) => {
                row[3] += 1;
                *skip.entry(m.clone()).or_default() += 1;
            }
        }
        if *time > Duration::from_secs(5) {
            println!("SLOW {time:?} {name}");
        }
    }
    println!("PENDING {pend:#?}\nSKIPPED {skip:#?}");
    println!("{:45} passed failed pending skipped", "suite");
    let mut sum = [0; 4];
    for (s, r) in &table {
        println!("{s:45} {:6} {:6} {:6} {:6}", r[0], r[1], r[2], r[3]);
        for i in 0..4 {
            sum[i] += r[i];
        }
    }
    println!("total {total} {sum:?} in {:?}", start.elapsed());
}
