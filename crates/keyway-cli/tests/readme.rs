//! `keyway readme`: printed, merged between its markers, and checked.

use keyway_testkit::{Folder, Keyway, Outcome};

fn readme(folder: &Folder, arguments: &[&str]) -> Outcome {
    let call = Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path());
    call.args(["readme"]).args(arguments.iter().copied()).run()
}

const ENTRIES: &str = r#"{"mcpServers": {"search": {"type": "http", "url": "https://h.example/mcp",
    "headers": {"Authorization": "Bearer ${API_TOKEN}"}}}}"#;

#[test]
fn section_is_printed_and_nothing_is_written() {
    let folder = Folder::with_entries(ENTRIES);
    let outcome = readme(&folder, &[]);
    insta::assert_snapshot!(outcome.snapshot(), @r#"
    <!-- keyway:begin -->
    ## Authentication

    | Server | Transport | How it authenticates |
    |---|---|---|
    | search | http | a token that you set in a variable |

    ### Variables

    | Variable | Used for | How to get it |
    |---|---|---|
    | `API_TOKEN` | header `Authorization` of search | ask the provider of the server |

    Set them in the shell that starts your client:

    ```sh
    export API_TOKEN=…
    ```
    <!-- keyway:end -->
    --- exit 0
    "#);
    assert!(!folder.at("README.md").exists());
}

#[test]
fn write_creates_the_file_and_a_second_time_changes_nothing() {
    let folder = Folder::with_entries(ENTRIES);
    assert_eq!(
        readme(&folder, &["--write"]).snapshot(),
        "--- stderr\nwrote README.md\n--- exit 0\n"
    );
    let text = folder.read("README.md");
    assert_eq!(text, readme(&folder, &[]).stdout);
    assert_eq!(
        readme(&folder, &["--write"]).snapshot(),
        "--- stderr\nnothing to do\n--- exit 0\n"
    );
    assert_eq!(folder.read("README.md"), text);
}

#[test]
fn text_around_the_markers_survives() {
    let folder = Folder::with_entries(ENTRIES).file(
        "README.md",
        "# Mine\r\n\r\n<!-- keyway:begin -->\r\nold\r\n<!-- keyway:end -->\r\n\r\n## Also mine\r\n",
    );
    assert_eq!(readme(&folder, &["--write"]).code, 0);
    let text = folder.read("README.md");
    assert!(text.starts_with("# Mine\r\n\r\n<!-- keyway:begin -->\r\n## Authentication\r\n"));
    assert!(text.ends_with("<!-- keyway:end -->\r\n\r\n## Also mine\r\n"));
    assert!(!text.contains("old"));
}

#[test]
fn check_fails_until_the_section_is_up_to_date() {
    let folder = Folder::with_entries(ENTRIES).file("README.md", "# Mine\n");
    let outcome = readme(&folder, &["--check"]);
    insta::assert_snapshot!(outcome.snapshot(), @r#"
    --- stderr
    error[readme-outdated]: `README.md` is not up to date
      help: run `keyway readme --write`
    --- exit 1
    "#);
    assert_eq!(folder.read("README.md"), "# Mine\n");
    assert_eq!(readme(&folder, &["--write"]).code, 0);
    assert_eq!(readme(&folder, &["--check"]).code, 0);
    folder.put(".mcp.json", ENTRIES.replace("API_TOKEN", "OTHER_TOKEN"));
    assert_eq!(readme(&folder, &["--check"]).code, 1);
    assert_eq!(readme(&folder, &["--check", "--write"]).code, 2);
}

#[test]
fn markers_that_enclose_nothing_are_refused() {
    let text = "# Mine\n<!-- keyway:begin -->\nno end\n";
    let folder = Folder::with_entries(ENTRIES).file("README.md", text);
    let outcome = readme(&folder, &["--write"]);
    assert_eq!(outcome.code, 1);
    assert!(outcome.stderr.contains("markers"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("error[readme-left-alone]"));
    assert_eq!(folder.read("README.md"), text);
}

#[test]
fn json_lists_the_variables_and_the_file() {
    let outcome = readme(&Folder::with_entries(ENTRIES), &["--format", "json"]);
    insta::assert_snapshot!(outcome.snapshot(), @r#"
    {
      "schema_version": 1,
      "diagnostics": [],
      "changes": [
        {
          "file": "README.md",
          "kind": "create"
        }
      ],
      "variables": [
        {
          "name": "API_TOKEN",
          "server": "search",
          "pointer": "/mcpServers/search/headers/Authorization"
        }
      ]
    }
    --- exit 0
    "#);
}

#[test]
fn a_folder_is_searched_for_the_files_of_every_host() {
    let vs_code = r#"{"servers": {"a": {"command": "x", "env": {"A_TOKEN": "${env:A_TOKEN}"}}}}"#;
    let cursor = r#"{"mcpServers": {"b": {"command": "x", "env": {"B_TOKEN": "${env:B_TOKEN}"}}}}"#;
    let folder = Folder::new()
        .file("app/.vscode/mcp.json", vs_code)
        .file("app/.cursor/mcp.json", cursor)
        .file("plugins/one/.mcp.json", ENTRIES)
        .file("samples/anything.json", ENTRIES);
    // What belongs to one folder is in one section.
    let app = readme(&folder, &["app"]);
    assert_eq!(app.code, 0, "{}", app.everything());
    assert_eq!(
        app.stdout.matches("keyway:begin").count(),
        1,
        "{}",
        app.stdout
    );
    assert!(app.stdout.contains("`A_TOKEN`") && app.stdout.contains("`B_TOKEN`"));
    // Each plugin has its own; a file that no host reads has none.
    let all = readme(&folder, &["."]);
    assert_eq!(
        all.stdout.matches("keyway:begin").count(),
        2,
        "{}",
        all.stdout
    );
    assert!(
        all.stdout.starts_with("<!-- app/README.md -->\n"),
        "{}",
        all.stdout
    );
    let written = readme(&folder, &["--write"]);
    assert_eq!(
        written.stderr,
        "wrote app/README.md\nwrote plugins/one/README.md\n"
    );
    assert!(folder.read("plugins/one/README.md").contains("`API_TOKEN`"));
    assert!(!folder.at("README.md").exists() && !folder.at("samples/README.md").exists());
    assert_eq!(readme(&folder, &[".", "--check"]).code, 0);
    assert_eq!(readme(&folder, &["samples"]).code, 1);
}
