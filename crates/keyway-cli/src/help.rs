//! What `keyway --help` shows: the commands in groups, by what a person wants to do.

use clap::Command;

/// Returns the program with its commands in groups. Only who asks for help pays for it.
pub(crate) fn in_groups(mut program: Command) -> Command {
    // Until now, commands know nothing but their names.
    program.build();
    let heading = *program.get_styles().get_header();
    let terminal = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let width = terminal.map_or(WIDEST, |width| width.min(WIDEST));
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (title, names) in GROUPS {
        text.push_str(&format!("\n{heading}{title}:{heading:#}\n"));
        for name in *names {
            text.push_str(&line(&program, name, width));
        }
    }
    text.push_str(&format!("\n{heading}Options:{heading:#}\n{{options}}"));
    program.help_template(text)
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

/// Every command that is shown, in one group each.
const GROUPS: &[(&str, &[&str])] = &[
    ("Look around", &["demo", "status", "doctor", "explain"]),
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
        ],
    ),
    (
        "Connect clients",
        &[
            "run",
            "install",
            "uninstall",
            "serve",
            "open",
            "token",
            "service",
            "mtls",
        ],
    ),
    (
        "Keep approvals and secrets",
        &["trust", "env", "rotate", "vault"],
    ),
    (
        "Write plugins",
        &["check", "migrate", "readme", "schema", "client-metadata"],
    ),
    ("More", &["completions", "man"]),
];

/// The longest name.
const LONGEST: usize = 15;
/// No text is set wider.
pub(crate) const WIDEST: usize = 100;

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::arguments::Arguments;

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
        let help = in_groups(program.clone()).render_help().to_string();
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
}
