//! Which servers are planned, and when; plans are counted, not timed.

use keyway::Host;
use keyway::vault::KeySources;
use keyway_secret::Secret;
use keyway_testkit::Folder;
use serde_json::{Map, Value, json};

use super::*;
use keyway_dashboard::{DashboardBackend as _, ServerId};

struct Served {
    folder: Folder,
    plugins: ServedPlugins,
    host: Host,
}

impl Served {
    /// Serves one plugin, of which each server runs a file of its own.
    fn new(count: usize) -> Self {
        Self::of_plugins(1, count)
    }

    /// Serves so many plugins, each with so many servers.
    fn of_plugins(plugins: usize, count: usize) -> Self {
        Self::of_text(plugins, count, &entries(count))
    }

    fn of_text(plugins: usize, count: usize, text: &str) -> Self {
        let folder = Folder::new();
        let paths: Vec<PathBuf> = (0..plugins)
            .map(|at| folder.at(&format!("p{at}")))
            .collect();
        for at in 0..plugins {
            folder.put(&format!("p{at}/.mcp.json"), text);
            for run in 0..count.min(3) {
                folder.put(&format!("p{at}/run-{run}.sh"), "#!/bin/sh\n");
            }
        }
        let folders = Folders::below(folder.at("home"));
        let builder = Host::builder().vault(folders.clone(), KeySources::default());
        let host = builder.build().unwrap();
        let backend = LocalBackend::new(&host);
        let loaded = paths.into_iter().map(|path| {
            let plugin = host.load(&path).unwrap();
            (path, plugin)
        });
        let context = ServingContext::new(folders);
        let plugins = ServedPlugins::new(loaded.collect(), &backend, context).unwrap();
        Self {
            folder,
            plugins,
            host,
        }
    }

    fn approve(&self, name: &str) {
        let plugin = self.host.load(self.folder.at("p0")).unwrap();
        let question = plugin.question(name).unwrap().unwrap();
        self.host.dangerous_store_approval(&question).unwrap();
    }

    /// Looks at the vault's files no more: the database rewrites them at times of its own, and each
    /// time plans what is in use.
    fn ignore_vault(&mut self) {
        self.plugins.vault = Stamps::default();
    }

    /// Looks until nothing changes any more; returns the servers of the last change.
    fn settle(&mut self) -> Option<Vec<ServedServer>> {
        let mut last = None;
        loop {
            match self.plugins.look() {
                Look::Nothing => return last,
                Look::Records => {}
                Look::Servers(servers) => last = Some(servers),
            }
        }
    }
}

fn entries(count: usize) -> String {
    let entry = |at: usize| json!({ "command": format!("./run-{at}.sh"), "args": [] });
    let all: Map<String, Value> = (0..count).map(|at| (name(at), entry(at))).collect();
    json!({ "mcpServers": all }).to_string()
}

fn name(at: usize) -> String {
    format!("s{at:04}")
}

fn find(servers: &[ServedServer], at: usize) -> &ServedServer {
    find_name(servers, &name(at))
}

fn find_name<'a>(servers: &'a [ServedServer], name: &str) -> &'a ServedServer {
    servers.iter().find(|it| it.name == name).unwrap()
}

#[tokio::test]
async fn a_value_that_is_set_on_a_page_is_kept_for_the_plugin_that_asks_for_it() {
    let text = r#"{"mcpServers": {"s": {"command": "./run-0.sh", "env": {"K": "${INPUT_KEY}"}}}}"#;
    let served = Served::of_text(2, 1, text);
    let backend = &served.plugins.backend;
    backend.set_plugins(served.plugins.loaded());
    let value = Secret::new("typed".to_owned());
    let id = ServerId::new("p0", "s");
    backend.set_variable(&id, "INPUT_KEY", value).await.unwrap();
    let is_set = |plugin: &str| {
        let plugin = served.host.load(served.folder.at(plugin)).unwrap();
        let scope = served.host.variable_scope(plugin.loaded()).unwrap();
        scope.scope().is_set("INPUT_KEY")
    };
    assert!(is_set("p0"));
    assert!(!is_set("p1"), "another plugin asks under the same name");
}

