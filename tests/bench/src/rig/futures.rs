//! How large the futures of the programs in Rust are.

use std::process::Command;

use super::{
    Failure,
    contestants::{Contestant, succeeded},
    report::{Futures, Size},
    server::{Server, Topology},
};

/// The sizes of each program's futures.
pub(super) fn sizes(contestants: &[&Contestant]) -> Result<Vec<Futures>, Failure> {
    let server = Server::start(None)?;
    let uri = server.uri(Topology::Standalone)?;
    let of = |contestant: &&Contestant| {
        let mut command = Command::new(&contestant.program);
        let line = succeeded(command.args(["--futures", &uri]))?;
        Ok(Futures {
            role: contestant.role,
            title: contestant.title(),
            sizes: parse(&line)?,
        })
    };
    contestants.iter().map(of).collect()
}

fn parse(line: &str) -> Result<Vec<Size>, Failure> {
    Ok(serde_json::from_str(line)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_line_is_read() {
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
