//! The test server as a program: prints its connection strings, and runs until interrupted or until its input ends.

use bson::Bson;
use marula_test_server::TestServer;
use std::io::Write;
use std::process::ExitCode;
use tokio::io::AsyncReadExt;

const USAGE: &str = "usage: marula-test-server [--port N] [--version X.Y.Z] \
    [--standalone | --replica-set | --sharded | --load-balanced] [--set-name NAME] [--compressors NAME,NAME] [--auth USER:PASSWORD] [--parameter NAME=VALUE]...\n\
    prints the connection string, then that of a single mongos, then those of the processes";

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("marula-test-server: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let mut builder = TestServer::builder();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || {
            arguments
                .next()
                .ok_or_else(|| format!("{argument} needs a value\n{USAGE}"))
        };
        builder = match argument.as_str() {
            "--port" => builder.port(
                value()?
                    .parse()
                    .map_err(|_| format!("--port needs a port number\n{USAGE}"))?,
            ),
            "--version" => builder.version(value()?),
            "--replica-set" => builder.replica_set(),
            "--sharded" => builder.sharded(),
            "--load-balanced" => builder.load_balanced(),
            "--set-name" => builder.set_name(value()?),
            "--auth" => {
                let text = value()?;
                let (user, password) = text
                    .split_once(':')
                    .ok_or_else(|| format!("--auth needs USER:PASSWORD\n{USAGE}"))?;
                builder.auth(user, password)
            }
            "--compressors" => {
                let names = value()?;
                let names: Vec<&str> = names.split(',').filter(|name| !name.is_empty()).collect();
                builder.compressors(&names)
            }
            "--parameter" => {
                let text = value()?;
                let (name, value) = text
                    .split_once('=')
                    .ok_or_else(|| format!("--parameter needs NAME=VALUE\n{USAGE}"))?;
                builder.parameter(name, parameter(value))
            }
            "--standalone" => builder.standalone(),
            "--help" => {
                println!("{USAGE}");
                return Ok(());
            }
            other => return Err(format!("unknown argument {other}\n{USAGE}").into()),
        };
    }
    let server = builder.start().await?;
    println!("{}", server.uri());
    println!("{}", server.single_uri());
    for uri in server.member_uris() {
        println!("{uri}");
    }
    std::io::stdout().flush()?;
    let input_ended = async {
        let mut input = tokio::io::stdin();
        let mut buffer = [0; 256];
        while input.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
    };
    tokio::select! {
        () = input_ended => {}
        interrupted = tokio::signal::ctrl_c() => interrupted?,
    }
    server.stop().await;
    // Reading standard input blocks a thread that cannot be interrupted.
    std::process::exit(0);
}

/// A parameter's value: true, false, a whole number, else text.
fn parameter(text: &str) -> Bson {
    match (text.parse::<bool>(), text.parse::<i32>()) {
        (Ok(flag), _) => Bson::Boolean(flag),
        (_, Ok(number)) => Bson::Int32(number),
        _ => Bson::String(text.to_owned()),
    }
}
