//! A key distribution center on a loopback port, with its files in a temporary folder.

use std::{
    fs, io,
    io::{BufRead, BufReader, Write},
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, ChildStderr, Command, Output, Stdio},
    time::{Duration, Instant},
};

pub(crate) const REALM: &str = "MARULA.TEST";
/// A realm of servers, which trusts the other one.
pub(crate) const SERVERS_REALM: &str = "SERVERS.TEST";
/// A user, and the password.
pub(crate) const ADA: &str = "ada@MARULA.TEST";
pub(crate) const PASSWORD: &str = "pencil-of-ada";
/// Users with keys in the keytab of [`Kdc::special_keytab`].
pub(crate) const SPECIAL: [&str; 3] = [
    "grace/admin@MARULA.TEST",
    "jürgen müller@MARULA.TEST",
    r"a\@b:c,d%e@MARULA.TEST",
];
/// Services with keys in the keytab of the servers.
const SERVICES: [&str; 4] = [
    "mongodb/localhost",
    "database/localhost",
    "mongodb/node.marula.test",
    "mongodb/rack.marula.test",
];

/// Environment variables.
pub(crate) type Variables = Vec<(&'static str, String)>;
/// Makes what a test needs in its folder.
pub(crate) type Setup = fn(&Kdc, &Path) -> io::Result<Variables>;

const PROGRAMS: [&str; 5] = ["krb5kdc", "kdb5_util", "kadmin.local", "kinit", "kvno"];
/// Folders that are not in the path of every user.
const FOLDERS: &str = "/usr/sbin:/usr/local/sbin:/sbin";
/// The time limit for waits, which is reached only if something fails.
const LIMIT: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);

/// Runs until it is dropped, or this process ends.
pub(crate) struct Kdc {
    pub(crate) folder: PathBuf,
    process: Child,
    /// Open until the end, because the KDC may write more.
    messages: Option<BufReader<ChildStderr>>,
}

fn path() -> String {
    let own = std::env::var("PATH").unwrap_or_default();
    format!("{own}:{FOLDERS}")
}

