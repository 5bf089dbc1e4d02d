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
        "demo --check",
        &["demo", "--check"],
        "demo.rs",
        "check_signs_in_calls_every_server_and_sees_a_token_renewed",
    ),
    (
        "doctor --bundle report.tar",
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
        "env set X",
        &["env", "set", "N"],
        "env.rs",
        "a_kept_variable_counts_after_the_environment_and_the_file",
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
        "logout X",
        &["logout", "s"],
        "logout.rs",
        "a_refresh_token_that_could_not_be_revoked_is_told_and_revoked_by_the_next_logout",
    ),
    (
        "migrate command",
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
const SOURCES: [&str; 5] = [
    "keyway-code/src/table.rs",
    "keyway-store/src/error.rs",
    "keyway-vault/src",
    "keyway-auth/src",
    "keyway/src/diagnosis",
];

/// What stands behind the name of the program and is not a command.
const PROSE: [&str; 1] = ["processes"];

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
    assert!(found > 60, "{found}");
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

/// Finds commands in the text of a source file, outside of comments and tests.
fn commands(text: &str) -> Vec<Vec<String>> {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.starts_with("//"));
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
        let end = word.find(['"', '`', ',', ';', ':', ')']);
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
