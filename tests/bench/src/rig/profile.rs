//! `profile`: which functions of our client the instructions of an operation are in.

use std::collections::BTreeMap;

use marula_bench_contract::Task;

use super::{
    Failure, Places, callgrind, contestants,
    server::{Server, Topology},
};

const CASES: [(Topology, Task); 8] = [
    (Topology::Standalone, Task::Ping),
    (Topology::Standalone, Task::InsertOne),
    (Topology::Standalone, Task::FindOne),
    (Topology::ThreeNode, Task::Ping),
    (Topology::ThreeNode, Task::InsertOne),
    (Topology::ThreeNode, Task::FindOne),
    (Topology::Standalone, Task::Find10kOwned),
    (Topology::Standalone, Task::InsertMany10k),
];

/// Prints the functions that spend the most, by themselves and with what they call, for each case.
pub(super) fn run(top: usize, only: Option<&str>) -> Result<(), Failure> {
    let places = Places::find()?;
    callgrind::version().ok_or("the profile needs valgrind")?;
    let ours = contestants::build_ours(&places)?.driver;
    let server = Server::start(Some(callgrind::DELAY_US))?;
    for (topology, task) in CASES {
        let label = format!("{task} {}", topology.name());
        if only.is_some_and(|only| !label.contains(only)) {
            continue;
        }
        let counts = callgrind::per_operation(&ours, &server, topology, task, &places.out)?;
        let counts = counts.ok_or("our client has no means for a task")?;
        println!(
            "\n{label}: {:.0} instructions, {:.2} allocations",
            counts.instructions, counts.allocations
        );
        print(&counts.functions, counts.instructions, top);
        println!("with what they call:");
        print(&counts.inclusive, counts.instructions, top);
    }
    Ok(())
}

fn print(functions: &BTreeMap<String, f64>, of: f64, top: usize) {
    let mut functions: Vec<(&String, &f64)> = functions.iter().collect();
    functions.sort_by(|a, b| b.1.total_cmp(a.1));
    for (name, spent) in functions.into_iter().take(top) {
        println!("{spent:>14.1} {:>5.1} %  {name}", spent / of * 100.0);
    }
}
