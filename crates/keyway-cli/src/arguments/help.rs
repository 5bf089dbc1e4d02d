//! What `keyway --help` shows: the commands that most people need; `keyway help --all` has the rest.

use clap::Command;
use clap::error::{ContextKind, ContextValue};

/// How many commands the help screen lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Screen {
    /// The commands that most people need.
    Short,
    /// Every command, in groups.
    All,
}

/// Returns the program with a help screen of its own. Building it costs time that only help may
/// take.
pub(crate) fn with_screen(mut program: Command, screen: Screen) -> Command {
    // Before that, commands know nothing but their names.
    program.build();
    let heading = *program.get_styles().get_header();
    let terminal = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let width = terminal.map_or(WIDEST, |width| width.min(WIDEST));
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    let groups = match screen {
        Screen::Short => SHORT,
        Screen::All => GROUPS,
    };
    for (title, names) in groups {
        text.push_str(&format!("\n{heading}{title}:{heading:#}\n"));
        for name in *names {
            text.push_str(&line(&program, name, width));
        }
    }
    text.push_str(match screen {
        Screen::Short => MORE,
        Screen::All => "",
    });
    text.push_str(&format!("\n{heading}Options:{heading:#}\n{{options}}"));
    program.help_template(text)
}

/// Points to the command that an unknown one means elsewhere: `list` is `status` here.
pub(crate) fn with_tip(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    let meant = SYNONYMS
        .iter()
        .find(|(words, _)| words.contains(&word.as_str()));
    if let Some((_, command)) = meant {
        let command = ContextValue::Strings(vec![(*command).to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, command);
    }
    error
}

/// Writes what a command is for beside its name, folded to the width of the terminal.
fn line(program: &Command, name: &str, width: usize) -> String {
    let about = program.find_subcommand(name).and_then(Command::get_about);
    let about = about.map(ToString::to_string).unwrap_or_default();
    let style = *program.get_styles().get_literal();
    let mut text = format!("  {style}{name}{style:#}{:1$}", "", LONGEST - name.len());
    let mut used = LONGEST + 2;
    for word in about.split_whitespace() {
        if used + word.len() + 1 > width && used > LONGEST + 2 {
            text.push_str(&format!("\n{:1$}", "", LONGEST + 2));
            used = LONGEST + 2;
        }
        // One blank between words, two before the first.
        let gap = if used == LONGEST + 2 { "  " } else { " " };
        text.push_str(&format!("{gap}{word}"));
        used += gap.len() + word.len();
    }
    text.push('\n');
    text
}

/// The first screen: at most ten commands, in the order in which a newcomer needs them.
const SHORT: &[(&str, &[&str])] = &[(
    "Commands",
    &[
        "add", "adopt", "status", "login", "tools", "call", "doctor", "serve", "trust", "check",
    ],
)];

const MORE: &str = "
Run `keyway help --all` for all commands, `keyway help COMMAND` for one with examples.
";

/// Every command that is shown, in one group each.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Get started",
        &["add", "adopt", "demo", "status", "doctor", "explain"],
    ),
    (
        "Use servers",
        &[
            "login",
            "logout",
            "tools",
            "resources",
            "prompts",
            "call",
            "read",
            "probe",
            "logs",
        ],
    ),
    (
        "Connect clients",
        &[
            "run",
            "install",
            "uninstall",
            "clients",
            "remove",
            "headers",
            "serve",
            "open",
            "token",
            "policy",
            "service",
            "mtls",
        ],
    ),
    (
        "Manage approvals and secrets",
        &[
            "trust", "embed", "env", "rotate", "vault", "audit", "people",
        ],
    ),
    (
        "Write plugins",
        &[
            "check",
            "migrate",
            "import",
            "export",
            "convert",
            "readme",
            "schema",
            "client-metadata",
        ],
    ),
    ("More", &["completions", "man", "purge", "help"]),
];

/// What other programs call what these commands do.
const SYNONYMS: &[(&[&str], &str)] = &[
    (&["list", "ls", "servers", "show", "ps", "info"], "status"),
    (&["auth", "signin", "sign-in", "connect"], "login"),
    (&["signout", "sign-out"], "logout"),
    (&["setup"], "install"),
    (&["rm", "delete"], "remove"),
    (&["takeover", "take-over"], "adopt"),
    (&["reset", "wipe"], "purge"),
    (&["exec", "invoke"], "call"),
    (&["start", "gateway", "daemon", "up"], "serve"),
    (&["dashboard", "ui", "web"], "open"),
    (&["lint", "validate", "scan"], "check"),
    (&["approve", "allow", "grant"], "trust"),
    (&["diagnose", "debug", "why"], "doctor"),
    (&["ping", "health", "test"], "probe"),
    (&["log", "stderr", "tail"], "logs"),
    (&["secret", "secrets", "set"], "env"),
    (&["completion"], "completions"),
];

