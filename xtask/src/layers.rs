//! The layer check: which crate may use which, and no circle between the modules of a crate.
//!
//! The law between crates is the table [`LAYERS`], compared with what `cargo metadata` says. It is
//! about normal and build dependencies; tests may use any crate. The arrows that exist are drawn in
//! `ARCHITECTURE.md`, between two markers. Inside a crate [`circles`] reads the source; circles that
//! are known are listed in `xtask/circles.txt`, which only gets shorter.

mod circles;
mod known;
mod paths;

use std::fs;
use std::path::PathBuf;

use crate::error::XtaskError;
use crate::metadata::Workspace;

/// Checks every arrow between our crates, and that `ARCHITECTURE.md` shows those that exist.
pub(crate) fn check(workspace: &Workspace) -> Result<(), XtaskError> {
    let found = Arrows::of(workspace);
    let mut violations = found.violations(LAYERS);
    match Document::read(workspace)? {
        None => println!("{DOCUMENT} is absent: its layer table is not checked"),
        Some(document) if document.text == document.redrawn(&found)? => {}
        Some(_) => violations.push(format!(
            "the table in `{DOCUMENT}` does not show the arrows in the manifests; run `cargo xtask layers --write`"
        )),
    }
    if !violations.is_empty() {
        return Err(XtaskError::Layers { violations });
    }
    println!(
        "crates: {}, arrows: {}, all as drawn",
        found.0.len(),
        found.count()
    );
    known::check(workspace)
}

/// Rewrites the table of arrows, and the list of circles that are known.
pub(crate) fn write(workspace: &Workspace) -> Result<(), XtaskError> {
    draw(workspace)?;
    known::write(workspace)
}

/// Rewrites the layer table in `ARCHITECTURE.md`, if that file exists.
pub(crate) fn draw(workspace: &Workspace) -> Result<(), XtaskError> {
    let Some(document) = Document::read(workspace)? else {
        println!("{DOCUMENT} is absent: no layer table to write");
        return Ok(());
    };
    let redrawn = document.redrawn(&Arrows::of(workspace))?;
    if redrawn != document.text {
        fs::write(&document.path, redrawn).map_err(XtaskError::file(&document.path))?;
        println!("wrote {DOCUMENT}");
    }
    Ok(())
}

/// One of our crates and those that it may use.
struct Layer {
    name: &'static str,
    may_use: &'static [&'static str],
}

/// Our crates, sorted, each with those of our crates that it uses outside of tests.
#[derive(Debug)]
struct Arrows(Vec<(String, Vec<String>)>);

impl Arrows {
    fn of(workspace: &Workspace) -> Self {
        let crates = workspace.crates();
        let is_ours = |name: &str| crates.iter().any(|package| package.name == name);
        let arrows = crates.iter().map(|package| {
            let outside_of_tests = package.dependencies.iter().filter(|dependency| {
                dependency.kind.as_deref() != Some("dev") && is_ours(&dependency.name)
            });
            let mut used: Vec<_> = outside_of_tests
                .map(|dependency| dependency.name.clone())
                .collect();
            used.sort();
            used.dedup();
            (package.name.clone(), used)
        });
        Self(arrows.collect())
    }

    fn count(&self) -> usize {
        self.0.iter().map(|(_, used)| used.len()).sum()
    }

    fn violations(&self, layers: &[Layer]) -> Vec<String> {
        let mut violations = Vec::new();
        for (name, used) in &self.0 {
            let Some(layer) = layers.iter().find(|layer| layer.name == name) else {
                violations.push(format!(
                    "`{name}` has no layer; say what it may use in `LAYERS` in `xtask/src/layers.rs`"
                ));
                continue;
            };
            let forbidden = used
                .iter()
                .filter(|used| !layer.may_use.contains(&used.as_str()));
            violations.extend(forbidden.map(|forbidden| {
                let allowed = match layer.may_use {
                    [] => "nothing of ours".to_owned(),
                    some => some.join(", "),
                };
                format!("`{name}` must not use `{forbidden}`; it may use {allowed}")
            }));
        }
        violations
    }

