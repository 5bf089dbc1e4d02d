//! Which words are told to be a program, and which are not.

use super::*;

#[test]
fn a_flag_that_hands_over_code_is_told_from_others() {
    for (word, flag) in [
        ("-c", "-c"),
        ("/C", "/C"),
        ("-Command", "-Command"),
        ("--eval=x", "--eval"),
        ("-ec", "-ec"),
        ("-ne", "-ne"),
        ("-abce", "-abce"),
        ("--import=data:text/javascript,x", "--import"),
    ] {
        assert_eq!(code_flag(word), Some(flag), "{word}");
    }
    for word in [
        "c",
        "ec",
        "-x",
        "-xy",
        "-abcd",
        "-Ec",
        "-1c",
        "-abcde",
        "--version",
        "--import=x",
        "data:text/javascript,x",
        "-x=data:y",
        "",
    ] {
        assert_eq!(code_flag(word), None, "{word}");
    }
}

#[test]
fn an_interpreter_is_known_whatever_its_version_folder_or_ending() {
    for (name, plain) in [
        ("python3.12", "python"),
        ("Node.EXE", "node"),
        ("perl5", "perl"),
        ("x.y", "x.y"),
    ] {
        assert_eq!(plain_name(name), plain);
    }
    for (words, code) in [
        (
            &["/usr/bin/python3.12", "-c", "x"][..],
            Some("python3.12 -c"),
        ),
        (&["C:\\bin\\cmd.exe", "/c", "x"], Some("cmd.exe /c")),
        (&["env", "sh", "-x", "-c", "y"], Some("sh -c")),
        (&["-c", "sh"], None),
        (&["node", "server.js"], None),
    ] {
        assert_eq!(
            inline_code(words.iter().copied()).as_deref(),
            code,
            "{words:?}"
        );
    }
}

/// Threat D15: tools that are no interpreters run what certain words say.
#[test]
fn d15_a_program_in_a_word_of_a_tool_is_named() {
    for (words, code) in [
        (&["sed", "1e touch x", "file"][..], Some("sed")),
        (&["/usr/bin/gawk", "BEGIN { system(\"x\") }"], Some("gawk")),
        (&["find", ".", "-exec", "sh", "{}", ";"], Some("find -exec")),
        (&["find", ".", "-name", "exec"], None),
        (&["ls", "|", "xargs", "rm"], Some("xargs")),
        (
            &["tar", "xf", "a", "--checkpoint-action=exec=sh x"],
            Some("tar --checkpoint-action"),
        ),
        (&["tar", "-Ish x", "-xf", "a"], Some("tar -I")),
        (&["tar", "-xf", "a"], None),
        (&["git", "-c", "alias.x=!touch y", "x"], Some("git -c")),
        (
            &["git", "--exec-path=bin", "status"],
            Some("git --exec-path"),
        ),
        (&["git", "-C", "folder", "status"], None),
        (&["ssh", "-oProxyCommand=x", "host"], Some("ssh -o")),
        (&["env", "-S", "node -e x"], Some("env -S")),
        (&["env", "A=b", "server"], None),
        (&["timeout", "5", "make", "SHELL=./x"], Some("make SHELL")),
        // What follows a tool may be an interpreter.
        (&["env", "-i", "node", "-e", "x"], Some("node -e")),
        (&["sed"], None),
    ] {
        let found = inline_code(words.iter().copied());
        assert_eq!(found.as_deref(), code, "{words:?}");
    }
}
