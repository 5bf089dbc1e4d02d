//! Code in a word of a command line: to which programs it is handed, and how (threat D15).

/// Finds a program that runs what it is given and, anywhere behind it, the flag by which it is given
/// code. A plugin may write any number of words: each is looked at once.
pub(crate) fn inline_code<'a>(words: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut program: Option<(&str, Handed)> = None;
    for word in words {
        if let Some((name, flag)) = program.and_then(|(name, how)| Some((name, how.flag(word)?))) {
            let code = format!("{name} {flag}");
            return Some(code.trim_end().to_owned());
        }
        let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
        if let Some(how) = Handed::to(name) {
            program = Some((name, how));
        }
    }
    None
}

/// How a program is handed code.
#[derive(Debug, Clone, Copy)]
enum Handed {
    /// Behind a flag of interpreters.
    Interpreter,
    /// Behind a flag of its own; without any, by whatever follows.
    Tool(&'static [&'static str]),
}

impl Handed {
    fn to(name: &str) -> Option<Self> {
        if is_interpreter(name) {
            return Some(Self::Interpreter);
        }
        let name = plain_name(name);
        let tool = TOOLS.iter().find(|(tool, _)| *tool == name);
        tool.map(|(_, flags)| Self::Tool(flags))
    }

    fn flag(self, word: &str) -> Option<&str> {
        match self {
            Self::Interpreter => code_flag(word),
            Self::Tool([]) => Some(""),
            Self::Tool(flags) => {
                // A flag of one letter and its value can be one word: `-oProxyCommand=x`.
                let is_flag = |flag: &&&str| match flag.len() {
                    2 => word.starts_with(**flag),
                    _ => word.split('=').next() == Some(**flag),
                };
                flags.iter().find(is_flag).copied()
            }
        }
    }
}

/// Returns a flag after which, or in which, a program follows.
fn code_flag(word: &str) -> Option<&str> {
    let flag = word.split('=').next().unwrap_or(word);
    let is_named = CODE_FLAGS
        .iter()
        .any(|code| flag.eq_ignore_ascii_case(code));
    // Flags of one letter can be joined: `sh -ec`, `perl -ne`.
    let letters = flag.strip_prefix('-').unwrap_or_default();
    let is_joined = (2..=4).contains(&letters.len())
        && letters.bytes().all(|byte| byte.is_ascii_lowercase())
        && letters.ends_with(['c', 'e']);
    let is_data = word.contains("data:");
    (is_named || is_joined || (is_data && flag.starts_with("--"))).then_some(flag)
}

pub(crate) fn is_interpreter(name: &str) -> bool {
    INTERPRETERS.contains(&plain_name(name).as_str())
}

/// Returns a program's name without `.exe` and a version behind it.
fn plain_name(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    plain.to_owned()
}

/// Programs that run what they are given, and how it is given.
const INTERPRETERS: &[&str] = &[
    "ash",
    "bash",
    "bun",
    "cmd",
    "csh",
    "dash",
    "deno",
    "fish",
    "flock",
    "ksh",
    "lua",
    "node",
    "nodejs",
    "npm",
    "npx",
    "osascript",
    "perl",
    "php",
    "pnpm",
    "powershell",
    "pwsh",
    "pypy",
    "python",
    "ruby",
    "script",
    "sh",
    "su",
    "tclsh",
    "uvx",
    "zsh",
];

const CODE_FLAGS: &[&str] = &[
    "-c",
    "--call",
    "-e",
    "--eval",
    "-p",
    "--print",
    "-r",
    "-command",
    "-encodedcommand",
    "/c",
    "/k",
];

/// Programs that are no interpreters, and run what certain words say: the flags in front of those, or
/// none where any word may be one.
const TOOLS: &[(&str, &[&str])] = &[
    ("awk", &[]),
    ("gawk", &[]),
    ("mawk", &[]),
    ("nawk", &[]),
    ("sed", &[]),
    ("parallel", &[]),
    ("watch", &[]),
    ("xargs", &[]),
    ("env", &["-S", "--split-string"]),
    ("find", &["-exec", "-execdir", "-ok", "-okdir"]),
    ("gdb", &["-ex", "-iex", "--eval-command"]),
    (
        "git",
        &["-c", "--config-env", "--exec-path", "--upload-pack"],
    ),
    ("make", &["--eval", "SHELL"]),
    ("nvim", &["-c", "--cmd"]),
    ("rsync", &["-e", "--rsh", "--rsync-path"]),
    ("ssh", &["-o"]),
    (
        "tar",
        &[
            "-F",
            "-I",
            "--checkpoint-action",
            "--info-script",
            "--new-volume-script",
            "--rsh-command",
            "--to-command",
            "--use-compress-program",
        ],
    ),
    ("vim", &["-c", "--cmd"]),
];

#[cfg(test)]
mod tests;
