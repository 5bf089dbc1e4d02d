//! Sections 5.3 and 5.6: variables for local processes, and the wrapper for mutual TLS.

use keyway_config::env_file;
use keyway_config::environment::{Layered, Scope, Variables};
use keyway_config::method::Method;
use keyway_config::resolve::resolve;

use crate::trial::{NOTHING, Trial, Versioned, owned};

const DATABASE: &str = r#""command": "python", "args": ["-m", "db_server"],
    "env": {"DATABASE_URL": "${DATABASE_URL}", "DB_USER": "${DB_USER}", "DB_PASSWORD": "${DB_PASSWORD}"}"#;

#[test]
fn seed_5_3_1_credentials_are_passed_through_env() {
    let values = [
        ("DATABASE_URL", "postgres://db.example/main"),
        ("DB_USER", "reader"),
        ("DB_PASSWORD", "p"),
    ];
    let trial = Trial::entry(DATABASE).with(&values);
    assert_eq!(trial.method(), Method::Environment);
    assert_eq!(trial.environment(), owned(&values));
    assert_eq!(trial.found("literal-secret"), NOTHING);
    let in_args = Trial::entry(r#""command": "python", "args": ["--password", "${DB_PASSWORD}"]"#);
    assert_eq!(in_args.found("credential-in-args"), ["/s/args/1"]);
}

#[test]
fn seed_5_3_2_a_dotenv_file_fills_what_the_shell_leaves_open() {
    let shell = Variables::from_pairs([("DB_USER", "from-shell"), ("DB_PASSWORD", "")]);
    let file = env_file::parse("DATABASE_URL=db\nDB_USER=from-file\nexport DB_PASSWORD='p w'\n");
    let both = Layered::new(&shell, &file);
    let trial = Trial::entry(DATABASE);
    let host = trial.plugin().host_variables();
    let Ok(spec) = resolve(trial.server(), &Scope::new(&host, &both)) else {
        panic!("all three variables have a value");
    };
    let values = spec.env.iter().map(|(_, v)| v.value().expose().as_str());
    assert_eq!(values.collect::<Vec<_>>(), ["db", "from-shell", "p w"]);
}

#[test]
fn seed_5_3_2_a_dotenv_file_is_listed_in_the_ignore_file() {
    let id = "env-file-not-ignored";
    let place: &[String] = &["/s/envFile".to_owned()];
    for (versioned, expected) in [(Versioned::Untracked, place), (Versioned::Ignored, NOTHING)] {
        let named = Trial::entry(r#""command": "node", "envFile": "./.env""#);
        assert_eq!(named.env_file(versioned).found(id), expected);
    }
    let unnamed = Trial::entry(DATABASE).env_file(Versioned::Untracked);
    assert_eq!(unnamed.found(id), [""]);
}

#[test]
fn seed_5_6_client_certificates_are_not_supported_in_the_entry() {
    let trial = Trial::entry(
        r#""type": "http", "url": "https://h.example/mcp",
           "clientCert": "${CLIENT_CERT}", "clientKey": "${CLIENT_KEY}""#,
    );
    assert_eq!(trial.found("mtls-in-entry"), ["/s/clientCert"]);
}

#[test]
fn seed_5_6_a_wrapper_gets_certificate_and_key_as_arguments_and_the_address_in_env() {
    let trial = Trial::entry(
        r#""command": "${HOST_PLUGIN_ROOT}/servers/mtls-wrapper",
           "args": ["--cert", "${CLIENT_CERT}", "--key", "${CLIENT_KEY}"],
           "env": {"API_URL": "https://secure.example.com"}"#,
    )
    .with(&[("CLIENT_CERT", "/c.pem"), ("CLIENT_KEY", "/k.pem")]);
    let found = trial.lint_env();
    assert!(found.is_empty(), "{found:?}");
    let local = trial.local();
    let args = local.args.iter().map(|arg| arg.value().expose().as_str());
    assert_eq!(
        args.collect::<Vec<_>>(),
        ["--cert", "/c.pem", "--key", "/k.pem"]
    );
    assert_eq!(
        trial.environment(),
        owned(&[("API_URL", "https://secure.example.com")])
    );
}
