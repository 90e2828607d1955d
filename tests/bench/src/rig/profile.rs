//! `profile`: which functions of our client the instructions of an operation are in.

use std::collections::BTreeMap;

use marula_bench_contract::Task;

use super::{
    Failure, Places, callgrind, contestants,
    server::{Server, Topology},
};

/// The driver's cases; on one server the ODM's calls of the same tasks follow, as `odm TASK standalone`.
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
    let ours = contestants::build_ours(&places)?;
    let server = Server::start(Some(callgrind::DELAY_US))?;
    let driver = CASES.map(|(topology, task)| {
        (
            &ours.driver,
            format!("{task} {}", topology.name()),
            topology,
            task,
        )
    });
    let odm = CASES
        .into_iter()
        .filter(|(topology, _)| *topology == Topology::Standalone)
        .map(|(topology, task)| {
            (
                &ours.odm,
                format!("odm {task} {}", topology.name()),
                topology,
                task,
            )
        });
    for (client, label, topology, task) in driver.into_iter().chain(odm) {
        if only.is_some_and(|only| !label.contains(only)) {
            continue;
        }
        let Some(counts) = callgrind::per_operation(client, &server, topology, task, &places.out)? else {
            // The ODM has no call of its own for some tasks.
            continue;
        };
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
