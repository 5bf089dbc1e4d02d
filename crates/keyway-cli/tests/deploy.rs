//! The files of `deploy/`, as those read them who use them: the schemas of Kubernetes and Compose, the
//! service manager, and our own parser of settings.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test whose tools are broken must stop"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use keyway::settings::{Around, Settings};
use keyway_testkit::{Folder, Tools};

/// Below `KEYWAY_TOOLS`: the schemas of Kubernetes.
const KUBERNETES: &str = "python/bin/kubernetes-validate";
/// Below `KEYWAY_TOOLS`: a validator with the schema of Compose.
const SCHEMA: &str = "python/bin/check-jsonschema";
const SYSTEMD: &str = "/usr/bin/systemd-analyze";

fn deploy(path: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    folder.join(path).canonicalize().unwrap()
}

fn run(program: &str, arguments: &[&str], file: &Path) -> Output {
    let mut command = Command::new(program);
    command.args(arguments).arg(file).output().unwrap()
}

fn all_of(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

fn manifests() -> Vec<PathBuf> {
    let files = std::fs::read_dir(deploy("kubernetes")).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn manifests_are_what_kubernetes_takes() {
    let Some(tools) = Tools::find(&[KUBERNETES]) else {
        return;
    };
    let validate = tools.at(KUBERNETES);
    assert_eq!(manifests().len(), 5);
    for file in manifests() {
        let checked = run(&validate, &["--strict"], &file);
        assert!(checked.status.success(), "{}", all_of(&checked));
    }
    // The check can fail.
    let text = std::fs::read_to_string(deploy("kubernetes/deployment.yaml")).unwrap();
    let folder = Folder::new().file(
        "wrong.yaml",
        text.replace("readOnly: true", "readonly: true"),
    );
    let checked = run(&validate, &["--strict"], &folder.at("wrong.yaml"));
    assert!(!checked.status.success(), "{}", all_of(&checked));
}

/// What no schema asks for, and what the pages promise.
#[test]
fn pods_are_confined_and_probed_at_the_admin_port() {
    let read = |name: &str| std::fs::read_to_string(deploy(&format!("kubernetes/{name}"))).unwrap();
    let deployment = read("deployment.yaml");
    for line in [
        "runAsNonRoot: true",
        "readOnlyRootFilesystem: true",
        "allowPrivilegeEscalation: false",
        "drop: [ALL]",
        "type: RuntimeDefault",
        "automountServiceAccountToken: false",
        "httpGet: { path: /readyz, port: admin, scheme: HTTPS }",
        "httpGet: { path: /healthz, port: admin, scheme: HTTPS }",
    ] {
        assert!(deployment.contains(line), "{line}");
    }
    let service = read("service.yaml");
    let (clients, admin) = service.split_once("---").unwrap();
    assert!(!clients.contains("admin") && !clients.contains("9900"));
    assert!(admin.contains("clusterIP: None"));
    assert!(read("poddisruptionbudget.yaml").contains("maxUnavailable: 1"));
    let policy = read("networkpolicy.yaml");
    assert!(policy.contains("policyTypes: [Ingress, Egress]"));
}

#[test]
fn composition_is_what_compose_takes() {
    let Some(tools) = Tools::find(&[SCHEMA]) else {
        return;
    };
    let check = tools.at(SCHEMA);
    let arguments = ["--builtin-schema", "vendor.compose-spec"];
    let checked = run(&check, &arguments, &deploy("compose.yaml"));
    assert!(checked.status.success(), "{}", all_of(&checked));
    let text = std::fs::read_to_string(deploy("compose.yaml")).unwrap();
    let folder = Folder::new().file("wrong.yaml", text.replace("read_only:", "readonly:"));
    let checked = run(&check, &arguments, &folder.at("wrong.yaml"));
    assert!(!checked.status.success(), "{}", all_of(&checked));
    // Whatever it mounts from beside it, and is not the operator's own, is there.
    for file in ["compose/database.sh", "compose/haproxy.cfg"] {
        assert!(text.contains(&format!("./{file}:")) && deploy(file).is_file());
    }
}

#[test]
fn units_are_what_systemd_takes() {
    let Some(tools) = Tools::find(&[SYSTEMD]) else {
        return;
    };
    let unit = std::fs::read_to_string(deploy("systemd/keyway@.service")).unwrap();
    // The program of this build; the manual page is not installed here.
    let program = env!("CARGO_BIN_EXE_keyway");
    let unit = unit.replace("/usr/bin/keyway ", &format!("{program} "));
    let folder = Folder::new().file("keyway@.service", &unit).file(
        "wrong@.service",
        unit.replace("ProtectHome=yes", "ProtectHome=maybe"),
    );
    let verify = |name: &str| {
        let arguments = ["verify", "--man=no", "--recursive-errors=no"];
        run(&tools.at(SYSTEMD), &arguments, &folder.at(name))
    };
    let checked = verify("keyway@.service");
    let said = all_of(&checked);
    assert!(checked.status.success() && said.is_empty(), "{said}");
    let said = all_of(&verify("wrong@.service"));
    assert!(said.contains("protect home"), "{said}");
}

/// The settings in the files are settings, and the flags are flags.
#[test]
fn settings_and_flags_of_the_files_are_known() {
    let settings = std::fs::read_to_string(deploy("compose/config.toml")).unwrap();
    let map = std::fs::read_to_string(deploy("kubernetes/configmap.yaml")).unwrap();
    let (_, map) = map.split_once("config.toml: |\n").unwrap();
    let lines = map.lines();
    let lines = lines.take_while(|line| line.is_empty() || line.starts_with("    "));
    let map: String = lines
        .map(|line| format!("{}\n", line.trim_start()))
        .collect();
    let complaints = |text: &str| {
        let parsed = Settings::parse("config.toml", text.as_bytes(), Around::default());
        let found = parsed.diagnostics.into_iter();
        found.map(|it| it.message).collect::<Vec<_>>()
    };
    for text in [&settings, &map] {
        assert_eq!(complaints(text), [""; 0], "{text}");
        assert!(text.contains("[gateway.people]"), "{text}");
    }
    assert!(!complaints(&settings.replace("tls_key", "tls_lock")).is_empty());
    let unit = std::fs::read_to_string(deploy("systemd/keyway@.service")).unwrap();
    let files = [
        unit,
        std::fs::read_to_string(deploy("compose.yaml")).unwrap(),
        std::fs::read_to_string(deploy("kubernetes/deployment.yaml")).unwrap(),
    ];
    for flag in ["--listen", "--admin", "--trust"] {
        for file in &files {
            assert!(file.contains(flag), "{flag}");
        }
    }
}
