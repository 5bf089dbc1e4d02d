//! The limits themselves.

/// How much of something there may be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Limit {
    Fixed(usize),
    /// Above its target for now: `now` is lowered with every step towards it, and never raised.
    Ratchet {
        now: usize,
        target: usize,
    },
}

impl Limit {
    pub(super) fn most(self) -> usize {
        match self {
            Self::Fixed(most) | Self::Ratchet { now: most, .. } => most,
        }
    }
}

/// A crate and how many crates a build of it may need, itself included.
pub(super) struct Tree {
    pub(super) name: &'static str,
    pub(super) features: Features,
    pub(super) limit: Limit,
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

/// Crates that have another limit than [`LARGEST_CRATE`].
pub(super) const CRATE_LINES: &[(&str, Limit)] = &[(
    "keyway-cli",
    Limit::Ratchet {
        now: 14_674,
        target: LARGEST_CRATE,
    },
)];

pub(super) const CLI_WITHOUT_COMMANDS: Limit = Limit::Ratchet {
    now: 4_018,
    target: 2_500,
};

/// Calls of `sleep` in tests that do not run on a paused clock.
pub(super) const SLEEPS_IN_TESTS: Limit = Limit::Fixed(71);

pub(super) const TREES: &[Tree] = &[
    Tree {
        name: "keyway",
        features: Features::Default,
        limit: Limit::Fixed(180),
    },
    Tree {
        name: "keyway",
        features: Features::None,
        limit: Limit::Fixed(130),
    },
    Tree {
        name: "keyway-config",
        features: Features::Default,
        limit: Limit::Fixed(60),
    },
    Tree {
        name: "keyway-cli",
        features: Features::Default,
        limit: Limit::Fixed(260),
    },
];
