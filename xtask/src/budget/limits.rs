//! The limits themselves.

/// A crate and how many crates a build of it may need, itself included.
pub(super) struct Tree {
    pub(super) name: &'static str,
    pub(super) features: Features,
    pub(super) limit: usize,
}

/// With which features a crate is built.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Features {
    Default,
    None,
}

impl Tree {
    pub(super) fn shown(&self) -> String {
        let features = match self.features {
            Features::Default => "",
            Features::None => " without default features",
        };
        format!("crates in the tree of {}{features}", self.name)
    }
}

/// Lines of a file without its test module.
pub(super) const FILE_LINES: usize = 600;

/// Lines of code of a crate without its tests.
pub(super) const LARGEST_CRATE: usize = 13_000;

/// Lines of code of `keyway-cli` without `arguments`, `report` and `commands`.
pub(super) const CLI_WITHOUT_COMMANDS: usize = 2_500;

/// The statics of libraries whose value can change, by file and name: tables that are built once, two
/// facts of a process, of which there is one whatever number of hosts it has, and a count that only a
/// feature for tests has.
pub(super) const STATICS: &[(&str, &str)] = &[
    ("crates/keyway-dashboard/src/activity.rs", "FAILED"),
    (
        "crates/keyway-gateway/src/gateway/client_message.rs",
        "TOKEN",
    ),
    ("crates/keyway-lint/src/secrets/vendor.rs", "INDEX"),
    ("crates/keyway-lint/src/secrets/vendor.rs", "VENDORS"),
    ("crates/keyway-store/src/seal.rs", "BYTES"),
    // What a process has once: its terminals that hide what is typed, and who waits for a signal.
    ("crates/keyway-terminal/src/hidden_input.rs", "SCREENS"),
    ("crates/keyway-terminal/src/signals.rs", "AWAITED"),
    ("crates/keyway-terminal/src/signals.rs", "HEARD"),
    ("crates/keyway-terminal/src/signals.rs", "IS_WATCHED"),
    ("crates/keyway-terminal/src/signals.rs", "TAKERS"),
    // Whether `keyway::init` was called.
    ("crates/keyway-transport/src/launch/init.rs", "INITIALIZED"),
    // The memory of large messages: docs/decisions/0019.
    ("crates/keyway-transport/src/message_memory.rs", "PROCESS"),
];

/// Calls of `sleep` in tests that do not run on a paused clock.
pub(super) const SLEEPS_IN_TESTS: usize = 75;

pub(super) const TREES: &[Tree] = &[
    Tree {
        name: "keyway",
        features: Features::Default,
        limit: 180,
    },
    Tree {
        name: "keyway",
        features: Features::None,
        limit: 130,
    },
    Tree {
        name: "keyway-config",
        features: Features::Default,
        limit: 60,
    },
    Tree {
        name: "keyway-cli",
        features: Features::Default,
        limit: 261,
    },
];
