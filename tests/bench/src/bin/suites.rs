//! The executable `suites`: builds the clients and the server, runs the tasks, writes the report.
//! See [`marula_bench::suites`].

use std::{fs, process::ExitCode};

use marula_bench::suites::{
    Failure,
    client::BenchClient,
    measure::{Target, TaskRun, measure},
    options::Options,
    paths::Paths,
    report::{Report, Row},
    server::Server,
};
use marula_bench_shared::harness::{Data, Task, data};

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// Runs the selected tasks. Returns `false` if one failed.
fn run(options: &Options) -> Result<bool, Failure> {
    let paths = Paths::find()?;
    let archives = data::archives(&paths.root)?;
    let data = Data::new(paths.out.join("data"));
    let uri = std::env::var("MONGODB_URI").ok();
    let (ours, server) = paths.build_ours()?;
    let mut clients = vec![ours];
    if options.official {
        clients.push(paths.build_official()?);
    }
    let mut report = Report {
        clients: clients.iter().map(|client| client.name.clone()).collect(),
        notes: notes(options, uri.is_some()),
        rows: Vec::new(),
    };
    for task in options.tasks() {
        if let Some(archive) = task.archive() {
            data.unpack(&archives, archive)?;
        }
        let task_run = TaskRun {
            task,
            units: task.reduced_units(options.quick, uri.is_none()),
            rule: options.rule(task.suite()),
            data: data.clone(),
        };
        let mut servers = Vec::new();
        if uri.is_none() && !task.is_codec_only() {
            for _ in &clients {
                servers.push(Server::start(&server)?);
            }
        }
        let targets = targets(&clients, uri.as_deref(), &servers, task);
        let row = Row {
            task: task.name(),
            units: task_run.units,
            specified_units: task.units(),
            outcomes: measure(&targets, &task_run),
        };
        eprintln!("{}", row.line());
        report.rows.push(row);
        write(&report, &paths)?;
    }
    println!("{}", report.markdown());
    println!("written to {}", paths.out.join("suites.{md,json}").display());
    Ok(!report.has_failures())
}

fn notes(options: &Options, real: bool) -> Vec<String> {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let server = if real {
        "the deployment of MONGODB_URI"
    } else {
        "the in-memory test server"
    };
    let length = match options.seconds {
        Some(seconds) => {
            format!("At most 100 iterations or {seconds} s for each task, less than specified.")
        }
        None if options.quick => {
            "At most 3 iterations or 1 s for each task: too few for a measurement.".to_owned()
        }
        None => "Iterations as specified.".to_owned(),
    };
    vec![format!("{length} {cores} cores; {server}.")]
}

/// Each client has its own server, or its own database with `MONGODB_URI`.
fn targets(clients: &[BenchClient], uri: Option<&str>, servers: &[Server], task: Task) -> Vec<Target> {
    let uri = uri.filter(|_| !task.is_codec_only());
    let target = |(number, client): (usize, &BenchClient)| {
        let own = servers.get(number);
        let letter = char::from(b'a' + u8::try_from(number).unwrap_or_default());
        Target {
            client: client.clone(),
            uri: own.map(Server::uri).or(uri).map(str::to_owned),
            database: match own {
                Some(_) => "perftest".to_owned(),
                None => format!("perftest_{letter}"),
            },
            server: own.map(Server::process),
        }
    };
    clients.iter().enumerate().map(target).collect()
}

fn write(report: &Report, paths: &Paths) -> Result<(), Failure> {
    fs::write(paths.out.join("suites.md"), report.markdown())?;
    Ok(fs::write(
        paths.out.join("suites.json"),
        serde_json::to_string_pretty(report)?,
    )?)
}
