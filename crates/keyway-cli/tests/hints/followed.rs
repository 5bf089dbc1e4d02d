//! Every `keyway` command that a hint names: it exists, and a test follows it to where it leads. A
//! hint with a new command fails here until it has a row.

use std::fs;
use std::path::{Path, PathBuf};

use keyway_testkit::Folder;

/// The command as hints write it, what it is run as here, and the test that follows it.
type Row = (
    &'static str,
    &'static [&'static str],
    &'static str,
    &'static str,
);

/// `X` stands for whatever is filled in: a server, a file, a name. `migrate command` is any of its
/// commands, the one that was run.
const FOLLOWED: &[Row] = &[
    (
        "add",
        &["add", "https://h.example/mcp"],
        "own_servers.rs",
        "server_is_added_signed_in_and_in_clients_at_once_and_goes_again",
    ),
    (
        "add X",
        &["add", "https://h.example/mcp"],
        "own_servers.rs",
        "server_is_added_signed_in_and_in_clients_at_once_and_goes_again",
    ),
    (
        "add X X --header X",
        &["add", "s", "https://h.example/mcp", "--header", "X-Key"],
        "own_servers.rs",
        "key_of_a_header_goes_to_the_vault_and_to_the_server",
    ),
    (
        "adopt",
        &["adopt"],
        "own_servers.rs",
        "everything_is_adopted_once_secrets_go_to_the_vault_and_every_byte_comes_back",
    ),
    (
        "call X X X",
        &["call", "s", "echo", "message=x"],
        "call.rs",
        "arguments_arrive_in_the_types_that_the_tool_asks_for",
    ),
    (
        "check",
        &["check"],
        "check.rs",
        "warnings_end_with_success_and_strict_makes_them_errors",
    ),
    (
        "check --fix --unsafe-fixes",
        &["check", "--fix", "--unsafe-fixes"],
        "doctor/credentials.rs",
        "a_bare_token_is_mended_by_the_command_that_is_named",
    ),
    (
        "client-metadata",
        &["client-metadata", "https://h.example/c.json"],
        "accounts.rs",
        "the_document_of_a_client_names_the_address_that_it_is_for",
    ),
    (
        "clients",
        &["clients"],
        "own_servers.rs",
        "list_says_what_holds_a_secret_what_is_broken_and_what_does_not_count",
    ),
    (
        "demo --check",
        &["demo", "--check"],
        "demo.rs",
        "check_signs_in_calls_every_server_and_sees_a_token_renewed",
    ),
    (
        "doctor",
        &["doctor"],
        "doctor/whole.rs",
        "nothing_is_sent_before_it_is_approved",
    ),
    (
        "doctor --bundle report.tar",
        &["doctor", "--bundle", "report.tar"],
        "doctor/bundle.rs",
        "a_bundle_holds_what_a_report_needs_and_no_value_in_any_encoding",
    ),
    (
        "doctor --bundle",
        &["doctor", "--bundle", "report.tar"],
        "doctor/bundle.rs",
        "a_bundle_holds_what_a_report_needs_and_no_value_in_any_encoding",
    ),
    (
        "doctor X",
        &["doctor", "s"],
        "doctor/credentials.rs",
        "a_refused_token_is_looked_at_and_the_right_one_works",
    ),
    (
        "doctor X --debug=oauth --debug-file keyway-debug.txt",
        &["doctor", "s", "--debug=oauth", "--debug-file", "f"],
        "hints.rs",
        "a_log_for_the_operator_is_written_by_the_command_that_is_named",
    ),
    (
        "doctor X --debug=transport --debug-file keyway-debug.txt",
        &["doctor", "s", "--debug=transport", "--debug-file", "f"],
        "hints.rs",
        "a_log_for_the_operator_is_written_by_the_command_that_is_named",
    ),
    (
        "embed allow X",
        &["embed", "allow", "editor"],
        "control.rs",
        "approving_needs_the_digest_that_was_shown_and_a_host_allowed_on_a_terminal",
    ),
    (
        "embed list",
        &["embed", "list"],
        "control.rs",
        "approving_needs_the_digest_that_was_shown_and_a_host_allowed_on_a_terminal",
    ),
    (
        "embed revoke",
        &["embed", "revoke", "editor"],
        "control.rs",
        "approving_needs_the_digest_that_was_shown_and_a_host_allowed_on_a_terminal",
    ),
    (
        "env list",
        &["env", "list"],
        "env.rs",
        "a_value_is_in_no_output_no_file_and_no_argument",
    ),
    (
        "env set X",
        &["env", "set", "N"],
        "env.rs",
        "a_kept_variable_counts_after_the_environment_and_the_file",
    ),
    (
        "explain",
        &["explain"],
        "explain.rs",
        "every_code_that_is_listed_has_its_page",
    ),
    (
        "explain X",
        &["explain", "auth-rejected"],
        "explain.rs",
        "every_code_that_is_listed_has_its_page",
    ),
    (
        "headers X --direct",
        &["headers", "s", "--direct"],
        "headers.rs",
        "access_token_goes_out_only_where_the_person_switched_that_on",
    ),
    (
        "headers X --no-direct",
        &["headers", "s", "--no-direct"],
        "headers.rs",
        "access_token_goes_out_only_where_the_person_switched_that_on",
    ),
    (
        "headers X --renew",
        &["headers", "s", "--renew"],
        "headers.rs",
        "revoked_token_stays_revoked_until_the_person_renews_it",
    ),
    (
        "help --all",
        &["help", "--all"],
        "explain.rs",
        "help_shows_ten_commands_and_the_rest_in_groups_when_asked_for_all",
    ),
    (
        "help X",
        &["help", "login"],
        "explain.rs",
        "help_shows_ten_commands_and_the_rest_in_groups_when_asked_for_all",
    ),
    (
        "install X",
        &["install", "claude-code"],
        "install.rs",
        "every_client_gets_exactly_one_entry_and_gives_it_back",
    ),
    (
        "install X --all",
        &["install", "claude-code", "--all"],
        "install.rs",
        "where_there_are_several_servers_it_says_how_to_name_one_or_all",
    ),
    (
        "install X --mcp-remote",
        &["install", "claude-code", "--mcp-remote"],
        "install.rs",
        "a_bridge_is_pointed_out_and_stays_without_the_flag",
    ),
    (
        "install X X --as X",
        &["install", "claude-code", "s", "--as", "other"],
        "install.rs",
        "another_plugins_server_of_the_same_name_is_refused_or_gets_a_name",
    ),
    (
        "login X",
        &["login", "s"],
        "doctor/sign_in.rs",
        "a_server_that_refuses_fresh_tokens_is_a_loop",
    ),
    (
        "login X --account X",
        &["login", "s", "--account", "work"],
        "accounts.rs",
        "two_accounts_at_one_server_are_two_sign_ins",
    ),
    (
        "login X --for X",
        &["login", "s", "--for", "key"],
        "moving.rs",
        "a_second_sign_in_is_made_for_a_container_and_the_first_stays",
    ),
    (
        "login X --no-browser",
        &["login", "s", "--no-browser"],
        "accounts.rs",
        "a_person_sees_which_client_asks_for_what_before_the_page",
    ),
    (
        "login X --scopes X",
        &["login", "s", "--scopes", "read"],
        "doctor/sign_in.rs",
        "a_scope_that_is_missing_is_named_and_agreeing_to_it_works",
    ),
    (
        "login own",
        &["login", "own:s"],
        "own_servers.rs",
        "server_is_added_signed_in_and_in_clients_at_once_and_goes_again",
    ),
    (
        "logout X",
        &["logout", "s"],
        "logout.rs",
        "a_refresh_token_that_could_not_be_revoked_is_told_and_revoked_by_the_next_logout",
    ),
    (
        "logs X",
        &["logs", "s"],
        "logs.rs",
        "lines_of_a_server_are_kept_redacted_and_shown",
    ),
    (
        "migrate command",
        &["migrate", "env"],
        "migrate.rs",
        "line_with_another_value_is_a_conflict_and_the_literal_stays",
    ),
    (
        "migrate env",
        &["migrate", "env"],
        "migrate.rs",
        "line_with_another_value_is_a_conflict_and_the_literal_stays",
    ),
    (
        "migrate oauth X",
        &["migrate", "oauth", "s"],
        "doctor/migrations.rs",
        "an_entry_is_reduced_only_if_the_server_offers_a_sign_in",
    ),
    (
        "mtls",
        &["mtls"],
        "mtls.rs",
        "an_encrypted_key_is_opened_by_a_variable_that_is_named",
    ),
    (
        "open",
        &["open"],
        "dashboard/main.rs",
        "open_asks_the_gateway_of_the_same_user_and_its_link_works_once",
    ),
    (
        "open --socket X",
        &["open", "--socket", "s.sock"],
        "dashboard/main.rs",
        "open_asks_the_gateway_of_the_same_user_and_its_link_works_once",
    ),
    (
        "readme",
        &["readme"],
        "readme.rs",
        "section_is_printed_and_nothing_is_written",
    ),
    (
        "readme --write",
        &["readme", "--write"],
        "readme.rs",
        "check_fails_until_the_section_is_up_to_date",
    ),
    (
        "remove X",
        &["remove", "s"],
        "own_servers.rs",
        "server_is_added_signed_in_and_in_clients_at_once_and_goes_again",
    ),
    (
        "resources X",
        &["resources", "s"],
        "hints.rs",
        "what_a_server_has_is_listed_by_the_commands_that_are_named",
    ),
    (
        "rotate X",
        &["rotate", "s"],
        "doctor/rotate.rs",
        "a_value_in_the_vault_is_replaced_once_the_new_one_works",
    ),
    (
        "run",
        &["run", "s"],
        "run.rs",
        "a_running_client_uses_a_sign_in_that_another_process_made",
    ),
    (
        "serve",
        &["serve"],
        "serve.rs",
        "c10_the_token_goes_no_further_and_opens_its_own_plugin_alone",
    ),
    (
        "serve --events X",
        &["serve", "--events", "f"],
        "events.rs",
        "each_kind_is_told_where_it_happens_and_none_holds_a_secret",
    ),
    (
        "service uninstall",
        &["service", "uninstall"],
        "service.rs",
        "a_service_starts_with_its_first_client_and_comes_back_after_a_kill",
    ),
    (
        "status",
        &["status"],
        "status.rs",
        "table_shows_every_server_and_names_what_is_missing",
    ),
    (
        "status --config X",
        &["status", "--config", "."],
        "hints.rs",
        "every_hint_of_the_table_says_what_helps_and_not_what_does_not",
    ),
    (
        "token list",
        &["token", "list"],
        "serve.rs",
        "a_token_is_made_once_under_a_name_and_a_bare_server_is_that_of_this_plugin",
    ),
    (
        "token new --name X",
        &["token", "new", "--name", "n"],
        "serve.rs",
        "a_token_is_made_once_under_a_name_and_a_bare_server_is_that_of_this_plugin",
    ),
    (
        "token revoke",
        &["token", "revoke", "n"],
        "serve.rs",
        "a_token_is_made_once_under_a_name_and_a_bare_server_is_that_of_this_plugin",
    ),
    (
        "token revoke X",
        &["token", "revoke", "n"],
        "serve.rs",
        "a_token_is_made_once_under_a_name_and_a_bare_server_is_that_of_this_plugin",
    ),
    (
        "tools X",
        &["tools", "s"],
        "hints.rs",
        "what_a_server_has_is_listed_by_the_commands_that_are_named",
    ),
    (
        "tools X --format json",
        &["tools", "s", "--format", "json"],
        "hints.rs",
        "what_a_server_has_is_listed_by_the_commands_that_are_named",
    ),
    (
        "trust grant X",
        &["trust", "grant", "s"],
        "doctor/whole.rs",
        "nothing_is_sent_before_it_is_approved",
    ),
    (
        "trust grant X --config X",
        &["trust", "grant", "s", "--config", "p"],
        "install.rs",
        "only_what_waits_for_approval_is_named_and_in_words_for_a_shell",
    ),
    (
        "trust grant X --digest X",
        &["trust", "grant", "a", "--digest", "0"],
        "trust.rs",
        "e12_without_a_terminal_a_grant_needs_the_digest_of_what_was_shown",
    ),
    (
        "trust grant X --for-people",
        &["trust", "grant", "a", "--for-people"],
        "trust.rs",
        "a_program_that_is_approved_for_people_is_approved_confined",
    ),
    (
        "trust grant X --for-people --digest X",
        &["trust", "grant", "a", "--for-people", "--digest", "0"],
        "trust.rs",
        "a_grant_of_a_confined_program_shows_it_confined",
    ),
    (
        "uninstall X",
        &["uninstall", "claude-code"],
        "install.rs",
        "every_client_gets_exactly_one_entry_and_gives_it_back",
    ),
    (
        "vault backup X",
        &["vault", "backup", "f"],
        "vault.rs",
        "a_copy_is_restored_after_the_vault_was_lost_as_the_hint_says",
    ),
    (
        "vault import X",
        &["vault", "import", "s"],
        "moving.rs",
        "a_sign_in_moves_to_a_container_and_leaves_this_vault",
    ),
    (
        "vault key",
        &["vault", "key"],
        "moving.rs",
        "what_is_not_a_key_or_not_a_sign_in_is_refused_with_the_command_that_makes_one",
    ),
    (
        "vault move",
        &["vault", "move", "s", "--to", "key"],
        "moving.rs",
        "a_sign_in_moves_to_a_container_and_leaves_this_vault",
    ),
    (
        "vault rekey --key-file X",
        &["vault", "rekey", "--key-file", "f"],
        "vault.rs",
        "key_moves_where_it_is_told_to_and_stays_where_that_fails",
    ),
    (
        "vault repair",
        &["vault", "repair"],
        "vault.rs",
        "damage_is_repaired_as_the_hints_say",
    ),
    (
        "vault restore X",
        &["vault", "restore", "f"],
        "vault.rs",
        "a_copy_is_restored_after_the_vault_was_lost_as_the_hint_says",
    ),
    (
        "vault status",
        &["vault", "status"],
        "vault.rs",
        "machine_without_a_session_gets_a_key_file_and_an_honest_word_about_it",
    ),
    (
        "vault verify",
        &["vault", "verify"],
        "vault.rs",
        "damage_is_repaired_as_the_hints_say",
    ),
];

