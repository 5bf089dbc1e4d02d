//! Plain English for scopes, so that a person knows what is asked for.
//!
//! A name promises nothing; this only says what the name says. Where in doubt, the wider reading.

/// Returns a few words for a scope whose name is common or tells by itself what it allows.
#[must_use]
pub fn words(scope: &str) -> Option<&'static str> {
    let scope = scope.to_ascii_lowercase();
    let known = KNOWN.iter().find(|(name, _)| *name == scope);
    known.map(|(_, words)| *words).or_else(|| by_parts(&scope))
}

/// Looks for a verb among the parts of a name: `files:read`, `read_user`, `Mail.ReadWrite`.
fn by_parts(scope: &str) -> Option<&'static str> {
    let parts = || scope.split(|c: char| !c.is_ascii_alphanumeric());
    let found = VERBS
        .iter()
        .find(|(verbs, _)| parts().any(|part| verbs.contains(&part)));
    found.map(|(_, words)| *words)
}

/// The most powerful first.
const VERBS: &[(&[&str], &str)] = &[
    (
        &["admin", "manage", "owner", "sudo", "superuser"],
        "manage everything of this kind",
    ),
    (&["delete", "destroy", "remove"], "delete data of this kind"),
    (
        &[
            "write",
            "readwrite",
            "edit",
            "create",
            "update",
            "modify",
            "rw",
        ],
        "change data of this kind",
    ),
    (&["send", "post", "publish"], "send or publish in your name"),
    (
        &["execute", "exec", "run", "invoke", "call"],
        "start actions in your name",
    ),
    (
        &["read", "readonly", "view", "list", "get", "search"],
        "see data of this kind",
    ),
];

const KNOWN: &[(&str, &str)] = &[
    // OpenID Connect.
    ("openid", "know who you are"),
    ("profile", "see your name and picture"),
    ("email", "see your e-mail address"),
    ("address", "see your postal address"),
    ("phone", "see your telephone number"),
    ("offline_access", "stay signed in when you are away"),
    ("offline", "stay signed in when you are away"),
    // Names that say it all.
    ("*", "everything you may do yourself"),
    ("all", "everything you may do yourself"),
    ("full_access", "everything you may do yourself"),
    ("admin", "manage everything"),
    ("api", "everything you may do yourself"),
    ("default", "whatever the server thinks usual"),
    (".default", "whatever the server thinks usual"),
    ("read", "see your data"),
    ("read_only", "see your data"),
    ("readonly", "see your data"),
    ("write", "change your data"),
    ("read_write", "see and change your data"),
    ("readwrite", "see and change your data"),
    ("delete", "delete your data"),
    // MCP servers.
    ("mcp", "use this MCP server"),
    ("mcp:*", "use all of this MCP server"),
    ("mcp:access", "use this MCP server"),
    ("mcp:connect", "use this MCP server"),
    ("mcp:tools", "use the tools of this MCP server"),
    ("mcp:tools:*", "use the tools of this MCP server"),
    ("mcp:resources", "read the resources of this MCP server"),
    ("mcp:prompts", "read the prompts of this MCP server"),
    ("mcp:read", "read through this MCP server"),
    ("mcp:write", "change data through this MCP server"),
    ("mcp:admin", "manage this MCP server"),
    // Hosts of code.
    (
        "repo",
        "see and change all your repositories, private ones too",
    ),
    ("public_repo", "see and change your public repositories"),
    ("delete_repo", "delete your repositories"),
    ("repo:status", "see and set the status of commits"),
    ("read:repository", "see your repositories"),
    ("write:repository", "see and change your repositories"),
    ("read_repository", "see your repositories"),
    ("write_repository", "see and change your repositories"),
    ("user", "see and change your profile"),
    ("user:email", "see your e-mail addresses"),
    ("user:follow", "follow other people for you"),
    ("read:user", "see your profile"),
    ("read_user", "see your profile"),
    ("read_api", "see everything you may see yourself"),
    ("read:org", "see your organisations and teams"),
    ("write:org", "change your organisations and teams"),
    ("admin:org", "manage your organisations and teams"),
    ("gist", "write gists in your name"),
    ("notifications", "see and mark your notifications"),
    ("workflow", "change what runs on your repositories"),
    ("project", "see and change your projects"),
    ("read:project", "see your projects"),
    ("read:packages", "download packages"),
    ("write:packages", "publish packages"),
    // Work.
    ("issues:create", "create issues"),
    ("comments:create", "write comments"),
    ("read:jira-work", "see your Jira projects and issues"),
    ("write:jira-work", "create and change Jira issues"),
    ("channels:read", "see the list of public channels"),
    ("channels:history", "read public channels"),
    ("groups:history", "read private channels"),
    ("im:history", "read direct messages"),
    ("chat:write", "write messages"),
    ("users:read", "see people in the workspace"),
    ("users:read.email", "see people's e-mail addresses"),
    ("files:read", "see files"),
    ("files:write", "upload, change and delete files"),
    (
        "https://mail.google.com/",
        "read, send and delete your mail",
    ),
    (
        "https://www.googleapis.com/auth/drive",
        "see, change and delete all your files",
    ),
    (
        "https://www.googleapis.com/auth/drive.file",
        "see and change files that you choose",
    ),
    (
        "https://www.googleapis.com/auth/calendar",
        "see, change and delete your calendars",
    ),
    (
        "https://www.googleapis.com/auth/userinfo.email",
        "see your e-mail address",
    ),
    (
        "https://www.googleapis.com/auth/userinfo.profile",
        "see your name and picture",
    ),
];
