//! The command-line program of the test server: starts it, prints connection strings, and runs
//! until interrupted or until standard input ends.

use marula_test_server::{Bson, TestCertificates, TestServer, TestServerBuilder, TlsIdentity};
use std::error::Error;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use tokio::io::AsyncReadExt;

const USAGE: &str = "\
usage: marula-test-server [OPTION]...

Starts an in-memory MongoDB-compatible server on loopback ports. Prints the connection string of
the deployment, that of a single mongos, and one for each process, one per line. Runs until it is
interrupted or its standard input ends.

  --standalone                    a standalone (default)
  --replica-set                   a replica set of three members
  --sharded                       a sharded cluster with two mongos
  --load-balanced                 a sharded cluster behind load balancers
  --version X.Y.Z                 the server version, from 4.2 to 9 (default: 8.2.0)
  --port N                        the first port; 0 for free ports (default: 0)
  --replica-set-name NAME         the name of the replica set (default: rs0)
  --compressors NAME,NAME         the compressors (default: snappy,zstd,zlib)
  --parameter NAME=VALUE          sets a server parameter; may be repeated
  --auth USER:PASSWORD            requires authentication; creates a user with the role root
  --oidc-token TOKEN:USER         requires authentication; accepts an access token of MONGODB-OIDC
  --aws-user KEY:SECRET           requires authentication; accepts an access key of MONGODB-AWS
  --search                        enables an approximation of Atlas Search and Vector Search
  --unix-socket PATH              also listens on a Unix domain socket
  --tls-certificate-key-file FILE requires TLS with this certificate and private key
  --tls-ca-file FILE              requires client certificates of this authority
  --tls-allow-connections-without-certificates
                                  with --tls-ca-file: accepts clients without a certificate
  --tls-generate-certificates DIRECTORY
                                  requires TLS with generated certificates; writes ca.pem and
                                  client.pem, and adds both to the connection strings
  --fail-on-violation             exits with status 1 if a client violated the protocol
  --help                          prints this text

Protocol violations of clients are written to standard error.";

/// The command line.
struct Options {
    builder: TestServerBuilder,
    /// URI options appended to the connection strings.
    uri_options: String,
    fail_on_violation: bool,
    help: bool,
}

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

async fn run() -> Result<(), Box<dyn Error>> {
    let options = parse(std::env::args().skip(1))?;
    if options.help {
        println!("{USAGE}");
        return Ok(());
    }
    let server = options.builder.start().await?;
    for uri in [server.uri(), server.single_uri()]
        .into_iter()
        .chain(server.member_uris())
    {
        println!("{uri}{}", options.uri_options);
    }
    io::stdout().flush()?;
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
    // A pending read of standard input blocks a thread of the runtime, so `main` must not wait for
    // the runtime to shut down.
    std::process::exit(i32::from(options.fail_on_violation && !violations.is_empty()));
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, Box<dyn Error>> {
    let mut options = Options {
        builder: TestServer::builder().print_violations(true),
        uri_options: String::new(),
        fail_on_violation: false,
        help: false,
    };
    while let Some(argument) = arguments.next() {
        let mut value = || {
            arguments
                .next()
                .ok_or_else(|| format!("{argument} requires a value\n\n{USAGE}"))
        };
        let builder = options.builder;
        options.builder = match argument.as_str() {
            "--standalone" => builder.standalone(),
            "--replica-set" => builder.replica_set(),
            "--sharded" => builder.sharded(),
            "--load-balanced" => builder.load_balanced(),
            "--version" => builder.version(value()?),
            "--port" => builder.port(
                value()?
                    .parse()
                    .map_err(|_| format!("--port requires a port number\n\n{USAGE}"))?,
            ),
            "--replica-set-name" => builder.replica_set_name(value()?),
            "--compressors" => {
                let names = value()?;
                builder.compressors(names.split(',').filter(|name| !name.is_empty()))
            }
            "--parameter" => {
                let (name, value) = split(&argument, "NAME=VALUE", '=', &value()?)?;
                builder.parameter(name, parameter_value(&value))
            }
            "--auth" => {
                let (user, password) = split(&argument, "USER:PASSWORD", ':', &value()?)?;
                builder.auth(user, password)
            }
            "--oidc-token" => {
                let (token, user) = split(&argument, "TOKEN:USER", ':', &value()?)?;
                builder.oidc_token(token, user)
            }
            "--aws-user" => {
                let (key, secret) = split(&argument, "KEY:SECRET", ':', &value()?)?;
                builder.aws_user(key, secret, None)
            }
            "--search" => builder.search(true),
            "--unix-socket" => builder.unix_socket(value()?),
            "--tls-certificate-key-file" => {
                let pem = read(&value()?)?;
                builder.tls(TlsIdentity::new(pem.clone(), pem))
            }
            "--tls-ca-file" => builder.tls_client_ca(read(&value()?)?),
            "--tls-allow-connections-without-certificates" => {
                builder.tls_allow_connections_without_certificates()
            }
            "--tls-generate-certificates" => {
                let certificates = TestCertificates::generate()?;
                let files = certificates.write(Path::new(&value()?))?;
                options.uri_options = format!(
                    "&tlsCAFile={}&tlsCertificateKeyFile={}",
                    files.ca.display(),
                    files.client_certificate_key.display()
                );
                builder
                    .tls(certificates.server)
                    .tls_client_ca(certificates.ca_pem)
                    .tls_allow_connections_without_certificates()
            }
            "--fail-on-violation" => {
                options.fail_on_violation = true;
                builder
            }
            "--help" => {
                options.help = true;
                builder
            }
            other => return Err(format!("unknown option {other}\n\n{USAGE}").into()),
        };
    }
    Ok(options)
}

/// Splits the value of an option at the first separator.
fn split(option: &str, form: &str, separator: char, value: &str) -> Result<(String, String), String> {
    value
        .split_once(separator)
        .map(|(left, right)| (left.to_owned(), right.to_owned()))
        .ok_or_else(|| format!("{option} requires {form}\n\n{USAGE}"))
}

/// Waits for SIGTERM.
#[cfg(unix)]
async fn terminated() -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    signal(SignalKind::terminate())?.recv().await;
    Ok(())
}

/// Never completes: other platforms terminate the process without a signal.
#[cfg(not(unix))]
async fn terminated() -> io::Result<()> {
    std::future::pending().await
}

fn read(path: &str) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))
}

/// Parses the value of a server parameter: a boolean, a 32-bit integer, or else a string.
fn parameter_value(text: &str) -> Bson {
    match (text.parse::<bool>(), text.parse::<i32>()) {
        (Ok(flag), _) => Bson::Boolean(flag),
        (_, Ok(number)) => Bson::Int32(number),
        _ => Bson::String(text.to_owned()),
    }
}
