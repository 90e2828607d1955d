//! In-use encryption. The tests need libmongocrypt: without it they are reported as ignored, or fail if
//! `MARULA_REQUIRE_MONGOCRYPT` is set, as in `.ci/run`.
//!
//! The library `crypt_shared` concerns the whole process that loads it, so each test with it runs in a process of its own: its
//! own tests, and others a second time.

mod analysis;
mod automatic;
mod corpus;
mod credentials;
mod crypt_shared;
mod deadlocks;
mod events;
mod explicit;
mod faults;
mod internal;
mod keys;
mod lies;
mod limits;
mod lookup;
mod malformed;
mod marks;
mod messages;
mod plaintext;
mod processes;
mod proxies;
mod queryable;
mod ranges;
mod replies;
mod required;
mod retried;
mod services;
mod strings;
mod support;
mod timeouts;
mod tls_options;
mod unsent;
mod vault;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use marula_mongocrypt::Library;

/// A test in its own runtime of one thread, whose log messages it records.
macro_rules! logged {
    ($($module:ident::{ $($name:ident),* $(,)? })*) => {
        [$($((
            concat!(stringify!($module), "::", stringify!($name)),
            (|| support::run_on_one_thread($module::$name())) as Test,
        ),)*)*]
    };
}

/// A test in its own runtime.
type Test = fn() -> Result<(), libtest_mimic::Failed>;

/// The tests of a module with their names.
macro_rules! tests {
    ($($module:ident::{ $($name:ident),* $(,)? })*) => {
        [$($((
            concat!(stringify!($module), "::", stringify!($name)),
            (|| support::run($module::$name())) as Test,
        ),)*)*]
    };
}

/// The tests that also run with the library `crypt_shared` instead of mongocryptd.
const AGAIN: [&str; 21] = [
    "analysis::errors_of_the_analysis_leave_the_connection_usable",
    "automatic::values_are_encrypted_on_the_server_and_decrypted_by_the_client",
    "automatic::all_commands_with_documents_are_encrypted_and_decrypted",
    "automatic::client_side_encryption_prose_4_batches_are_split_at_2_mib",
    "automatic::client_side_encryption_prose_3_values_are_decrypted_without_automatic_encryption",
    "automatic::transactions_are_encrypted",
    "automatic::encrypted_collections_are_created",
    "deadlocks::client_side_encryption_prose_9_a_pool_of_one_connection_suffices",
    "limits::client_side_encryption_prose_4_limits_apply_before_and_after_the_encryption",
    "queryable::client_side_encryption_prose_21_data_keys_are_created_with_the_collection",
    "queryable::client_side_encryption_prose_4_bulk_writes_of_clients_are_split_at_2_mib",
    "queryable::documents_are_updated_and_deleted_by_encrypted_values",
    "queryable::transactions_insert_and_abort_encrypted_values",
    "ranges::client_side_encryption_prose_22_ranges_of_all_types_are_found",
    "strings::client_side_encryption_prose_27_case_and_diacritics_are_folded",
    "vault::client_side_encryption_prose_2_values_are_not_encrypted_twice",
    "vault::client_side_encryption_prose_3_an_external_key_vault_has_its_own_credentials",
    "vault::client_side_encryption_prose_5_views_cannot_be_encrypted",
    "corpus::client_side_encryption_prose_6_the_corpus_is_encrypted_and_decrypted",
    "lookup::client_side_encryption_prose_25_encrypted_collections_are_joined",
    "plaintext::no_value_leaves_the_client_unencrypted",
];