/// The longest name.
const LONGEST: usize = 15;
/// No text is set wider.
pub(crate) const WIDEST: usize = 100;

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::arguments::visible;
    use crate::command_line::Arguments;

    #[test]
    fn every_command_is_in_one_group_and_shown_with_what_it_is_for() {
        let mut program = Arguments::command();
        program.build();
        let shown = program.get_subcommands().filter(|it| !it.is_hide_set());
        let mut shown: Vec<&str> = shown.map(Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        shown.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(shown, grouped);
        assert_eq!(shown.iter().map(|name| name.len()).max(), Some(LONGEST));
        let folded = line(&program, "demo", 60);
        let more: Vec<&str> = folded.lines().skip(1).collect();
        assert!(
            !more.is_empty() && more.iter().all(|it| it.len() <= 60),
            "{folded}"
        );
        let help = with_screen(program.clone(), Screen::All);
        let help = help.clone().render_help().to_string();
        for name in shown {
            let lines = help.lines().filter_map(|line| line.strip_prefix("  "));
            let own: Vec<&str> = lines
                .filter(|line| line.split(' ').next() == Some(name))
                .collect();
            assert!(
                matches!(own.as_slice(), [one] if one.len() > LONGEST + 10),
                "{own:?}"
            );
        }
        for title in GROUPS.iter().map(|(title, _)| title) {
            assert!(help.contains(&format!("\n{title}:\n")), "{title}");
        }
        assert!(help.contains("--debug-file"), "{help}");
    }

    #[test]
    fn the_first_screen_has_at_most_ten_commands_and_says_where_the_others_are() {
        let help = with_screen(Arguments::command(), Screen::Short);
        let help = help.clone().render_help().to_string();
        let after = help.split_once("Commands:\n").unwrap().1;
        let listed = after.lines().take_while(|line| !line.is_empty());
        let listed = listed.filter(|line| !line.starts_with("   ")).count();
        assert!((5..=10).contains(&listed), "{listed}: {help}");
        assert!(help.contains("keyway help --all"), "{help}");
    }

    #[test]
    fn what_other_programs_call_it_leads_to_the_command_that_does_it() {
        for (word, meant) in [
            ("list", "status"),
            ("setup", "install"),
            ("signin", "login"),
        ] {
            let error = Arguments::command().try_get_matches_from(["keyway", word]);
            let tip = with_tip(error.unwrap_err()).to_string();
            assert!(tip.contains(&format!("'{meant}'")), "{tip}");
        }
        let commands: Vec<&str> = GROUPS.iter().flat_map(|(_, it)| *it).copied().collect();
        for (words, command) in SYNONYMS {
            assert!(commands.contains(command), "{command}");
            assert!(
                !words.iter().any(|word| commands.contains(word)),
                "{words:?}"
            );
        }
    }

    #[test]
    fn every_command_has_an_example_of_itself_in_its_help() {
        let mut program = Arguments::command();
        program.build();
        for command in visible(&program) {
            let name = command.get_bin_name().unwrap();
            let examples = command.get_after_help().map(ToString::to_string);
            let examples = examples.unwrap_or_default();
            let lines = examples.lines().filter(|line| line.starts_with("  "));
            let own = lines.filter(|line| line.contains(name)).count();
            assert!(
                examples.starts_with("Examples:\n") && own > 0,
                "{name}: {examples}"
            );
        }
    }

    #[test]
    fn a_flag_that_means_nothing_to_a_command_is_accepted_and_not_shown() {
        for (command, flag) in [
            (&["keyway", "logout", "x"][..], "--browser=firefox"),
            (&["keyway", "logout", "x"], "--trust"),
            (&["keyway", "probe", "x"], "--browser=firefox"),
            (&["keyway", "doctor", "x"], "--browser=firefox"),
            (&["keyway", "trust", "list"], "--trust"),
            (&["keyway", "trust", "list"], "--config=."),
            (&["keyway", "trust", "grant", "x"], "--account=me"),
            (&["keyway", "trust", "revoke", "x"], "--env-file=.env"),
            (&["keyway", "trust", "reset"], "--browser=firefox"),
            (&["keyway", "run"], "--server=x"),
            (&["keyway", "doctor"], "--server=x"),
            (&["keyway", "install", "cursor"], "--server=x"),
            (&["keyway", "uninstall", "cursor"], "--server=x"),
            (&["keyway", "migrate", "oauth"], "--server=x"),
        ] {
            let words = command.iter().copied().chain([flag]);
            let taken = Arguments::command().try_get_matches_from(words);
            assert!(taken.is_ok(), "{command:?} {flag}: {taken:?}");
            let words = command.iter().copied().chain(["--help"]);
            let help = Arguments::command()
                .try_get_matches_from(words)
                .unwrap_err();
            let name = flag.split('=').next().unwrap();
            let shown = help.to_string();
            let is_shown = shown.lines().any(|line| line.trim().starts_with(name));
            assert!(!is_shown, "{command:?} {flag}: {shown}");
        }
    }
}
