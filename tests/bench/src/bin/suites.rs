//! The program: builds the contestants and the server, runs the tasks, reports. See the crate's documentation.

use std::{fs, process::ExitCode};

use marula_bench::suites::{
    Failure,
    contestant::Contestant,
    options::Options,
    places::Places,
    race::{Heat, Lane, race},
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

/// Runs what was asked for; true when nothing failed.
fn run(options: &Options) -> Result<bool, Failure> {
    let places = Places::find()?;
    let archives = data::archives(&places.root)?;
    let data = Data::new(places.out.join("data"));
    let uri = std::env::var("MONGODB_URI").ok();
    let (ours, server) = places.build_ours()?;
    let mut contestants = vec![ours];
    if options.official {
        contestants.push(places.build_official()?);
    }
    let mut report = Report {
        contestants: contestants
            .iter()
            .map(|contestant| contestant.name.clone())
            .collect(),
        notes: notes(options, uri.is_some()),
        rows: Vec::new(),
    };
    for task in options.tasks() {
        if let Some(archive) = task.archive() {
            data.unpack(&archives, archive)?;
        }
        let heat = Heat {
            task,
            units: task.reduced_units(options.quick, uri.is_none()),
            rule: options.rule(task.suite()),
            data: data.clone(),
        };
        let mut servers = Vec::new();
        if uri.is_none() && !task.is_codec_only() {
            for _ in &contestants {
                servers.push(Server::start(&server)?);
            }
        }
        let lanes = lanes(&contestants, uri.as_deref(), &servers, task);
        let row = Row {
            task: task.name(),
            units: heat.units,
            specified_units: task.units(),
            outcomes: race(&lanes, &heat),
        };
        eprintln!("{}", row.line());
        report.rows.push(row);
        write(&report, &places)?;
    }
    println!("{}", report.markdown());
    println!("written to {}", places.out.join("suites.{md,json}").display());
    Ok(!report.has_failures())
}

fn notes(options: &Options, real: bool) -> Vec<String> {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let server = if real {
        "the server of MONGODB_URI"
    } else {
        "the test server, in memory"
    };
    let length = match options.seconds {
        Some(seconds) => {
            format!("At most 100 iterations or {seconds} seconds each, not as long as specified.")
        }
        None if options.quick => {
            "A quick look, no measurement: at most 3 iterations or a second each.".to_owned()
        }
        None => "Iterations as specified.".to_owned(),
    };
    vec![format!("{length} {cores} cores; {server}.")]
}

/// Each contestant has a server to itself, or else a database.
fn lanes(contestants: &[Contestant], uri: Option<&str>, servers: &[Server], task: Task) -> Vec<Lane> {
    let uri = uri.filter(|_| !task.is_codec_only());
    let lane = |(number, contestant): (usize, &Contestant)| {
        let own = servers.get(number);
        let letter = char::from(b'a' + u8::try_from(number).unwrap_or_default());
        Lane {
            contestant: contestant.clone(),
            uri: own.map(Server::uri).or(uri).map(str::to_owned),
            database: match own {
                Some(_) => "perftest".to_owned(),
                None => format!("perftest_{letter}"),
            },
            server: own.map(Server::process),
        }
    };
    contestants.iter().enumerate().map(lane).collect()
}

fn write(report: &Report, places: &Places) -> Result<(), Failure> {
    fs::write(places.out.join("suites.md"), report.markdown())?;
    Ok(fs::write(
        places.out.join("suites.json"),
        serde_json::to_string_pretty(report)?,
    )?)
}
