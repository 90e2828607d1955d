//! Authentication with Kerberos (`GSSAPI`): a key distribution center (KDC) of the test, and servers
//! with its keys.
//!
//! The Kerberos library is configured by environment variables of the process, so each test runs in
//! a process of its own, which this program starts with [`CASE`]. The tests need the programs of MIT
//! Kerberos: without them they are reported as ignored, or fail if `MARULA_REQUIRE_KERBEROS` is set,
//! as in `.ci/run`.

mod acceptor;
mod failures;
mod kdc;
mod logins;
mod properties;
mod servers;
mod support;
mod time_limits;

use std::{
    fs,
    process::{Command, ExitCode},
    sync::{Arc, Mutex, PoisonError},
};

use libtest_mimic::{Arguments, Failed, Trial};

use kdc::{Kdc, Setup};

/// The environment variable with the name of the test that this process runs.
const CASE: &str = "MARULA_KERBEROS_CASE";

/// A test: what it needs in its environment, and how it runs there.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    setup: Setup,
    run: fn() -> Result<(), Failed>,
}

/// The tests of a module with their names and setups.
macro_rules! cases {
    ($($module:ident::{ $($name:ident: $setup:ident),* $(,)? })*) => {
        [$($(Case {
            name: concat!("kerberos::", stringify!($module), "::", stringify!($name)),
            setup: Kdc::$setup,
            run: || support::run($module::$name()),
        },)*)*]
    };
}

fn cases() -> Vec<Case> {
    Vec::from(cases! {
        logins::{
            a_ticket_logs_in: ticket,
            a_keytab_logs_in: keytab,
            a_password_logs_in: nothing,
            names_with_special_characters_log_in: special_keytab,
            a_user_without_a_realm_has_the_default_realm: ticket,
            several_connections_log_in_at_once: ticket,
            a_server_requires_reauthentication: ticket,
            secrets_do_not_appear_in_events_errors_or_debug_output: nothing,
        }
        properties::{
            the_service_name_is_that_of_the_property: ticket,
            the_service_host_is_that_of_the_property: ticket,
            the_service_realm_is_that_of_the_property: ticket,
            the_service_realm_is_that_of_the_configuration: own_configuration,
            host_names_are_canonicalized: ticket,
            typed_credentials_have_the_same_properties: ticket,
            a_unix_domain_socket_needs_a_service_host: ticket,
        }
        failures::{
            a_missing_ticket_is_an_error_that_says_how_to_get_one: nothing,
            the_ticket_of_another_user_is_not_used: ticket,
            an_expired_ticket_is_an_error: expired_ticket,
            a_wrong_password_is_an_error: nothing,
            an_unknown_user_is_an_error: nothing,
            an_unconfigured_realm_is_an_error: own_configuration,
            an_unreachable_kdc_is_an_error: own_configuration,
        }
        servers::{
            a_server_that_closes_the_connection_is_a_network_error: ticket,
            a_server_that_does_not_know_the_user_refuses: ticket,
            a_server_without_the_key_of_the_service_is_rejected: ticket,
            offers_without_the_layer_none_are_rejected: ticket,
            a_server_that_ends_the_conversation_early_is_rejected: ticket,
        }
        time_limits::{
            a_silent_kdc_ends_with_the_time_limit: own_configuration,
            a_dropped_client_closes_its_connection: own_configuration,
        }
    })
}

fn main() -> ExitCode {
    match std::env::var(CASE) {
        Ok(name) => run_case(&name),
        Err(_) => run_all(),
    }
}

/// Runs one test in this process.
fn run_case(name: &str) -> ExitCode {
    let Some(case) = cases().into_iter().find(|case| case.name == name) else {
        eprintln!("there is no test {name}");
        return ExitCode::FAILURE;
    };
    match (case.run)() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => {
            eprintln!("{}", failed.message().unwrap_or("failed"));
            ExitCode::FAILURE
        }
    }
}

/// Runs each test in a process of its own.
fn run_all() -> ExitCode {
    let missing = Kdc::missing_program();
    if let Some(program) = missing {
        eprintln!(
            "the program {program} of MIT Kerberos is missing: install krb5-kdc, krb5-admin-server and krb5-user"
        );
    }
    let is_ignored = missing.is_some() && std::env::var_os("MARULA_REQUIRE_KERBEROS").is_none();
    // Started by the first test that runs.
    let kdc = Arc::<Mutex<Option<Arc<Kdc>>>>::default();
    let trials = cases().into_iter().map(|case| {
        let kdc = Arc::clone(&kdc);
        let run = move || {
            let kdc = started(&kdc)?;
            run_in_process(&case, &kdc)
        };
        Trial::test(case.name, run).with_ignored_flag(is_ignored)
    });
    let trials = trials.collect();
    let conclusion = libtest_mimic::run(&Arguments::from_args(), trials);
    // Ends the KDC.
    drop(kdc.lock().unwrap_or_else(PoisonError::into_inner).take());
    conclusion.exit_code()
}

fn started(kdc: &Mutex<Option<Arc<Kdc>>>) -> Result<Arc<Kdc>, Failed> {
    let mut kdc = kdc.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(kdc) = &*kdc {
        return Ok(Arc::clone(kdc));
    }
    if let Some(program) = Kdc::missing_program() {
        return Err(format!("the program {program} of MIT Kerberos is missing").into());
    }
    let started = Arc::new(Kdc::start()?);
    Ok(Arc::clone(kdc.insert(started)))
}

fn run_in_process(case: &Case, kdc: &Kdc) -> Result<(), Failed> {
    let folder = kdc.folder.join(case.name.replace("::", "-"));
    fs::create_dir(&folder)?;
    let variables = (case.setup)(kdc, &folder)?;
    let output = Command::new(std::env::current_exe()?)
        .env(CASE, case.name)
        .envs(variables)
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    Err(String::from_utf8_lossy(&text).into_owned().into())
}
