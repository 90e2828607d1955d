//! Bytes allocated, by valgrind's DHAT: run twice, as for the other counts.

use std::process::Command;

use marula_bench_shared::contract::{Arguments, Task};

use super::{
    Failure, callgrind,
    contestants::{Contestant, append},
    server::{Server, Topology},
};

/// How many bytes one operation of the task allocates. `None` when the program has no means for it.
pub(super) fn bytes_per_operation(
    contestant: &Contestant,
    server: &Server,
    topology: Topology,
    task: Task,
) -> Result<Option<f64>, Failure> {
    let ([few, many], operations) = callgrind::two_runs(server, topology, task)?;
    let (Some(few), Some(many)) = (bytes(contestant, &few)?, bytes(contestant, &many)?) else {
        return Ok(None);
    };
    Ok(Some((many - few) / operations))
}

fn bytes(contestant: &Contestant, arguments: &Arguments) -> Result<Option<f64>, Failure> {
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=dhat", "--dhat-out-file=/dev/null"])
        .arg(&contestant.program);
    append(&mut command, arguments);
    let output = command.output()?;
    if contestant.accepted(&output)?.is_none() {
        return Ok(None);
    }
    let total = total(&String::from_utf8_lossy(&output.stderr)).ok_or("DHAT has written no total")?;
    Ok(Some(total))
}

/// The number in `==1== Total:     603,102 bytes in 2,970 blocks`.
fn total(said: &str) -> Option<f64> {
    let (_, rest) = said.split_once("Total:")?;
    rest.split_whitespace().next()?.replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_total_is_found() {
        let said = "==7== Command: x\n==7== \n==7== Total:     603,102 bytes in 2,970 blocks\n==7== At t-gmax: 1 bytes\n";
        assert_eq!(super::total(said), Some(603_102.0));
        assert_eq!(super::total("==7== Command: x"), None);
    }
}
