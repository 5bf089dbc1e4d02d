//! What the renderers make of unusual places.

use keyway_code::Code;
use keyway_config::diagnostic::Related;
use keyway_config::source::{Pointer, Span};
use keyway_files::load::Loader;

use super::*;

/// A report about `text` with one finding per span.
fn rendered(text: &str, spans: &[(usize, usize)], format: Format) -> String {
    let loaded = Loader::default().read("f,1.json", text.as_bytes()).unwrap();
    let source = &loaded.plugin.documents[0].source;
    let locate =
        |&(start, end): &(usize, usize)| source.locate(Span::new(start, end), &Pointer::default());
    let diagnostics = spans.iter().map(|span| {
        let message = "100% wrong,\nreally: \u{1b}[0m".to_owned();
        Diagnostic::new(Code::InvalidUrl, Severity::Error, message).with_location(locate(span))
    });
    let mut diagnostics: Vec<Diagnostic> = diagnostics.collect();
    // What says the same is counted once; these are to be told apart.
    for (number, diagnostic) in diagnostics.iter_mut().enumerate().skip(1) {
        diagnostic.message = format!("wrong number {number}");
    }
    if let [first, second] = &mut *diagnostics {
        first.related = second
            .location
            .take()
            .map(|location| Related::new(location, "there"));
        diagnostics.truncate(1);
    }
    let look = Look::new(Verbosity::Normal);
    let plugins = [loaded];
    Report::new(&plugins, diagnostics, &[]).render(format, look)
}

#[test]
fn wide_characters_and_a_byte_order_mark_do_not_shift_the_marker() {
    let text = "\u{feff}{\"日本\": 1}\r\n";
    insta::assert_snapshot!(rendered(text, &[(14, 15)], Format::Human), @r#"
    error[invalid-url]: 100% wrong, really: [0m
     --> f,1.json:1:8
      |
    1 | {"日本": 1}
      |          ^

    1 error in 1 file
    "#);
}

#[test]
fn two_places_on_one_line_share_it() {
    let text = "{\"a\": 1, \"b\": 2}";
    insta::assert_snapshot!(rendered(text, &[(1, 4), (9, 12)], Format::Human), @r#"
    error[invalid-url]: 100% wrong, really: [0m
     --> f,1.json:1:2
      |
    1 | {"a": 1, "b": 2}
      |  ^^^     --- there

    1 error in 1 file
    "#);
}

#[test]
fn line_that_is_too_long_to_read_is_named_but_not_shown() {
    let text = format!("{{\"a\": \"{}\"}}", "x".repeat(10_000));
    insta::assert_snapshot!(rendered(&text, &[(6, 9)], Format::Human), @r"
    error[invalid-url]: 100% wrong, really: [0m
    --> f,1.json:1:7

    1 error in 1 file
    ");
}

#[test]
fn more_findings_than_a_person_reads_are_counted() {
    let text = rendered("{}", &vec![(0, 1); 1000], Format::Human);
    assert!(
        text.ends_with("… and 800 more (`--format json` lists all)\n\n1000 errors in 1 file\n")
    );
}

#[test]
fn github_properties_and_messages_are_escaped() {
    insta::assert_snapshot!(
        rendered("{}", &[(0, 1)], Format::Github).replace('\u{1b}', "ESC"),
        @"::error file=f%2C1.json,line=1,endLine=1,col=1,endColumn=2,title=invalid-url::100%25 wrong,%0Areally: ESC[0m"
    );
}
