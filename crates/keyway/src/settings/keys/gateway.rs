//! The keys of `[gateway]`, `[gateway.people]` and `[gateway.limits]`.

use super::{Kind, Section, key};

/// How long programs run, and where other machines reach the gateway.
pub(super) const GATEWAY: Section = Section {
    path: &["gateway"],
    title: "[gateway]",
    about: "How long the gateway keeps the programs of stdio servers, and where other machines reach it. A program that ended is started again by the next request of its client, with the same `initialize`. Beyond this machine it listens only with an `https` address and either a certificate or proxies.",
    keys: &[
        key(
            "idle_minutes",
            Kind::Minutes,
            "60",
            "After how many minutes without a request a program ends; 30 unless set here, 0 for never. One whose client has subscribed to a resource, has set a log level or has begun a task does not end, nor does one that sends notifications unasked",
        ),
        key(
            "keep_running",
            Kind::Texts,
            "[\"acme:browser\"]",
            "Servers (`PLUGIN:SERVER`) whose programs do not end, because they keep state of their client",
        ),
        key(
            "admin",
            Kind::Text,
            "\"127.0.0.1:9900\"",
            "Where the dashboard, `/metrics`, `/healthz` and `/readyz` are, apart from clients; `--admin` overrides it. Beyond this machine it needs `tls_certificate`",
        ),
        key(
            "public_url",
            Kind::Address,
            "\"https://gateway.example\"",
            "The address at which clients on other machines reach the gateway: an origin without a path",
        ),
        key(
            "tls_certificate",
            Kind::Path,
            "\"/etc/keyway/tls.pem\"",
            "The certificate for `public_url` in PEM, with those that lead to a root; needs `tls_key`",
        ),
        key(
            "tls_key",
            Kind::Path,
            "\"/etc/keyway/tls.key\"",
            "The key of `tls_certificate` in PEM, not encrypted",
        ),
        key(
            "trusted_proxies",
            Kind::Texts,
            "[\"10.0.0.5\"]",
            "The addresses of proxies that speak TLS in front of the gateway. If there are any, connections of all others from other machines are closed",
        ),
    ],
};

/// Which people may use it.
pub(super) const PEOPLE: Section = Section {
    path: &["gateway", "people"],
    title: "[gateway.people]",
    about: "Which people may use the gateway, by access tokens of their issuers (RFC 9068). Needs `public_url` in `[gateway]`. A person is an issuer and a subject.",
    keys: &[
        key(
            "issuers",
            Kind::Texts,
            "[\"https://login.example\"]",
            "The authorization servers whose tokens count, by their exact names. Required",
        ),
        key(
            "jwks",
            Kind::Map,
            "{ \"https://login.example\" = \"https://login.example/keys\" }",
            "Where the keys of an issuer are, for one that publishes no metadata",
        ),
        key(
            "browser_clients",
            Kind::Map,
            "{ \"https://login.example\" = \"keyway-gateway\" }",
            "The client at an issuer by which people show in their browser who they are, before they sign in to a server: one without a secret, with `public_url` and `/oauth/callback` as its redirect address. Without it an admin signs people in",
        ),
        key(
            "audience",
            Kind::Text,
            "\"api://keyway\"",
            "What `aud` of a token has to hold; `public_url` with `/mcp` unless set here",
        ),
        key(
            "algorithms",
            Kind::Texts,
            "[\"RS256\", \"ES256\"]",
            "How tokens may be signed: RS256, PS256, ES256, ES384 and EdDSA unless set here. There is no other",
        ),
        key(
            "scopes",
            Kind::Texts,
            "[\"mcp\"]",
            "Scopes that a token has to have, and that clients are told to ask for",
        ),
        key(
            "member_claim",
            Kind::Text,
            "\"groups\"",
            "The claim that says who may use the gateway; all people of the issuers may unless it is set",
        ),
        key(
            "member_values",
            Kind::Texts,
            "[\"engineering\"]",
            "The values of `member_claim` that let a person in",
        ),
        key(
            "admin_claim",
            Kind::Text,
            "\"groups\"",
            "The claim that says who is an admin; no person is unless it is set",
        ),
        key(
            "admin_values",
            Kind::Texts,
            "[\"keyway-admins\"]",
            "The values of `admin_claim` that make an admin",
        ),
        key(
            "programs_for_each",
            Kind::Count,
            "4",
            "How many programs may run for one person at once; 4 unless set here. Programs run for people only if an admin approved them for that: `keyway trust grant --for-people`",
        ),
        key(
            "programs_for_all",
            Kind::Count,
            "64",
            "How many programs may run for all people at once; 64 unless set here",
        ),
    ],
};

/// How much one client may ask.
pub(super) const CLIENT_LIMITS: Section = Section {
    path: &["gateway", "limits", "client"],
    title: "[gateway.limits.client]",
    about: "How much each client of the gateway may ask: each person, and each gateway token. Processes that use the gateway's socket have no limit. What is too much is answered with status 429 and `Retry-After`, and nothing of it reaches a server. Without these keys there are no limits but the gateway's own.",
    keys: LIMIT_KEYS,
};

/// How much may be asked of one server.
pub(super) const SERVER_LIMITS: Section = Section {
    path: &["gateway", "limits", "server"],
    title: "[gateway.limits.server]",
    about: "The same for each server, all its clients together. At the combined endpoint a request counts for the server that it names.",
    keys: LIMIT_KEYS,
};

const LIMIT_KEYS: &[super::Key] = &[
    key(
        "calls_per_second",
        Kind::Count,
        "20",
        "How many requests and notifications may come in a second; so many may come at once after a second without any",
    ),
    key(
        "calls_at_once",
        Kind::Count,
        "10",
        "How many requests may wait for their answer",
    ),
    key(
        "bytes_per_second",
        Kind::Count,
        "1048576",
        "How many bytes of messages may come in a second. A larger message is taken, and the next one waits for as long",
    ),
    key(
        "sessions",
        Kind::Count,
        "50",
        "How many sessions there may be (clients before 2026-07-28). At the limit the one that was idle for longest makes room",
    ),
];
