//! `profile`: instructions of an operation by function.

use std::collections::BTreeMap;

use marula_bench_shared::contract::Task;

use super::{
    Failure, Paths, callgrind,
    clients::{self, BenchClient},
    server::{Server, Topology},
};

/// The default cases.
const MAIN: [(Topology, Task); 8] = [
    (Topology::Standalone, Task::Ping),
    (Topology::Standalone, Task::InsertOne),
    (Topology::Standalone, Task::FindOne),
    (Topology::Standalone, Task::Find10kOwned),
    (Topology::Standalone, Task::InsertMany10k),
    (Topology::ThreeNode, Task::Ping),
    (Topology::ThreeNode, Task::InsertOne),
    (Topology::ThreeNode, Task::FindOne),
];

/// Prints the functions with the most instructions for each case, exclusive and inclusive of the
/// functions they call.
pub(super) fn run(top: usize, client: Option<&str>, only: Option<&str>) -> Result<(), Failure> {
    let paths = Paths::find()?;
    callgrind::version().ok_or("`profile` requires valgrind")?;
    let cases = cases(only)?;
    let client = build(&paths, client.unwrap_or("marula"))?;
    let server = Server::start(Some(callgrind::DELAY_US))?;
    for (topology, task) in cases {
        let label = format!("{}: {}", client.title(), label(topology, task));
        let Some(counts) = callgrind::per_operation(&client, &server, topology, task, &paths.out)? else {
            println!("\n{label}: not supported by the client");
            continue;
        };
        println!(
            "\n{label}: {:.0} instructions, {:.2} allocations",
            counts.instructions, counts.allocations
        );
        print(&counts.functions, counts.instructions, top);
        println!("inclusive of called functions:");
        print(&counts.inclusive, counts.instructions, top);
    }
    Ok(())
}

fn label(topology: Topology, task: Task) -> String {
    format!("{task} {}", topology.name())
}

/// The cases whose label contains the text; the default cases without a text.
fn cases(only: Option<&str>) -> Result<Vec<(Topology, Task)>, Failure> {
    let Some(only) = only else {
        return Ok(MAIN.to_vec());
    };
    let all = [Topology::Standalone, Topology::ThreeNode]
        .into_iter()
        .flat_map(|topology| Task::ALL.map(|task| (topology, task)))
        .filter(|(topology, task)| *topology == Topology::ThreeNode || !task.requires_set());
    let wanted: Vec<_> = all
        .filter(|(topology, task)| label(*topology, *task).contains(only))
        .collect();
    if wanted.is_empty() {
        return Err(format!("no case matches {only}").into());
    }
    Ok(wanted)
}

fn build(paths: &Paths, name: &str) -> Result<BenchClient, Failure> {
    match name {
        "official" => clients::build_official(paths),
        "libmongoc" => Ok(clients::build_libmongoc(paths)?),
        _ => {
            let ours = clients::build_ours(paths)?;
            [ours.driver, ours.odm, ours.floor, ours.blocking]
                .into_iter()
                .find(|client| client.role.name() == name)
                .ok_or_else(|| format!("unknown client {name}").into())
        }
    }
}

fn print(functions: &BTreeMap<String, f64>, of: f64, top: usize) {
    let mut functions: Vec<(&String, &f64)> = functions.iter().collect();
    functions.sort_by(|a, b| b.1.total_cmp(a.1));
    for (name, spent) in functions.into_iter().take(top) {
        println!("{spent:>14.1} {:>5.1} %  {name}", spent / of * 100.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_can_be_selected() {
        for task in Task::ALL {
            let topology = if task.requires_set() {
                Topology::ThreeNode
            } else {
                Topology::Standalone
            };
            let found = cases(Some(&label(topology, task))).unwrap();
            assert_eq!(found, [(topology, task)]);
            let found = cases(Some(&format!("{task} "))).unwrap();
            assert!(found.contains(&(Topology::ThreeNode, task)));
        }
        assert_eq!(cases(None).unwrap(), MAIN);
        let error = cases(Some("pong")).unwrap_err().to_string();
        assert_eq!(error, "no case matches pong");
    }
}
