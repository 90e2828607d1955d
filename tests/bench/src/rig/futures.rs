//! The sizes of the futures of the Rust clients.

use std::process::Command;

use super::{
    Failure,
    clients::{BenchClient, succeeded},
    report::{Futures, Size},
    server::{Server, Topology},
};

/// The sizes of the futures of each client.
pub(super) fn sizes(clients: &[&BenchClient]) -> Result<Vec<Futures>, Failure> {
    let server = Server::start(None)?;
    let uri = server.uri(Topology::Standalone)?;
    let of = |client: &&BenchClient| {
        let mut command = Command::new(&client.program);
        let line = succeeded(command.args(["--futures", &uri]))?;
        Ok(Futures {
            role: client.role,
            title: client.title(),
            sizes: parse(&line)?,
        })
    };
    clients.iter().map(of).collect()
}

fn parse(line: &str) -> Result<Vec<Size>, Failure> {
    Ok(serde_json::from_str(line)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_output_is_parsed() {
        let line = r#"[{"call":"ping","held":24,"boxed":null},{"call":"find","held":8,"boxed":900}]"#;
        let size = |call: &str, held, boxed| Size {
            call: call.to_owned(),
            held,
            boxed,
        };
        assert_eq!(
            parse(line).unwrap(),
            [size("ping", 24, None), size("find", 8, Some(900))]
        );
        assert!(parse("").is_err());
    }
}
