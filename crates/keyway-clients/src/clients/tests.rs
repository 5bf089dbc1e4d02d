//! Where each client's file is.

use keyway_config::environment::Variables;

use super::*;

fn homes(variables: &Variables) -> Homes<'_> {
    Homes {
        home: "/home/p".into(),
        config: "/home/p/.config".into(),
        variables,
    }
}

#[test]
fn every_client_is_found_by_its_name_and_has_a_file_of_its_own() {
    let none = Variables::default();
    let mut files = Vec::new();
    for client in CLIENTS {
        assert!(std::ptr::eq(Client::by_name(client.name).unwrap(), *client));
        files.push((client.user)(&homes(&none)));
        assert!(client.source.starts_with("https://"), "{}", client.name);
    }
    assert!(files.iter().all(|file| file.starts_with("/home/p")));
    files.sort();
    files.dedup();
    assert_eq!(files.len(), CLIENTS.len());
}

#[test]
fn a_variable_moves_the_file_and_a_relative_one_does_not() {
    for (name, variable, file) in [
        ("claude-code", "CLAUDE_CONFIG_DIR", "/else/.claude.json"),
        ("codex", "CODEX_HOME", "/else/config.toml"),
        (
            "gemini-cli",
            "GEMINI_CLI_HOME",
            "/else/.gemini/settings.json",
        ),
    ] {
        let client = Client::by_name(name).unwrap();
        let moved = keyway_config::env_file::parse(&format!("{variable}=/else\n"));
        assert_eq!((client.user)(&homes(&moved)), PathBuf::from(file));
        let relative = keyway_config::env_file::parse(&format!("{variable}=else\n"));
        assert!((client.user)(&homes(&relative)).starts_with("/home/p"));
    }
}
