//! Every code is provoked somewhere: a new one without a test fails here.

use std::collections::BTreeSet;
use std::path::Path;

use keyway_code::{Code, Kind};

#[test]
fn every_code_has_a_test_that_provokes_it() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut listed = BTreeSet::new();
    for (file, test, codes) in PROVOKED {
        let text = std::fs::read_to_string(crates.join(file)).expect(file);
        assert!(text.contains(&format!("fn {test}(")), "{file}: {test}");
        for code in *codes {
            let variant = Code::ALL.iter().find(|it| it.facts().text == *code);
            let variant = variant.map(|it| format!("Code::{it:?}"));
            let speaks = text.contains(code) || variant.is_some_and(|it| text.contains(&it));
            assert!(speaks, "{file} does not speak of {code}");
            assert!(listed.insert(*code), "{code} is listed twice");
        }
    }
    let all = Code::ALL.iter().map(|code| code.facts());
    let all = all.filter(|facts| facts.kind == Kind::Error);
    let all: BTreeSet<&str> = all.map(|facts| facts.text).collect();
    let forgotten: Vec<_> = all.difference(&listed).collect();
    assert!(forgotten.is_empty(), "no test provokes {forgotten:?}");
    let unknown: Vec<_> = listed.difference(&all).collect();
    assert!(unknown.is_empty(), "no such code: {unknown:?}");
}

/// The rows of the table of errors in the contract's source, each with the tests that show it.
#[test]
fn every_symptom_that_the_contract_names_is_provoked() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/doctor");
    for (symptom, file, test) in SYMPTOMS {
        let text = std::fs::read_to_string(here.join(file)).expect(file);
        assert!(text.contains(&format!("#[test]\nfn {test}(")), "{symptom}");
    }
}

const SYMPTOMS: &[(&str, &str, &str)] = &[
    (
        "HTTP 401",
        "credentials.rs",
        "a_refused_token_is_looked_at_and_the_right_one_works",
    ),
    (
        "HTTP 403",
        "credentials.rs",
        "a_forbidden_request_says_what_is_missing",
    ),
    (
        "token not found",
        "credentials.rs",
        "a_variable_that_is_not_set_is_named_and_nothing_is_sent",
    ),
    (
        "wrong header format",
        "credentials.rs",
        "a_bare_token_is_mended_by_the_command_that_is_named",
    ),
    (
        "authentication loop",
        "sign_in.rs",
        "a_server_that_refuses_fresh_tokens_is_a_loop",
    ),
    (
        "scope problem",
        "sign_in.rs",
        "a_scope_that_is_missing_is_named_and_agreeing_to_it_works",
    ),
    (
        "refresh failure, for now",
        "sign_in.rs",
        "a_renewal_that_fails_for_now_costs_no_sign_in",
    ),
    (
        "refresh failure, for good",
        "sign_in.rs",
        "a_renewal_that_fails_for_good_asks_for_a_sign_in",
    ),
];

type Row = (&'static str, &'static str, &'static [&'static str]);