#[tokio::test]
async fn of_a_thousand_servers_only_those_in_use_are_planned() {
    let mut served = Served::of_plugins(4, 250);
    served.approve(&name(0));
    let servers = served.plugins.servers();
    assert_eq!(servers.len(), 1000);
    served.settle();
    served.approve(&name(1));
    served.settle();
    assert_eq!(served.plugins.plan_count(), 0, "no client has used any");
    served.ignore_vault();
    // A client uses two, one of which is not approved.
    for at in [0, 2] {
        find(&servers, at).upstream.find_sign_in().await;
    }
    served.settle();
    assert_eq!(served.plugins.plan_count(), 2, "looked at once more");
    assert!(matches!(served.plugins.look(), Look::Nothing));
    assert_eq!(served.plugins.plan_count(), 2, "nothing has changed");
}

#[tokio::test]
async fn a_program_that_changes_concerns_its_own_server() {
    let mut served = Served::new(3);
    let names: Vec<String> = (0..3).map(name).collect();
    names.iter().for_each(|name| served.approve(name));
    let before = served.plugins.servers();
    for at in 0..2 {
        find(&before, at).upstream.find_sign_in().await;
    }
    let settled = served.settle().unwrap();
    for at in 0..3 {
        assert!(find(&settled, at).is_same_as(find(&before, at)), "{at}");
    }
    served.ignore_vault();
    let planned = served.plugins.plan_count();
    served.folder.put("p0/run-0.sh", "#!/bin/sh\nexit 1\n");
    let after = served.settle().unwrap();
    assert_eq!(served.plugins.plan_count(), planned + 1);
    // Its connections end, because what it runs now is not approved; the others' stay.
    assert_ne!(find(&after, 0).entry_digest, find(&before, 0).entry_digest);
    for at in 1..3 {
        assert!(find(&after, at).is_same_as(find(&before, at)), "{at}");
    }
}

#[tokio::test]
async fn an_approval_reaches_a_client_that_waits_for_it() {
    let mut served = Served::new(2);
    let before = served.plugins.servers();
    find(&before, 0).upstream.find_sign_in().await;
    let waiting = served.settle().unwrap();
    assert!(find(&waiting, 0).is_same_as(find(&before, 0)));
    served.approve(&name(0));
    let approved = served.settle().unwrap();
    assert!(!find(&approved, 0).is_same_as(find(&before, 0)));
    assert!(find(&approved, 1).is_same_as(find(&before, 1)));
}

#[tokio::test]
async fn a_file_that_changes_replaces_what_no_client_uses_and_keeps_what_is_the_same() {
    let mut served = Served::of_text(1, 3, &with_package(3));
    let before = served.plugins.servers();
    served.approve(&name(0));
    served.approve(PACKAGE);
    for at in [&name(0), PACKAGE] {
        find_name(&before, at).upstream.find_sign_in().await;
    }
    served.settle();
    served.folder.put("p0/.mcp.json", with_package(2));
    let after = served.settle().unwrap();
    assert_eq!(after.len(), 3);
    let is_same = |at: &str| find_name(&after, at).is_same_as(find_name(&before, at));
    assert!(is_same(PACKAGE), "in use, as before");
    assert!(!is_same(&name(1)), "of the new file");
    // A program of the plugin can read the file, so that an approval is over all of it.
    assert!(!is_same(&name(0)), "in use, and not approved any more");
}

/// Entries, and one whose approval is over no file.
fn with_package(count: usize) -> String {
    let mut all: Value = serde_json::from_str(&entries(count)).unwrap();
    all["mcpServers"][PACKAGE] = json!({ "command": "npx", "args": ["server"] });
    all.to_string()
}

const PACKAGE: &str = "package";
