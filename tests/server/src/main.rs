//! The test server as a program: prints its connection strings, and runs until interrupted or until its input ends.

use bson::Bson;
use marula_test_server::{SelfMadeCertificates, TestServer, TlsIdentity};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use tokio::io::AsyncReadExt;

const USAGE: &str = "usage: marula-test-server [--port N] [--version X.Y.Z] \
    [--standalone | --replica-set | --sharded | --load-balanced] [--set-name NAME] [--compressors NAME,NAME] [--auth USER:PASSWORD] [--parameter NAME=VALUE]... \
    [--unix-socket PATH] [--tls-certificate-key-file FILE [--tls-ca-file FILE [--tls-allow-connections-without-certificates]]] \
    [--tls-self-made DIRECTORY] [--fail-on-violation]\n\
    prints the connection string, then that of a single mongos, then those of the processes\n\
    violations of the protocol by clients are written to standard error; with --fail-on-violation the exit status is 1 if there were some\n\
    --tls-self-made encrypts with certificates made on the spot, and writes ca.pem and client.pem, which the connection strings name";

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
    let mut builder = TestServer::builder().print_violations(true);
    let mut fail_on_violation = false;
    let mut client_options = String::new();
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
            "--unix-socket" => builder.unix_socket(value()?),
            "--tls-certificate-key-file" => {
                let pem = read(&value()?)?;
                builder.tls(TlsIdentity {
                    certificate_pem: pem.clone(),
                    key_pem: pem,
                })
            }
            "--tls-ca-file" => builder.client_authority(read(&value()?)?),
            "--tls-allow-connections-without-certificates" => {
                builder.allow_connections_without_certificates()
            }
            "--tls-self-made" => {
                let folder = value()?;
                let certificates = SelfMadeCertificates::new()?;
                let files = certificates.write(Path::new(&folder))?;
                client_options = format!(
                    "&tlsCAFile={}&tlsCertificateKeyFile={}",
                    files.authority.display(),
                    files.client.display()
                );
                builder
                    .tls(certificates.server)
                    .client_authority(certificates.authority_pem)
                    .allow_connections_without_certificates()
            }
            "--fail-on-violation" => {
                fail_on_violation = true;
                builder
            }
            "--help" => {
                println!("{USAGE}");
                return Ok(());
            }
            other => return Err(format!("unknown argument {other}\n{USAGE}").into()),
        };
    }
    let server = builder.start().await?;
    for uri in [server.uri(), server.single_uri()]
        .into_iter()
        .chain(server.member_uris())
    {
        println!("{uri}{client_options}");
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
        terminated = terminated() => terminated?,
    }
    let violations = server.take_violations();
    server.stop().await;
    // Reading standard input blocks a thread that cannot be interrupted.
    std::process::exit(i32::from(fail_on_violation && !violations.is_empty()));
}

/// Returns when the process is to end.
#[cfg(unix)]
async fn terminated() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    signal(SignalKind::terminate())?.recv().await;
    Ok(())
}

/// Other platforms end the process at once.
#[cfg(not(unix))]
async fn terminated() -> std::io::Result<()> {
    std::future::pending().await
}

fn read(path: &str) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))
}

/// A parameter's value: true, false, a whole number, else text.
fn parameter(text: &str) -> Bson {
    match (text.parse::<bool>(), text.parse::<i32>()) {
        (Ok(flag), _) => Bson::Boolean(flag),
        (_, Ok(number)) => Bson::Int32(number),
        _ => Bson::String(text.to_owned()),
    }
}
