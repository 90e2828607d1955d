//! Allocated bytes per operation, by valgrind's DHAT: the difference of two runs, as for the other
//! counts.

use std::process::Command;

use marula_bench_shared::contract::{Arguments, Task};

use super::{
    Failure, callgrind,
    clients::{BenchClient, append},
    server::{Server, Topology},
};

/// Bytes that one operation of the task allocates. `None` if the client does not support the task.
pub(super) fn bytes_per_operation(
    client: &BenchClient,
    server: &Server,
    topology: Topology,
    task: Task,
) -> Result<Option<f64>, Failure> {
    let ([few, many], operations) = callgrind::two_runs(server, topology, task)?;
    let (Some(few), Some(many)) = (bytes(client, &few)?, bytes(client, &many)?) else {
        return Ok(None);
    };
    Ok(Some((many - few) / operations))
}

fn bytes(client: &BenchClient, arguments: &Arguments) -> Result<Option<f64>, Failure> {
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=dhat", "--dhat-out-file=/dev/null"])
        .arg(&client.program);
    append(&mut command, arguments);
    let output = command.output()?;
    if client.accepted(&output)?.is_none() {
        return Ok(None);
    }
    let total = total(&String::from_utf8_lossy(&output.stderr)).ok_or("the output of DHAT has no total")?;
    Ok(Some(total))
}

/// The number in `==1== Total:     603,102 bytes in 2,970 blocks`.
fn total(output: &str) -> Option<f64> {
    let (_, rest) = output.split_once("Total:")?;
    rest.split_whitespace().next()?.replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_total_is_found() {
        let output = "==7== Command: x\n==7== \n==7== Total:     603,102 bytes in 2,970 blocks\n==7== At t-gmax: 1 bytes\n";
        assert_eq!(super::total(output), Some(603_102.0));
        assert_eq!(super::total("==7== Command: x"), None);
    }
}