    fn table(&self) -> String {
        let mut table = "| crate | uses |\n|---|---|\n".to_owned();
        for (name, used) in &self.0 {
            let used = match used.as_slice() {
                [] => "–".to_owned(),
                some => some
                    .iter()
                    .map(|u| format!("`{u}`"))
                    .collect::<Vec<_>>()
                    .join(", "),
            };
            table.push_str(&format!("| `{name}` | {used} |\n"));
        }
        table
    }
}

struct Document {
    path: PathBuf,
    text: String,
}

impl Document {
    fn read(workspace: &Workspace) -> Result<Option<Self>, XtaskError> {
        let path = workspace.root.join(DOCUMENT);
        if !path.exists() {
            return Ok(None);
        }
        let text = fs::read_to_string(&path).map_err(XtaskError::file(&path))?;
        Ok(Some(Self { path, text }))
    }

    fn redrawn(&self, found: &Arrows) -> Result<String, XtaskError> {
        let parts = self.text.split_once(BEGIN).and_then(|(before, rest)| {
            let (_, after) = rest.split_once(END)?;
            Some(format!("{before}{BEGIN}\n{}{END}{after}", found.table()))
        });
        parts.ok_or(XtaskError::MarkersMissing {
            document: DOCUMENT,
            begin: BEGIN,
            end: END,
        })
    }
}

