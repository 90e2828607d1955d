//! The fuzz target for connection strings.

use marula_driver::options::ClientOptions;

use super::Target;

pub(super) const TARGET: Target = Target {
    name: "connection_string",
    run,
    seeds,
};

/// A password that must not occur in any output.
const PASSWORD: &str = "hunter2hunter2";

fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match ClientOptions::parse(&text) {
        Ok(options) => {
            assert!(!options.hosts.is_empty(), "a client without hosts from {text:?}");
            assert!(
                options.validate_again().is_ok(),
                "conflicting options from {text:?}"
            );
        }
        Err(error) => {
            let shown = error.to_string();
            assert!(!shown.is_empty());
            assert!(
                shown.len() < 2_000 + 4 * text.len(),
                "the message is too long for the input"
            );
        }
    }
    hides_the_password(&text);
}

/// Checks that errors, warnings and `Debug` do not contain the password, for any rest of the
/// string.
fn hides_the_password(rest: &str) {
    // The credentials end at the first "@", "/" or ",".
    let rest: String = rest.chars().filter(|c| !matches!(c, '@' | '/')).collect();
    let shown = match ClientOptions::parse(&format!("mongodb://user:{PASSWORD}@{rest}")) {
        Ok(options) => format!("{options:?} {:?}", options.warnings()),
        Err(error) => format!("{error} {error:?}"),
    };
    assert!(
        !shown.contains(PASSWORD),
        "the output contains the password: {shown}"
    );
}

/// The validation of the client. Parsed options are valid.
trait ValidateAgain {
    fn validate_again(&self) -> Result<(), String>;
}

impl ValidateAgain for ClientOptions {
    fn validate_again(&self) -> Result<(), String> {
        if self.max_pool_size > 0 && self.min_pool_size > self.max_pool_size {
            return Err("pool sizes".to_owned());
        }
        if self.load_balanced && (self.hosts.len() > 1 || self.replica_set.is_some()) {
            return Err("loadBalanced".to_owned());
        }
        if self.direct_connection == Some(true) && self.hosts.len() > 1 {
            return Err("directConnection".to_owned());
        }
        Ok(())
    }
}

fn seeds() -> Vec<Vec<u8>> {
    [
        "mongodb://localhost",
        "mongodb://u:p%40ss@a.example.com:27018,b,[::1]:5,%2Ftmp%2Fmongodb-27017.sock/db?replicaSet=rs&w=majority",
        "mongodb://h/?readPreference=nearest&readPreferenceTags=dc:ny,rack:1&readPreferenceTags=&maxStalenessSeconds=120",
        "mongodb://h/?authMechanism=GSSAPI&authMechanismProperties=SERVICE_NAME:x,CANONICALIZE_HOST_NAME:true",
        "mongodb://u@h/?authMechanism=MONGODB-X509&tls=true&tlsCAFile=ca.pem&tlsAllowInvalidHostnames=true",
        "mongodb://h/?compressors=zstd,zlib,snappy&zlibCompressionLevel=9&maxPoolSize=7&minPoolSize=3&maxIdleTimeMS=5",
        "mongodb+srv://test1.test.build.10gen.cc/?srvMaxHosts=2&srvServiceName=custom",
        "mongodb://h/?timeoutMS=1&serverSelectionTimeoutMS=2&socketTimeoutMS=3&connectTimeoutMS=4&localThresholdMS=5",
        "mongodb://h/?proxyHost=p&proxyPort=1080&proxyUsername=u&proxyPassword=p&loadBalanced=true",
        "mongodb://h/?retryWrites=false&retryReads=x&journal=true&wTimeoutMS=-1&maxAdaptiveRetries=2&directConnection=true",
    ]
    .into_iter()
    .map(|text| text.as_bytes().to_vec())
    .collect()
}