/// A file below `crates/`, a test in it, and the codes that it provokes.
const PROVOKED: &[Row] = &[
    (
        "keyway-cli/tests/doctor/credentials.rs",
        "a_refused_token_is_looked_at_and_the_right_one_works",
        &["auth-rejected", "token-expired", "token-placeholder"],
    ),
    (
        "keyway-cli/tests/doctor/credentials.rs",
        "a_forbidden_request_says_what_is_missing",
        &[
            "admin-approval-needed",
            "forbidden",
            "insufficient-scope",
            "wrong-tenant",
        ],
    ),
    (
        "keyway-cli/tests/doctor/credentials.rs",
        "a_clock_that_is_wrong_is_told_with_the_refusal",
        &["clock-skew"],
    ),
    (
        "keyway-cli/tests/doctor/discovery.rs",
        "a_sign_in_that_could_not_begin_is_told_by_the_rule_that_is_broken",
        &[
            "bad-metadata",
            "dcr-unsupported",
            "network-error",
            "no-endpoint",
            "no-metadata",
            "pkce-unsupported",
            "redirect-refused",
            "resource-mismatch",
        ],
    ),
    (
        "keyway-cli/tests/doctor/discovery.rs",
        "a_sign_in_that_is_refused_on_the_way_is_told_by_its_code",
        &[
            "client-authentication",
            "oauth-not-offered",
            "registration-refused",
        ],
    ),
    (
        "keyway-cli/tests/doctor/network.rs",
        "certificates_are_told_apart_and_a_named_root_is_believed",
        &["certificate-expired", "certificate-untrusted"],
    ),
    (
        "keyway-cli/tests/doctor/network.rs",
        "a_name_that_leads_nowhere_is_told_as_such",
        &["name-not-found"],
    ),
    (
        "keyway-cli/tests/doctor/network.rs",
        "a_port_without_a_server_is_a_network_fault",
        &["unreachable"],
    ),
    (
        "keyway-cli/tests/doctor/network.rs",
        "an_unencrypted_server_behind_https_is_not_a_certificate_fault",
        &["tls-failed"],
    ),
    (
        "keyway-cli/tests/doctor/network.rs",
        "a_proxy_that_refuses_is_told_as_such",
        &["proxy-refused"],
    ),
    (
        "keyway-cli/tests/doctor/network.rs",
        "a_limit_is_told_with_the_time_to_wait",
        &["rate-limited"],
    ),
    (
        "keyway-cli/tests/doctor/network.rs",
        "a_server_of_no_known_version_says_what_it_offers_and_which_side_needs_an_update",
        &["no-common-version"],
    ),
    (
        "keyway-cli/tests/doctor/network.rs",
        "a_web_page_instead_of_a_server_is_an_http_error",
        &["http-error"],
    ),
    (
        "keyway-cli/tests/doctor/plain.rs",
        "a_redirect_to_elsewhere_is_not_followed_and_its_target_works_once_it_is_named",
        &["cross-origin-redirect"],
    ),
    (
        "keyway-cli/tests/doctor/plain.rs",
        "a_certificate_of_another_name_is_told_as_such",
        &["certificate-name"],
    ),
    (
        "keyway-transport/tests/children/stdio.rs",
        "line_above_the_limit_ends_the_connection_with_its_own_code",
        &["message-too-large"],
    ),
    (
        "keyway-cli/tests/bundles.rs",
        "a_bundle_that_leads_elsewhere_is_named_with_its_member_and_not_unpacked",
        &["bad-bundle"],
    ),
    (
        "keyway-cli/tests/doctor/plain.rs",
        "a_server_that_does_not_speak_the_protocol_or_answers_with_an_error_is_told",
        &["protocol-error", "server-error"],
    ),
    (
        "keyway-cli/tests/doctor/plain.rs",
        "names_that_are_not_there_are_told_with_the_nearest",
        &[
            "disabled",
            "unknown-server",
            "unknown-tool",
            "unreadable-file",
            "wrong-usage",
        ],
    ),
    (
        "keyway-cli/tests/doctor/plain.rs",
        "a_setting_that_is_not_understood_stops_everything_until_it_is_mended",
        &["invalid-setting"],
    ),
    (
        "keyway-cli/tests/status.rs",
        "json_is_the_object_of_the_contract",
        &["config-error"],
    ),
    (
        "keyway-cli/tests/doctor/plain.rs",
        "a_vault_that_is_damaged_is_told_and_nothing_is_asked",
        &["vault"],
    ),
    (
        "keyway-cli/tests/doctor/programs.rs",
        "a_helper_is_told_by_the_rule_that_it_broke",
        &[
            "helper-empty",
            "helper-failed",
            "helper-output",
            "helper-timeout",
        ],
    ),
    (
        "keyway-cli/tests/doctor/programs.rs",
        "a_program_that_ends_at_once_is_told_with_its_last_words",
        &["child-ended"],
    ),
    (
        "keyway-cli/tests/doctor/programs.rs",
        "a_program_that_is_not_there_cannot_be_started",
        &["spawn-failed"],
    ),
    (
        "keyway/src/host/slim_tests.rs",
        "what_is_not_built_in_is_an_error_with_its_code",
        &["not-built-in"],
    ),
    (
        "keyway-transport/tests/children/escapes.rs",
        "e1_nothing_starts_once_a_folder_was_replaced",
        &["folder-replaced"],
    ),
    (
        "keyway-transport/tests/children/grants.rs",
        "a_grant_that_leads_into_a_hidden_folder_starts_nothing",
        &["grant-hidden"],
    ),
    (
        "keyway-transport/tests/children/isolation.rs",
        "a_confined_program_that_was_not_granted_names_the_grant",
        &["not-granted"],
    ),
    (
        "keyway-transport/tests/children/isolation.rs",
        "e13_what_is_required_and_not_available_starts_nothing",
        &["isolation-unavailable"],
    ),
    (
        "keyway-transport/tests/children/init.rs",
        "program_without_init_gets_an_error_and_never_starts_a_second_self",
        &["launcher-not-initialized"],
    ),
    (
        "keyway-cli/tests/doctor/sign_in.rs",
        "a_missing_sign_in_is_reported_with_the_command_and_it_works_then",
        &["sign-in-required"],
    ),
    (
        "keyway-cli/tests/doctor/sign_in.rs",
        "a_port_that_is_taken_is_reported_before_a_sign_in",
        &["callback-port-busy"],
    ),
    (
        "keyway-cli/tests/doctor/sign_in.rs",
        "metadata_of_another_issuer_is_found_without_a_sign_in",
        &["issuer-mismatch"],
    ),
    (
        "keyway-cli/tests/doctor/sign_in.rs",
        "a_server_that_refuses_fresh_tokens_is_a_loop",
        &["oauth-loop"],
    ),
    (
        "keyway-cli/tests/doctor/sign_in.rs",
        "a_renewal_that_fails_for_now_costs_no_sign_in",
        &["authorization-server-error"],
    ),
    (
        "keyway-cli/tests/doctor/sign_in.rs",
        "a_renewal_that_fails_for_good_asks_for_a_sign_in",
        &["refresh-failed"],
    ),
    (
        "keyway-auth/src/oauth/tests/refresh.rs",
        "a_lost_answer_is_said_to_be_one_and_the_old_token_is_tried_once_more",
        &["refresh-unanswered"],
    ),
    (
        "keyway-cli/tests/doctor/whole.rs",
        "nothing_is_sent_before_it_is_approved",
        &["pending-trust"],
    ),
    (
        "keyway-cli/tests/doctor/whole.rs",
        "a_person_reads_what_happened_why_and_what_to_do",
        &["not-configured"],
    ),
    (
        "keyway-cli/tests/doctor/whole.rs",
        "twenty_servers_of_which_five_hang_take_no_longer_than_one_that_hangs",
        &["timeout"],
    ),
    (
        "keyway-cli/tests/peers/wrong_type.rs",
        "a_wrong_type_is_told_for_server_everything",
        &["wrong-transport"],
    ),
    (
        "keyway-cli/tests/events.rs",
        "each_kind_is_told_where_it_happens_and_none_holds_a_secret",
        &["auth-failed"],
    ),
    (
        "keyway-cli/tests/call.rs",
        "arguments_that_do_not_fit_are_never_sent",
        &["bad-arguments"],
    ),
    (
        "keyway-cli/tests/demo.rs",
        "a_demo_that_cannot_begin_says_so_in_every_format",
        &["demo-failed"],
    ),
    (
        "keyway-cli/tests/doctor/unattended.rs",
        "a_client_that_is_refused_is_told_and_the_right_secret_works",
        &["token-refused"],
    ),
    (
        "keyway-cli/tests/doctor/unattended.rs",
        "a_token_of_the_platform_that_is_not_there_is_told_and_its_file_is_enough",
        &["no-assertion"],
    ),
    (
        "keyway-cli/tests/doctor/identity.rs",
        "a_refusal_of_the_organisation_is_told_and_no_person_is_asked_instead",
        &["identity-refused"],
    ),
    (
        "keyway-cli/tests/doctor/network.rs",
        "an_address_that_is_never_reached_is_told_and_another_host_works",
        &["forbidden-address"],
    ),
    (
        "keyway-cli/tests/doctor/socket.rs",
        "a_connection_that_is_cut_off_is_told_and_the_next_one_works",
        &["connection-closed"],
    ),
    (
        "keyway-cli/tests/doctor/ends.rs",
        "ctrl_c_ends_the_examination_at_once_and_scripts_are_told_too",
        &["cancelled"],
    ),
    (
        "keyway-cli/tests/doctor/ends.rs",
        "a_server_that_has_not_answered_is_connecting_and_the_others_work",
        &["connecting"],
    ),
    (
        "keyway-auth/src/oauth/account_pin.rs",
        "a_conversation_of_one_account_gets_no_token_of_another",
        &["other-account"],
    ),
    (
        "keyway-cli/tests/panics.rs",
        "a_panic_that_quotes_a_value_shows_its_place_only",
        &["internal"],
    ),
    (
        "keyway-cli/tests/panics.rs",
        "a_thread_that_the_system_refuses_is_an_error_and_no_fault_of_the_program",
        &["system-limit"],
    ),
    (
        "keyway-vault/src/store/tests/keys.rs",
        "locked_silent_and_absent_keyrings_are_different_states",
        &[
            "keyring-absent",
            "keyring-locked",
            "keyring-refused",
            "keyring-timeout",
        ],
    ),
    (
        "keyway-vault/src/store/tests/keys.rs",
        "lost_key_file_is_an_error_and_not_a_new_key",
        &["key-source-differs", "key-unavailable"],
    ),
    (
        "keyway-vault/src/store/tests/keys.rs",
        "p1_wrong_key_is_told_from_a_damaged_record",
        &["wrong-key"],
    ),
    (
        "keyway-vault/src/store/tests.rs",
        "database_of_something_else_is_refused_and_left_alone",
        &["not-a-vault", "vault-corrupt"],
    ),
    (
        "keyway-vault/src/store/tests/losing.rs",
        "file_without_content_is_not_a_first_use",
        &["vault-lost"],
    ),
    (
        "keyway-vault/src/transfer/tests.rs",
        "sealed_sign_in_is_imported_once_before_its_end_and_by_its_vault_alone",
        &["transfer-refused"],
    ),
    (
        "keyway-cli/tests/vault.rs",
        "a_full_or_read_only_disk_leaves_what_is_stored_usable_and_is_named",
        &["vault-unwritable"],
    ),
    (
        "keyway-cli/tests/postgres/away.rs",
        "without_its_database_a_gateway_serves_what_it_has_and_redeems_nothing",
        &["store-unreachable"],
    ),
    (
        "keyway-vault/src/store/tests.rs",
        "database_of_a_newer_version_is_refused_and_left_alone",
        &["vault-newer"],
    ),
    (
        "keyway-vault/src/store/tests.rs",
        "names_that_cannot_be_kept_are_refused",
        &["vault-failed"],
    ),
    (
        "keyway-vault/src/grants/tests.rs",
        "store_that_stays_locked_gives_no_claim",
        &["vault-busy"],
    ),
    (
        "keyway-vault/src/folders/tests.rs",
        "folders_and_files_are_private_from_the_start",
        &["vault-exposed"],
    ),
    (
        "keyway-vault/src/folders/tests.rs",
        "relative_folder_is_refused",
        &["vault-folder"],
    ),
    (
        "keyway-vault/src/error.rs",
        "keys_that_are_not_given_or_no_keys_have_codes_of_their_own",
        &["key-not-supplied", "keyring-failed", "malformed-key"],
    ),
    (
        "keyway/src/settings/tests.rs",
        "an_unknown_key_is_an_error_that_names_the_nearest",
        &["unknown-setting"],
    ),
    (
        "keyway/src/settings/tests.rs",
        "hostile_text_ends_in_a_diagnostic_and_nothing_else",
        &["invalid-toml"],
    ),
    (
        "keyway-mcp/src/eras/legacy_client/tests.rs",
        "more_calls_than_can_be_remembered_are_refused",
        &["busy"],
    ),
    (
        "keyway-cli/tests/convert.rs",
        "what_cannot_be_said_is_left_out_and_what_is_lost_is_named",
        &["lost-in-conversion", "not-converted"],
    ),
    (
        "keyway-cli/tests/migrate.rs",
        "line_with_another_value_is_a_conflict_and_the_literal_stays",
        &["not-migrated"],
    ),
    (
        "keyway-cli/tests/migrate.rs",
        "without_write_the_changes_are_shown_and_none_is_made",
        &["rotate-token"],
    ),
    (
        "keyway-cli/tests/migrate.rs",
        "seed_5_7_8_basic_authentication_gives_way_to_type_and_url",
        &["oauth-not-checked"],
    ),
    (
        "keyway-cli/tests/readme.rs",
        "check_fails_until_the_section_is_up_to_date",
        &["readme-outdated"],
    ),
    (
        "keyway-cli/tests/readme.rs",
        "markers_that_enclose_nothing_are_refused",
        &["readme-left-alone"],
    ),
];