/// Every crate of the workspace, now or planned, lowest first.
///
/// `keyway-testkit` is only in `xtask`'s list: tests alone may use it.
const LAYERS: &[Layer] = &[
    Layer {
        name: "keyway-secret",
        may_use: &[],
    },
    Layer {
        name: "keyway-code",
        may_use: &[],
    },
    Layer {
        name: "keyway-config",
        may_use: &["keyway-code", "keyway-secret"],
    },
    Layer {
        name: "keyway-lint",
        may_use: &["keyway-config", "keyway-code", "keyway-secret"],
    },
    Layer {
        name: "keyway-files",
        may_use: &["keyway-config"],
    },
    Layer {
        name: "keyway-store",
        may_use: &["keyway-code", "keyway-secret"],
    },
    Layer {
        name: "example-own-vault",
        may_use: &["keyway-store", "keyway-code", "keyway-secret"],
    },
    Layer {
        name: "keyway-postgres",
        may_use: &["keyway-store", "keyway-code", "keyway-secret"],
    },
    Layer {
        name: "keyway-vault",
        may_use: &["keyway-store", "keyway-code", "keyway-secret"],
    },
    Layer {
        name: "keyway-approval",
        may_use: &[
            "keyway-vault",
            "keyway-store",
            "keyway-lint",
            "keyway-files",
            "keyway-config",
            "keyway-secret",
        ],
    },
    Layer {
        name: "keyway-keyring",
        may_use: &["keyway-vault", "keyway-secret"],
    },
    Layer {
        name: "keyway-auth",
        may_use: &["keyway-store", "keyway-code", "keyway-secret"],
    },
    Layer {
        name: "keyway-people",
        may_use: &["keyway-auth", "keyway-code", "keyway-secret"],
    },
    Layer {
        name: "keyway-transport",
        may_use: &[
            "keyway-auth",
            "keyway-store",
            "keyway-code",
            "keyway-secret",
        ],
    },
    Layer {
        name: "keyway-mcp",
        may_use: &[
            "keyway-config",
            "keyway-transport",
            "keyway-auth",
            "keyway-code",
            "keyway-secret",
        ],
    },
    Layer {
        name: "keyway",
        may_use: &[
            "keyway-approval",
            "keyway-mcp",
            "keyway-files",
            "keyway-config",
            "keyway-lint",
            "keyway-transport",
            "keyway-auth",
            "keyway-keyring",
            "keyway-vault",
            "keyway-store",
            "keyway-code",
            "keyway-secret",
        ],
    },
    Layer {
        name: "example-hosts",
        may_use: &["keyway"],
    },
    Layer {
        name: "keyway-policy",
        may_use: &[
            "keyway",
            "keyway-mcp",
            "keyway-transport",
            "keyway-auth",
            "keyway-vault",
            "keyway-secret",
        ],
    },
    Layer {
        name: "keyway-clients",
        may_use: &[
            "keyway-files",
            "keyway-config",
            "keyway-lint",
            "keyway-code",
            "keyway-secret",
        ],
    },
    Layer {
        name: "keyway-dashboard",
        may_use: &[
            "keyway",
            "keyway-clients",
            "keyway-people",
            "keyway-policy",
            "keyway-mcp",
            "keyway-config",
            "keyway-transport",
            "keyway-auth",
            "keyway-vault",
            "keyway-code",
            "keyway-secret",
        ],
    },
    Layer {
        name: "keyway-database",
        may_use: &[
            "keyway",
            "keyway-dashboard",
            "keyway-people",
            "keyway-postgres",
            "keyway-transport",
            "keyway-auth",
            "keyway-vault",
            "keyway-secret",
        ],
    },
    Layer {
        name: "keyway-gateway",
        may_use: &[
            "keyway",
            "keyway-dashboard",
            "keyway-database",
            "keyway-people",
            "keyway-policy",
            "keyway-mcp",
            "keyway-config",
            "keyway-transport",
            "keyway-auth",
            "keyway-vault",
            "keyway-code",
            "keyway-secret",
        ],
    },
    Layer {
        name: "keyway-check",
        may_use: &[
            "keyway",
            "keyway-files",
            "keyway-config",
            "keyway-lint",
            "keyway-code",
            "keyway-secret",
        ],
    },
    Layer {
        name: "keyway-demo",
        may_use: &[
            "keyway",
            "keyway-files",
            "keyway-approval",
            "keyway-mcp",
            "keyway-config",
            "keyway-lint",
            "keyway-transport",
            "keyway-code",
            "keyway-secret",
        ],
    },
    Layer {
        name: "keyway-terminal",
        may_use: &["keyway-secret"],
    },
    Layer {
        name: "keyway-cli",
        may_use: &[
            "keyway-terminal",
            "keyway",
            "keyway-check",
            "keyway-clients",
            "keyway-config",
            "keyway-dashboard",
            "keyway-database",
            "keyway-demo",
            "keyway-gateway",
            "keyway-lint",
            "keyway-mcp",
            "keyway-policy",
            "keyway-code",
            "keyway-secret",
        ],
    },
    Layer {
        name: "keyway-testkit",
        may_use: &[
            "keyway",
            "keyway-mcp",
            "keyway-config",
            "keyway-transport",
            "keyway-auth",
            "keyway-vault",
            "keyway-code",
            "keyway-secret",
        ],
    },
    Layer {
        name: "keyway-storm",
        may_use: &[
            "keyway-testkit",
            "keyway-postgres",
            "keyway-store",
            "keyway-secret",
        ],
    },
    Layer {
        name: "xtask",
        may_use: &["keyway-testkit"],
    },
];

const DOCUMENT: &str = "ARCHITECTURE.md";
const BEGIN: &str = "<!-- layers:begin -->";
const END: &str = "<!-- layers:end -->";

#[cfg(test)]
mod tests {
    use super::*;

    fn arrows(found: &[(&str, &[&str])]) -> Arrows {
        let owned = |(name, used): &(&str, &[&str])| {
            (
                (*name).to_owned(),
                used.iter().map(|&used| used.to_owned()).collect(),
            )
        };
        Arrows(found.iter().map(owned).collect())
    }