/// Where hints are written.
const SOURCES: [&str; 8] = [
    "keyway-cli/src",
    "keyway-code/src/table.rs",
    "keyway-store/src/error.rs",
    "keyway-vault/src",
    "keyway-auth/src",
    "keyway/src/diagnosis",
    "keyway-dashboard/src",
    "keyway-gateway/src",
];

/// What stands behind the name of the program and is not a command.
const PROSE: [&str; 3] = ["cannot", "dashboard", "processes"];

#[test]
fn every_command_that_a_hint_names_is_followed_by_a_test() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = 0;
    let mut used = vec![false; FOLLOWED.len()];
    for file in SOURCES.iter().flat_map(|it| sources(&crates.join(it))) {
        for words in commands(&fs::read_to_string(&file).unwrap()) {
            let row = FOLLOWED
                .iter()
                .position(|(row, ..)| is_written(row, &words));
            let Some(row) = row else {
                let (file, words) = (file.display(), words.join(" "));
                panic!("{file}: no test follows `keyway {words}`; add a row");
            };
            *used.get_mut(row).unwrap() = true;
            found += 1;
        }
    }
    assert!(found > 150, "{found}");
    for ((command, _, file, test), is_used) in FOLLOWED.iter().zip(used) {
        assert!(is_used, "no hint names `keyway {command}`");
        let text = crates.join("keyway-cli/tests").join(file);
        let text = fs::read_to_string(text).expect(file);
        assert!(text.contains(&format!("fn {test}(")), "{file}: {test}");
    }
}