fn main() -> ExitCode {
    let tests = tests! {
        explicit::{
            every_provider_encrypts_and_decrypts,
            values_of_all_types_are_decrypted,
            algorithms_of_queryable_encryption_make_payloads,
            expressions_are_encrypted,
            errors_name_the_cause,
            secrets_are_not_printed,
            a_missing_library_is_an_error_that_says_how_to_get_it,
        }
        keys::{
            keys_are_managed,
            providers_that_cannot_encrypt_keys_are_named,
            keys_are_rewrapped,
            key_material_has_96_bytes,
            client_side_encryption_prose_13_names_of_keys_are_unique,
            client_side_encryption_prose_16_keys_are_rewrapped_between_all_providers,
            an_unreachable_key_vault_is_an_error_of_encryption,
            a_failed_encrypted_collection_reports_its_keys,
        }
        services::{
            client_side_encryption_prose_10_certificates_are_checked,
            client_side_encryption_prose_11_client_certificates_are_required,
            client_side_encryption_prose_24_transient_failures_are_retried,
            client_side_encryption_prose_28_connections_are_opened_by_the_application,
            insecure_tls_options_are_rejected,
            a_silent_service_ends_with_the_time_limit,
            a_panic_of_the_application_is_an_error_that_names_the_provider,
            requests_are_not_sent_to_a_host_that_only_the_key_vault_names,
        }
        tls_options::{
            client_side_encryption_prose_11_aws_has_tls_options,
            client_side_encryption_prose_11_azure_has_tls_options,
            client_side_encryption_prose_11_gcp_has_tls_options,
            client_side_encryption_prose_11_kmip_has_tls_options,
            client_side_encryption_prose_11_the_check_by_ocsp_endpoints_can_be_disabled,
            client_side_encryption_prose_11_named_providers_have_tls_options,
        }
        proxies::{
            client_side_encryption_prose_28_a_plain_proxy_is_used,
            client_side_encryption_prose_28_an_encrypted_proxy_is_used,
            client_side_encryption_prose_28_automatic_encryption_uses_a_proxy,
            client_side_encryption_prose_28_an_error_of_the_application_is_reported,
            client_side_encryption_prose_28_the_application_receives_the_time_limit,
            client_side_encryption_prose_28_a_network_error_of_the_application_is_retried,
        }
        analysis::{
            client_side_encryption_prose_8_mongocryptd_is_not_started_if_bypassed,
            maps_require_namespaces,
            mongocryptd_is_started_with_its_arguments,
            operations_at_the_same_time_start_one_mongocryptd,
            errors_of_the_analysis_leave_the_connection_usable,
            the_stand_in_keeps_the_session_of_a_command,
            invalid_options_are_rejected,
        }
        automatic::{
            values_are_encrypted_on_the_server_and_decrypted_by_the_client,
            all_commands_with_documents_are_encrypted_and_decrypted,
            client_side_encryption_prose_4_batches_are_split_at_2_mib,
            client_side_encryption_prose_3_values_are_decrypted_without_automatic_encryption,
            transactions_are_encrypted,
            encrypted_collections_are_created,
            a_callback_of_oidc_is_called_once_for_both_clients,
        }
        internal::{
            the_internal_client_has_the_appended_metadata,
            a_shutdown_ends_the_sessions_of_the_internal_client,
        }
        required::{
            fields_are_required_to_be_encrypted,
            debug_output_of_actions_has_no_values,
            a_shutdown_waits_for_the_reads_of_an_encryption,
        }
        deadlocks::{
            client_side_encryption_prose_9_a_pool_of_one_connection_suffices,
        }
        limits::{
            client_side_encryption_prose_4_limits_apply_before_and_after_the_encryption,
        }
        events::{
            client_side_encryption_prose_14_events_have_encrypted_replies,
        }
        queryable::{
            client_side_encryption_prose_12_explicit_payloads_are_inserted_and_found,
            client_side_encryption_prose_21_data_keys_are_created_with_the_collection,
            client_side_encryption_prose_4_bulk_writes_of_clients_are_split_at_2_mib,
            documents_are_updated_and_deleted_by_encrypted_values,
            transactions_insert_and_abort_encrypted_values,
        }
        ranges::{
            client_side_encryption_prose_22_ranges_of_all_types_are_found,
            client_side_encryption_prose_23_ranges_have_defaults,
        }
        strings::{
            client_side_encryption_prose_27_parts_of_strings_are_found,
            client_side_encryption_prose_27_contention_is_required,
            client_side_encryption_prose_27_case_and_diacritics_are_folded,
        }
        vault::{
            client_side_encryption_prose_1_key_material_is_that_of_the_application,
            client_side_encryption_prose_2_values_are_not_encrypted_twice,
            client_side_encryption_prose_3_an_external_key_vault_has_its_own_credentials,
            client_side_encryption_prose_5_views_cannot_be_encrypted,
            client_side_encryption_prose_7_endpoints_are_those_of_the_master_key,
            client_side_encryption_prose_7_endpoints_are_resolved,
        }
        corpus::{
            client_side_encryption_prose_6_the_corpus_is_encrypted_and_decrypted,
        }
        lookup::{
            client_side_encryption_prose_25_encrypted_collections_are_joined,
            client_side_encryption_prose_25_an_old_analysis_is_an_error,
        }
        faults::{
            answers_of_services_that_are_cut_are_repeated,
            altered_and_truncated_values_are_errors,
            altered_values_with_an_index_are_not_confused,
            malformed_markings_are_errors,
            a_mongocryptd_that_fails_within_a_reply_is_an_error,
            unusable_libraries_are_errors,
        }
        lies::{
            responses_of_services_that_make_no_sense_are_errors,
            wrong_keys_of_services_are_errors,
        }
        replies::{
            a_reply_that_cannot_be_decrypted_has_times,
            a_reply_that_cannot_be_decrypted_has_a_recovery_token,
            the_cursor_of_a_reply_that_cannot_be_decrypted_is_closed,
            the_cursor_of_a_batch_that_cannot_be_decrypted_is_closed,
            the_cursor_of_a_dropped_decryption_is_closed,
            a_command_that_was_performed_is_not_unavailable,
            a_change_stream_resumes_if_the_key_of_an_event_cannot_be_read,
            a_change_stream_reports_that_its_keys_cannot_be_read,
            the_result_of_a_write_is_not_lost_if_its_reply_cannot_be_decrypted,
            the_result_of_a_client_bulk_write_is_not_lost_if_its_reply_cannot_be_decrypted,
        }
        retried::{
            an_error_of_an_attempt_that_was_sent_is_not_replaced_by_one_of_the_encryption,
            a_result_of_an_attempt_that_was_sent_is_not_lost_with_the_encryption_of_the_next,
            a_result_of_an_attempt_that_was_sent_is_not_lost_with_the_time_limit_of_the_next,
            a_result_of_a_client_bulk_write_is_not_lost_with_the_time_limit_of_the_next_attempt,
        }
        malformed::{
            a_malformed_command_is_not_sent,
            a_malformed_reply_is_not_shortened,
            deeply_nested_replies_are_errors,
            malformed_schemas_of_collections_are_errors,
            replies_with_very_many_keys_are_errors,
        }
        unsent::{
            a_dropped_encryption_leaves_the_transaction_in_progress,
            a_dropped_encryption_returns_the_implicit_session,
            a_dropped_encryption_keeps_the_pinned_connection,
            a_silent_mongocryptd_is_an_error,
            nothing_is_sent_to_a_server_that_is_not_mongocryptd,
            reads_of_schemas_are_retried,
            a_bulk_write_whose_encryption_failed_says_so,
            a_commit_after_a_shutdown_releases_the_pinned_connection,
        }
        timeouts::{
            client_side_operations_timeout_prose_3a,
            client_side_operations_timeout_prose_3b,
            client_side_operations_timeout_prose_3c,
            client_side_operations_timeout_prose_unit_6,
            client_side_operations_timeout_prose_unit_7,
            a_source_of_credentials_is_limited_by_the_time_limit,
        }
        credentials::{
            aws_credentials_come_from_environment_variables,
            half_of_an_access_key_is_an_error,
            aws_credentials_come_from_ecs,
            aws_credentials_come_from_ec2,
            aws_credentials_come_from_a_web_identity,
            credentials_of_several_providers_are_obtained_at_the_same_time,
            client_side_encryption_prose_18_azure_tokens_are_obtained_and_cached,
            client_side_encryption_prose_19_azure_keys_need_the_token_of_the_machine,
            client_side_encryption_prose_17_gcp_tokens_are_obtained,
            the_reason_of_missing_credentials_of_one_of_two_providers_is_reported,
            client_side_encryption_prose_15_missing_credentials_are_errors,
            client_side_encryption_prose_26_the_application_provides_aws_credentials,
            a_provider_that_panics_is_an_error,
            aws_credentials_come_from_the_endpoint_of_a_container,
        }
    };
    let logged = logged! {
        messages::{
            messages_of_libmongocrypt_are_logged,
        }
        plaintext::{
            no_value_leaves_the_client_unencrypted,
        }
    };
    let with_crypt_shared = tests! {
        crypt_shared::{
            client_side_encryption_prose_8_mongocryptd_is_not_started_if_crypt_shared_is_loaded,
            client_side_encryption_prose_20_mongocryptd_is_not_connected_if_crypt_shared_is_loaded,
            many_values_are_marked,
            errors_of_the_analysis_are_typed,
            a_panic_of_the_analysis_is_an_error,
            messages_of_the_analysis_have_no_values,
            malformed_commands_are_errors,
            clients_of_a_process_share_the_library,
            the_library_is_not_loaded_if_nothing_is_analyzed,
            files_that_are_no_crypt_shared_are_errors,
            a_rejected_command_does_not_lose_what_was_read_of_the_collection,
            the_analysis_of_a_large_command_has_a_time_limit,
        }
    };
    let on_one_thread = logged! {
        crypt_shared::{
            the_analysis_of_a_large_command_does_not_block_the_runtime,
        }
    };
    let all: Vec<(&str, Test)> = tests
        .into_iter()
        .chain(logged)
        .chain(with_crypt_shared)
        .chain(on_one_thread)
        .collect();
    if let Some(name) = processes::case() {
        return processes::run_case(&all, &name);
    }
    let missing = Library::load(None).err();
    if let Some(error) = &missing {
        eprintln!("{error}");
    }
    let is_ignored = missing.is_some() && std::env::var_os("MARULA_REQUIRE_MONGOCRYPT").is_none();
    let is_separate = |name: &str| name.starts_with(crypt_shared::PREFIX);
    let own = all.iter().map(|(name, _)| *name).filter(|name| is_separate(name));
    let in_processes = own.chain(AGAIN).map(|name| {
        let shown = format!(
            "{}{}",
            crypt_shared::PREFIX,
            name.trim_start_matches(crypt_shared::PREFIX)
        );
        Trial::test(shown, move || processes::run(name))
    });
    let mut trials: Vec<Trial> = in_processes.collect();
    let here = all.into_iter().filter(|(name, _)| !is_separate(name));
    trials.extend(here.map(|(name, test)| Trial::test(name, test)));
    let trials = trials
        .into_iter()
        .map(|trial| trial.with_ignored_flag(is_ignored))
        .collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