    /// A workspace in which `keyway-secret` uses `keyway-config` in the given way.
    fn upside_down(kind: &str) -> Workspace {
        let text = r#"{
            "workspace_root": "/nowhere", "target_directory": "/nowhere/target",
            "workspace_members": ["secret", "config"],
            "packages": [
                {"id": "secret", "name": "keyway-secret", "manifest_path": "/nowhere/a/Cargo.toml",
                 "dependencies": [{"name": "keyway-config", "kind": KIND}, {"name": "url", "kind": null}]},
                {"id": "config", "name": "keyway-config", "manifest_path": "/nowhere/b/Cargo.toml",
                 "dependencies": [{"name": "keyway-secret", "kind": null}]},
                {"id": "url", "name": "url", "manifest_path": "/nowhere/c/Cargo.toml",
                 "dependencies": []}
            ],
            "resolve": {"nodes": []}
        }"#;
        Workspace::new(serde_json::from_str(&text.replace("KIND", kind)).unwrap())
    }

    #[test]
    fn check_fails_on_a_manifest_that_points_upwards() {
        for kind in ["null", "\"build\""] {
            let Err(XtaskError::Layers { violations }) = check(&upside_down(kind)) else {
                panic!("{kind} was accepted");
            };
            assert_eq!(violations.len(), 1, "{violations:?}");
        }
    }

    #[test]
    fn dependency_of_tests_may_point_anywhere() {
        assert!(check(&upside_down("\"dev\"")).is_ok());
    }

    #[test]
    fn arrows_as_drawn_are_accepted() {
        let found = arrows(&[
            ("keyway-secret", &[]),
            ("keyway-vault", &["keyway-secret"]),
            ("keyway-cli", &["keyway", "keyway-config"]),
        ]);
        assert_eq!(found.violations(LAYERS), Vec::<String>::new());
    }

    #[test]
    fn every_arrow_against_the_direction_is_named() {
        let layers = [
            Layer {
                name: "low",
                may_use: &[],
            },
            Layer {
                name: "middle",
                may_use: &["low", "other"],
            },
        ];
        let found = arrows(&[("low", &["middle"]), ("middle", &["high", "low"])]);
        assert_eq!(
            found.violations(&layers),
            [
                "`low` must not use `middle`; it may use nothing of ours",
                "`middle` must not use `high`; it may use low, other",
            ]
        );
    }

    #[test]
    fn product_crate_cannot_use_the_testkit_outside_of_tests() {
        for name in LAYERS
            .iter()
            .map(|layer| layer.name)
            .filter(|name| !["xtask", "keyway-storm"].contains(name))
        {
            let found = arrows(&[(name, &["keyway-testkit"])]);
            assert_eq!(found.violations(LAYERS).len(), 1, "{name}");
        }
    }

    #[test]
    fn crate_without_a_layer_is_refused_and_told_where_to_go() {
        let violations = arrows(&[("keyway-utils", &[])]).violations(LAYERS);
        assert!(
            violations
                .iter()
                .any(|v| v.contains("keyway-utils") && v.contains("layers.rs")),
            "{violations:?}"
        );
    }

    #[test]
    fn table_of_layers_has_no_cycle() {
        for (position, layer) in LAYERS.iter().enumerate() {
            for used in layer.may_use {
                let of_used = LAYERS.iter().position(|other| other.name == *used);
                assert!(
                    of_used.is_some_and(|of_used| of_used < position),
                    "{}: {used}",
                    layer.name
                );
            }
        }
    }

    #[test]
    fn only_the_part_between_the_markers_is_redrawn() {
        let document = Document {
            path: PathBuf::new(),
            text: format!("# Title\n{BEGIN}\nold\n{END}\nkept\n"),
        };
        let found = arrows(&[("a", &[]), ("b", &["a"])]);
        let redrawn = document.redrawn(&found).unwrap();
        assert_eq!(
            redrawn,
            format!(
                "# Title\n{BEGIN}\n| crate | uses |\n|---|---|\n| `a` | – |\n| `b` | `a` |\n{END}\nkept\n"
            )
        );
        let again = Document {
            path: PathBuf::new(),
            text: redrawn.clone(),
        };
        assert_eq!(again.redrawn(&found).unwrap(), redrawn);
    }

    #[test]
    fn document_without_markers_is_an_error() {
        for text in ["", BEGIN, END, "<!-- layers:end --><!-- layers:begin -->"] {
            let document = Document {
                path: PathBuf::new(),
                text: text.to_owned(),
            };
            assert!(document.redrawn(&arrows(&[])).is_err(), "{text}");
        }
    }
}