#[test]
fn every_command_that_a_hint_names_is_understood() {
    let folder = Folder::new();
    for (command, words, ..) in FOLLOWED {
        let outcome = super::keyway(&folder, words).args(["--help"]).run();
        assert_eq!(outcome.code, 0, "{command}: {}", outcome.everything());
    }
}

/// A row is what the words begin with, and neither a flag nor a value follows that it does not have.
fn is_written(row: &str, words: &[String]) -> bool {
    let row: Vec<&str> = row.split(' ').collect();
    let starts = words.iter().zip(&row).all(|(word, wanted)| word == wanted);
    let next = words.get(row.len());
    let has_more = next.is_some_and(|word| word == "X" || word.starts_with('-'));
    starts && words.len() >= row.len() && !has_more
}

/// Finds commands in the text of a source file, outside of comments, tests and examples in helps.
fn commands(text: &str) -> Vec<Vec<String>> {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut is_example = false;
    let lines = text.lines().map(str::trim).filter(|line| {
        let is_first = line.contains("after_help = ");
        let is_left_out = is_example || is_first;
        is_example = is_left_out && !line.trim_end_matches([')', ']', ',']).ends_with('"');
        !is_left_out && !line.starts_with("//")
    });
    // A string that continues on the next line.
    let text = lines.collect::<Vec<_>>().join(" ").replace("\\ ", "");
    let commands = text.split("keyway ").skip(1).map(words);
    let is_command = |words: &Vec<String>| {
        let first = words.first().map_or("", String::as_str);
        first.starts_with(|it: char| it.is_ascii_lowercase()) && !PROSE.contains(&first)
    };
    commands.filter(is_command).collect()
}

/// Reads words up to where the command ends: with the string, a mark or a bracket.
fn words(rest: &str) -> Vec<String> {
    let mut words = Vec::new();
    for word in rest.split(' ') {
        let end = word.find(['"', '`', ',', ';', ':', ')', '\\', '<']);
        let whole = end.map_or(word, |end| word.get(..end).unwrap_or_default());
        let is_value = whole.starts_with(|it: char| it.is_ascii_uppercase() || it == '{');
        match whole {
            "" => {}
            _ if is_value => words.push("X".to_owned()),
            _ => words.push(whole.to_owned()),
        }
        if end.is_some() {
            break;
        }
    }
    words
}

fn sources(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let paths = paths.filter(|path| !path.ends_with("tests") && !path.ends_with("testing"));
    let is_source = |path: &PathBuf| path.extension().is_some_and(|it| it == "rs");
    paths
        .flat_map(|path| {
            if path.is_dir() {
                sources(&path)
            } else {
                vec![path]
            }
        })
        .filter(|path| is_source(path) && !path.ends_with("tests.rs"))
        .collect()
}