impl Kdc {
    /// A program that is not installed.
    pub(crate) fn missing_program() -> Option<&'static str> {
        let path = path();
        let is_installed = |program: &str| {
            let mut folders = path.split(':').filter(|folder| !folder.is_empty());
            folders.any(|folder| Path::new(folder).join(program).is_file())
        };
        PROGRAMS.into_iter().find(|program| !is_installed(program))
    }

    /// Makes the files, the users and the services, and starts the server.
    pub(crate) fn start() -> io::Result<Self> {
        let folder = std::env::temp_dir().join(format!("marula-kerberos-{}", std::process::id()));
        fs::create_dir(&folder)?;
        // The port is free until another process takes it, so that this may fail.
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        fs::write(folder.join("krb5.conf"), configuration(port))?;
        let text = folder.display();
        let settings = format!(
            "[kdcdefaults]\n kdc_listen = 127.0.0.1:{port}\n kdc_tcp_listen = 127.0.0.1:{port}\n\
             [realms]\n {REALM} = {{\n  database_name = {text}/principal\n  key_stash_file = {text}/stash\n }}\n\
              {SERVERS_REALM} = {{\n  database_name = {text}/servers\n  key_stash_file = {text}/stash2\n }}\n\
             [logging]\n kdc = FILE:{text}/kdc.log\n"
        );
        fs::write(folder.join("kdc.conf"), settings)?;
        for (realm, principals) in [
            (REALM, principals(&folder)),
            (SERVERS_REALM, servers_principals(&folder)),
        ] {
            let create = ["create", "-s", "-r", realm, "-P", "master"];
            run(command(&folder, "kdb5_util").args(create), "")?;
            run(command(&folder, "kadmin.local").args(["-r", realm]), &principals)?;
        }
        // The shell ends the server when its input is closed, also if this process is killed.
        let script = format!("krb5kdc -n -r {REALM} -r {SERVERS_REALM} & read -r line; kill $!; wait $!");
        let mut process = command(&folder, "sh")
            .args(["-c", script.as_str()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let messages = process.stderr.take().map(BufReader::new);
        let mut kdc = Self {
            folder,
            process,
            messages,
        };
        // It writes a line when it listens, or why it does not.
        let mut line = String::new();
        if let Some(messages) = &mut kdc.messages {
            messages.read_line(&mut line)?;
        }
        if !line.contains("starting") {
            return Err(io::Error::other(format!("the KDC does not start: {line}")));
        }
        Ok(kdc)
    }

    /// Neither a ticket nor a keytab of a user.
    pub(crate) fn nothing(&self, folder: &Path) -> io::Result<Variables> {
        let file = |name: &str| format!("FILE:{}", folder.join(name).display());
        let shared = |name: &str| self.folder.join(name).display().to_string();
        Ok(vec![
            ("KRB5_CONFIG", shared("krb5.conf")),
            ("KRB5_KTNAME", shared("server.keytab")),
            ("KRB5CCNAME", file("tickets")),
            ("KRB5_CLIENT_KTNAME", file("client.keytab")),
            // Of the servers: clients of several processes are not replayed.
            ("KRB5RCACHENAME", "none:".to_owned()),
        ])
    }

    /// A ticket of Ada.
    pub(crate) fn ticket(&self, folder: &Path) -> io::Result<Variables> {
        self.ticket_with(folder, &[])
    }

    /// A ticket of Ada that has expired.
    pub(crate) fn expired_ticket(&self, folder: &Path) -> io::Result<Variables> {
        let variables = self.ticket_with(folder, &["-l", "1s"])?;
        // The KDC accepts it for a while after its end, and so says when it has expired.
        let is_accepted = || {
            let mut kvno = command(&self.folder, "kvno");
            kvno.args(["--no-store", SERVICES[0]]).envs(variables.clone());
            run(&mut kvno, "").is_ok()
        };
        wait_until(|| !is_accepted())?;
        Ok(variables)
    }

    /// A keytab with the key of Ada.
    pub(crate) fn keytab(&self, folder: &Path) -> io::Result<Variables> {
        self.keytab_of(folder, "ada.keytab")
    }

    /// A keytab with the keys of the users with special characters in their names.
    pub(crate) fn special_keytab(&self, folder: &Path) -> io::Result<Variables> {
        self.keytab_of(folder, "special.keytab")
    }

    /// A ticket of Ada, and a copy of the configuration that the test may change.
    pub(crate) fn own_configuration(&self, folder: &Path) -> io::Result<Variables> {
        let mut variables = self.ticket(folder)?;
        let copy = folder.join("krb5.conf");
        fs::copy(self.folder.join("krb5.conf"), &copy)?;
        set(&mut variables, "KRB5_CONFIG", copy.display().to_string());
        Ok(variables)
    }

    fn ticket_with(&self, folder: &Path, options: &[&str]) -> io::Result<Variables> {
        let variables = self.nothing(folder)?;
        let mut kinit = command(&self.folder, "kinit");
        kinit.args(options).arg(ADA).envs(variables.clone());
        run(&mut kinit, &format!("{PASSWORD}\n"))?;
        Ok(variables)
    }

    fn keytab_of(&self, folder: &Path, name: &str) -> io::Result<Variables> {
        let mut variables = self.nothing(folder)?;
        let tickets = folder.join("tickets");
        fs::create_dir(&tickets)?;
        // A folder can contain the tickets of several users.
        set(&mut variables, "KRB5CCNAME", format!("DIR:{}", tickets.display()));
        let keytab = self.folder.join(name).display().to_string();
        set(&mut variables, "KRB5_CLIENT_KTNAME", keytab);
        Ok(variables)
    }
}

impl Drop for Kdc {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The configuration of clients, with the port of the KDC.
pub(crate) fn configuration(port: u16) -> String {
    format!(
        "[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n dns_lookup_realm = false\n \
         dns_canonicalize_hostname = false\n rdns = false\n udp_preference_limit = 1\n\
         [realms]\n {REALM} = {{\n  kdc = 127.0.0.1:{port}\n }}\n {SERVERS_REALM} = {{\n  kdc = 127.0.0.1:{port}\n }}\n"
    )
}

/// The commands of `kadmin.local`.
fn principals(folder: &Path) -> String {
    let quoted = |name: &str| format!("\"{name}\"");
    let keytab = |name: &str| folder.join(name).display().to_string();
    let mut commands = format!("addprinc -pw {PASSWORD} {ADA}\n");
    for user in SPECIAL {
        commands += &format!("addprinc -pw {PASSWORD} {}\n", quoted(user));
        commands += &format!(
            "ktadd -norandkey -k {} {}\n",
            keytab("special.keytab"),
            quoted(user)
        );
    }
    commands += &format!("ktadd -norandkey -k {} {ADA}\n", keytab("ada.keytab"));
    for service in SERVICES {
        commands += &format!("addprinc -randkey {service}\n");
        commands += &format!("ktadd -k {} {service}\n", keytab("server.keytab"));
    }
    // A service whose key the servers do not have.
    commands += "addprinc -randkey keyless/localhost\n";
    commands + &trust()
}

/// The commands of `kadmin.local` for the realm of servers.
fn servers_principals(folder: &Path) -> String {
    let service = format!("elsewhere/localhost@{SERVERS_REALM}");
    let keytab = folder.join("server.keytab");
    format!(
        "addprinc -randkey {service}\nktadd -k {} {service}\n{}",
        keytab.display(),
        trust()
    )
}

/// Users of the first realm are known in that of the servers: both have the same key.
fn trust() -> String {
    format!("addprinc -pw trust krbtgt/{SERVERS_REALM}@{REALM}\n")
}

fn command(folder: &Path, program: &str) -> Command {
    let mut command = Command::new(program);
    command
        .env("PATH", path())
        .env("LC_ALL", "C")
        .env("KRB5_CONFIG", folder.join("krb5.conf"))
        .env("KRB5_KDC_PROFILE", folder.join("kdc.conf"));
    command
}

/// Runs a program with this input.
fn run(command: &mut Command, input: &str) -> io::Result<()> {
    let mut process = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = process.stdin.take() {
        stdin.write_all(input.as_bytes())?;
    }
    let Output {
        status,
        stdout,
        stderr,
    } = process.wait_with_output()?;
    if status.success() {
        return Ok(());
    }
    let text = [stdout, stderr].concat();
    Err(io::Error::other(format!(
        "{command:?} failed: {}",
        String::from_utf8_lossy(&text)
    )))
}

fn wait_until(mut is_reached: impl FnMut() -> bool) -> io::Result<()> {
    let began = Instant::now();
    while !is_reached() {
        if began.elapsed() > LIMIT {
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

fn set(variables: &mut Variables, name: &'static str, value: String) {
    variables.retain(|(known, _)| *known != name);
    variables.push((name, value));
}
