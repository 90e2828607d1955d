//! mongocryptd, which analyzes commands ([Client Side Encryption], "Managing mongocryptd").
//!
//! [Client Side Encryption]:
//! https://github.com/mongodb/specifications/blob/master/source/client-side-encryption/client-side-encryption.md

use std::{
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::{auto_options::ExtraOptions, engine::time_left};
use crate::{
    Client, Error, ErrorKind, Result,
    api::command::NOT_MONGOCRYPTD,
    bson::RawDocumentBuf,
    error::{EncryptionError, analysis_message},
    options::ClientOptions,
    types::{lock::Outer, timeout::Timeout},
};

const DEFAULT_URI: &str = "mongodb://localhost:27020";
const IDLE_SHUTDOWN: &str = "--idleShutdownTimeoutSecs";
/// Without `serverSelectionTimeoutMS` in the connection string.
const SERVER_SELECTION_TIMEOUT: Duration = Duration::from_secs(10);
/// Without `socketTimeoutMS` and `timeoutMS` in the connection string: mongocryptd only computes. It is the time limit of an
/// analysis without `timeoutMS`.
const REPLY_TIMEOUT: Duration = Duration::from_secs(30);

/// The client of mongocryptd, and how it is started.
#[derive(Debug)]
pub(super) struct Mongocryptd {
    client: Client,
    /// `None`: it is not started.
    program: Option<Program>,
}

#[derive(Debug)]
struct Program {
    path: String,
    arguments: Vec<String>,
    /// When it was started last.
    started: Outer<Option<Instant>>,
}

impl Mongocryptd {
    /// Starts mongocryptd, unless that is bypassed, and creates its client.
    ///
    /// # Errors
    /// The connection string is invalid.
    pub(super) fn new(options: &ExtraOptions) -> Result<Self> {
        let client = client_options(options.mongocryptd_uri.as_deref().unwrap_or(DEFAULT_URI))?;
        let program = (!options.bypass_spawn).then(|| Program {
            path: options
                .spawn_path
                .clone()
                .unwrap_or_else(|| "mongocryptd".to_owned()),
            arguments: arguments(&options.spawn_args),
            started: Outer::default(),
        });
        if let Some(program) = &program {
            // A failure is reported if no server is found.
            let _ = program.start(Instant::now());
        }
        Ok(Self {
            client: Client::with_options(client)?,
            program,
        })
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// The reply to a command with a schema.
    ///
    /// # Errors
    /// [`EncryptionError::QueryAnalysis`]
    pub(super) async fn mark(
        &self,
        database: &str,
        command: &RawDocumentBuf,
        timeout: Timeout,
    ) -> Result<RawDocumentBuf> {
        let began = Instant::now();
        let mut result = self.run(database, command, timeout).await;
        if let (Err(error), Some(program)) = (&result, &self.program)
            && matches!(error.reported().kind(), ErrorKind::ServerSelection(_))
        {
            result = match program.start(began) {
                Ok(()) => self.run(database, command, timeout).await,
                Err(why) => {
                    let unreachable = unreachable(&program.path, &why, error);
                    // Client Side Operations Timeout, "Errors".
                    Err(if timeout.has_expired() {
                        unreachable.into_timeout()
                    } else {
                        unreachable
                    })
                }
            };
        }
        result.map_err(|error| {
            let error = without_values(error);
            let message = match error.reported().kind() {
                ErrorKind::ServerSelection(_) => {
                    "mongocryptd was not found; start it, or set mongocryptdURI, mongocryptdSpawnPath or \
                     cryptSharedLibPath in extraOptions"
                        .to_owned()
                }
                ErrorKind::Unsupported(what) if what == NOT_MONGOCRYPTD => {
                    format!(
                        "{error}, so that the command was not sent to it; set mongocryptdURI in extraOptions (default: \
                         {DEFAULT_URI})"
                    )
                }
                ErrorKind::Unsupported(_) => {
                    "mongocryptd was not found and could not be started; install mongocryptd or crypt_shared of \
                     MongoDB Enterprise, or set mongocryptdURI, mongocryptdSpawnPath or cryptSharedLibPath in \
                     extraOptions"
                        .to_owned()
                }
                _ => format!("mongocryptd: {error}"),
            };
            EncryptionError::QueryAnalysis {
                message,
                cause: Some(error),
            }
            .into()
        })
    }

    async fn run(
        &self,
        database: &str,
        command: &RawDocumentBuf,
        timeout: Timeout,
    ) -> Result<RawDocumentBuf> {
        let database = self.client.database(database);
        let mut run = database.run_command(command).for_mongocryptd().with_type();
        // Without a limit, that of the client applies.
        if let Some(left) =
            time_left(timeout, "before the command was analyzed")?.filter(|left| !left.is_zero())
        {
            run = run.timeout(left);
        }
        run.await
    }
}

/// The options of the client of mongocryptd.
fn client_options(uri: &str) -> Result<ClientOptions> {
    let mut options = ClientOptions::parse(uri)?;
    if !uri.to_ascii_lowercase().contains("serverselectiontimeoutms") {
        options.server_selection_timeout = SERVER_SELECTION_TIMEOUT;
    }
    if options.timeout.is_none() {
        options.socket_timeout.get_or_insert(REPLY_TIMEOUT);
    }
    // The commands to mongocryptd contain what is to be encrypted: neither logs nor spans have their text.
    options.max_log_document_length = Some(0);
    options.tracing.enabled = Some(false);
    Ok(options)
}

/// An error of mongocryptd whose message repeats no value of the command.
fn without_values(error: Error) -> Error {
    let ErrorKind::Command(command) = error.kind() else {
        return error;
    };
    let mut command = command.clone();
    command.message = analysis_message::without_values(&command.message);
    error.with_kind(ErrorKind::Command(command)).without_response()
}

/// mongocryptd was not reached and cannot be started.
fn unreachable(path: &str, why: &std::io::Error, error: &Error) -> Error {
    Error::unsupported(format!(
        "automatic encryption without mongocryptd: {path:?} cannot be started ({why}), and {error}"
    ))
}

impl Program {
    /// Starts the program, unless it was started after `began`: of the operations that found no server at the same time,
    /// one starts it.
    fn start(&self, began: Instant) -> std::io::Result<()> {
        let mut started = self.started.lock();
        if started.is_none_or(|started| started <= began) {
            self.spawn()?;
            *started = Some(Instant::now());
        }
        Ok(())
    }

    /// Starts the program, without its output.
    fn spawn(&self) -> std::io::Result<()> {
        let mut child = Command::new(&self.path)
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        // It ends when it is idle; the operating system keeps its entry until it is awaited. Without a thread for that it runs as
        // well.
        let _ = thread::Builder::new()
            .name("mongocryptd".to_owned())
            .spawn(move || child.wait());
        Ok(())
    }
}

/// With `--idleShutdownTimeoutSecs`, which is appended if it is missing.
fn arguments(given: &[String]) -> Vec<String> {
    let mut arguments = given.to_vec();
    if !given.iter().any(|argument| argument.starts_with(IDLE_SHUTDOWN)) {
        arguments.push(format!("{IDLE_SHUTDOWN}=60"));
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_analysis_always_has_a_time_limit() {
        let options = client_options(DEFAULT_URI).unwrap();
        assert_eq!(options.socket_timeout, Some(REPLY_TIMEOUT));
        assert_eq!(options.server_selection_timeout, SERVER_SELECTION_TIMEOUT);
        let options = client_options("mongodb://a/?socketTimeoutMS=7&serverSelectionTimeoutMS=9").unwrap();
        assert_eq!(options.socket_timeout, Some(Duration::from_millis(7)));
        assert_eq!(options.server_selection_timeout, Duration::from_millis(9));
        let options = client_options("mongodb://a/?timeoutMS=7").unwrap();
        assert_eq!(
            (options.timeout, options.socket_timeout),
            (Some(Duration::from_millis(7)), None)
        );
    }

    #[test]
    fn mongocryptd_always_ends_when_it_is_idle() {
        let with = |given: &[&str]| arguments(&given.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(with(&[]), ["--idleShutdownTimeoutSecs=60"]);
        assert_eq!(with(&["--port=1"]), ["--port=1", "--idleShutdownTimeoutSecs=60"]);
        assert_eq!(
            with(&["--idleShutdownTimeoutSecs", "5"]),
            ["--idleShutdownTimeoutSecs", "5"]
        );
        assert_eq!(
            with(&["--idleShutdownTimeoutSecs=5"]),
            ["--idleShutdownTimeoutSecs=5"]
        );
    }
}
