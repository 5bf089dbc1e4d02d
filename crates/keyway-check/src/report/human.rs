//! The format for people: one block per finding with the line it is about, and a summary.

use std::collections::HashMap;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};
use anstyle::Style;
use keyway_config::diagnostic::{Diagnostic, Severity};
use keyway_config::source::{BYTE_ORDER_MARK, Location};
use keyway_secret::printable;

use super::Verbosity;
use super::{Look, Report, Text};

/// Renders the report.
pub(super) fn render(report: &Report<'_>, look: Look) -> String {
    let renderer = if look.colors {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let renderer = renderer.term_width(WIDTH);
    let texts = report.texts();
    let least = match look.verbosity {
        Verbosity::Quiet => Severity::Error,
        Verbosity::Normal => Severity::Warning,
        Verbosity::Verbose => Severity::Info,
    };
    let wanted: Vec<&Diagnostic> = report
        .diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.severity >= least)
        .collect();
    let mut out = String::new();
    let sections = sections(report, &wanted);
    let (mut shown, mut more) = (0, 0);
    for section in &sections {
        let repeats = repeats(&section.found);
        let fitting = repeats.len().min(MAX_SHOWN - shown);
        shown += fitting;
        more += repeats.len() - fitting;
        if sections.len() > 1 && fitting > 0 {
            out.push_str(&section.headline(look));
        }
        for (diagnostic, others) in repeats.iter().take(fitting) {
            out.push_str(&renderer.render(&[group(diagnostic, others, &texts)]));
            out.push_str("\n\n");
        }
    }
    if more > 0 {
        out.push_str(&format!(
            "… and {more} more (`--format json` lists all)\n\n"
        ));
    }
    if look.verbosity != Verbosity::Quiet {
        out.push_str(&summary(report, look));
    }
    out
}

/// What was found in one plugin, or in one folder of files without one.
struct Section<'a> {
    folder: String,
    found: Vec<&'a Diagnostic>,
}

impl Section<'_> {
    /// Names the plugin, and how much was found in it.
    fn headline(&self, look: Look) -> String {
        let folder = match &*self.folder {
            "" => ".",
            folder => folder,
        };
        let of = |severity: Severity| {
            let found = self.found.iter();
            found.filter(|found| found.severity == severity).count()
        };
        let counts = [
            (of(Severity::Error), "error"),
            (of(Severity::Warning), "warning"),
            (of(Severity::Info), "note"),
        ];
        let counts = counts.into_iter().filter(|&(count, _)| count > 0);
        let counts: Vec<String> = counts.map(|(count, what)| counted(count, what)).collect();
        let bold = if look.colors {
            Style::new().bold()
        } else {
            Style::new()
        };
        let (folder, counts) = (printable(folder), counts.join(", "));
        format!("{bold}{folder}{bold:#}: {counts}\n\n")
    }
}

/// Puts the findings of each plugin together, in the order of the plugins.
fn sections<'a>(report: &Report<'_>, wanted: &[&'a Diagnostic]) -> Vec<Section<'a>> {
    let mut sections: Vec<Section<'a>> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    let mut last = 0;
    for &diagnostic in wanted {
        // What is about no place belongs to what was found before it.
        let file = diagnostic.location.as_ref().map(|it| &*it.file);
        let at = match file {
            Some(file) => known.get(file).copied(),
            None => sections.get(last).map(|_| last),
        };
        let at = at.unwrap_or_else(|| {
            let folder = file.map(|file| report.folder(file)).unwrap_or_default();
            let same = sections.iter().position(|it| it.folder == folder);
            same.unwrap_or_else(|| {
                let found = Vec::new();
                sections.push(Section { folder, found });
                sections.len() - 1
            })
        });
        if let Some(file) = file {
            known.insert(file, at);
        }
        if let Some(section) = sections.get_mut(at) {
            section.found.push(diagnostic);
        }
        last = at;
    }
    sections
}

/// Groups findings of one file that say the same: the first, and where the others are.
fn repeats<'a>(wanted: &[&'a Diagnostic]) -> Vec<(&'a Diagnostic, Vec<&'a Location>)> {
    let mut groups: Vec<(&Diagnostic, Vec<&Location>)> = Vec::new();
    let mut known: HashMap<[&str; 4], usize> = HashMap::new();
    for diagnostic in wanted {
        let Some(location) = &diagnostic.location else {
            groups.push((diagnostic, Vec::new()));
            continue;
        };
        let hint = diagnostic.hint.as_deref().unwrap_or_default();
        let key = [
            diagnostic.code.as_str(),
            &location.file,
            &diagnostic.message,
            hint,
        ];
        match known.get(&key).and_then(|at| groups.get_mut(*at)) {
            Some((_, others)) => others.push(location),
            None => {
                known.insert(key, groups.len());
                groups.push((diagnostic, Vec::new()));
            }
        }
    }
    groups
}

/// Returns the closing line: what was found, or that nothing was.
fn summary(report: &Report<'_>, look: Look) -> String {
    let files = counted(report.file_count(), "file");
    let errors = report.count(Severity::Error);
    let warnings = report.count(Severity::Warning);
    let notes = report.count(Severity::Info);
    let found: Vec<String> = [(errors, "error"), (warnings, "warning")]
        .into_iter()
        .filter(|&(count, _)| count > 0)
        .map(|(count, what)| counted(count, what))
        .collect();
    let mut line = if found.is_empty() {
        let entries = report
            .plugins
            .iter()
            .map(|found| found.plugin.entries().count());
        let servers = counted(entries.sum(), "server");
        format!("no problems in {files} ({servers})")
    } else {
        format!("{} in {files}", found.join(", "))
    };
    if notes > 0 && look.verbosity == Verbosity::Normal {
        let dim = if look.colors {
            Style::new().dimmed()
        } else {
            Style::new()
        };
        let them = if notes == 1 { "it" } else { "them" };
        let notes = counted(notes, "note");
        line.push_str(&format!("\n{dim}{notes} (--verbose shows {them}){dim:#}"));
    }
    if report.suppressed > 0 {
        line.push_str(&format!(
            "\n{} suppressed",
            counted(report.suppressed, "finding")
        ));
    }
    line.push('\n');
    line
}

/// Returns a number with its noun.
#[must_use]
pub fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

fn group<'a>(
    diagnostic: &'a Diagnostic,
    others: &[&Location],
    texts: &HashMap<&str, Text<'_>>,
) -> Group<'a> {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        _ => Level::INFO,
    };
    let title = level
        .primary_title(printable(&diagnostic.message))
        .id(diagnostic.code.as_str());
    let mut group = Group::with_title(title);
    for snippet in places(diagnostic, texts) {
        group = group.element(snippet);
    }
    if !others.is_empty() {
        let lines = others.iter().take(MOST_LINES);
        let mut lines: Vec<String> = lines.map(|it| it.start.line.to_string()).collect();
        if others.len() > MOST_LINES {
            lines.push("…".to_owned());
        }
        let times = others.len() + 1;
        let note = format!("×{times} in this file, also on line {}", lines.join(", "));
        group = group.element(Level::NOTE.message(note));
    }
    if let Some(hint) = &diagnostic.hint {
        group = group.element(Level::HELP.message(printable(hint)));
    }
    group
}

/// Shows the line of the finding and that of its related place, which may be the same.
fn places<'a>(diagnostic: &Diagnostic, texts: &HashMap<&str, Text<'_>>) -> Vec<Element<'a>> {
    let own = diagnostic.location.iter().map(|location| Mark {
        location,
        kind: AnnotationKind::Primary,
        label: None,
    });
    let related = diagnostic.related.iter().map(|related| Mark {
        location: &related.location,
        kind: AnnotationKind::Context,
        label: Some(printable(&related.message)),
    });
    let marks: Vec<Mark<'_>> = own.chain(related).collect();
    let on_one_line = |a: &Mark<'_>, b: &Mark<'_>| {
        a.location.file == b.location.file && a.location.start.line == b.location.start.line
    };
    let lines = marks.chunk_by(on_one_line);
    lines.filter_map(|marks| place(marks, texts)).collect()
}

/// A place to point to.
struct Mark<'a> {
    location: &'a Location,
    kind: AnnotationKind,
    label: Option<String>,
}

/// Shows one line, or only its name if the line is too long to read.
fn place<'a>(marks: &[Mark<'_>], texts: &HashMap<&str, Text<'_>>) -> Option<Element<'a>> {
    let location = marks.first()?.location;
    let path = printable(&location.file);
    let number = location.start.line as usize;
    let text = texts.get(&*location.file);
    let Some((text, line)) = text.and_then(|text| Some((text, Line::of(text, location)?))) else {
        let column = location.start.column as usize;
        let origin = Origin::path(path).line(number).char_column(column);
        return Some(origin.into());
    };
    let annotations = marks.iter().map(|mark| {
        let marked = line.find(text, mark.location);
        mark.kind.span(marked).label(mark.label.clone())
    });
    let annotations: Vec<_> = annotations.collect();
    let snippet = Snippet::source(line.masked).path(path).line_start(number);
    Some(snippet.annotations(annotations).into())
}

/// One line as it may be shown.
struct Line {
    masked: String,
    /// Where it stands in the file.
    range: Range<usize>,
}

impl Line {
    /// Returns the line where a location begins, unless there is nothing to read in it.
    fn of(text: &Text<'_>, location: &Location) -> Option<Self> {
        let whole = text.source.text();
        let at = location.span.start as usize;
        let start = whole.get(..at)?.rfind('\n').map_or(0, |at| at + 1);
        let line = whole.get(start..)?.split('\n').next()?;
        let shown = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        let start = start + line.len() - shown.len();
        let shown = shown.strip_suffix('\r').unwrap_or(shown);
        if shown.len() > LONGEST_LINE || shown.trim().is_empty() {
            return None;
        }
        let range = start..start + shown.len();
        let masked = text.mask.apply(whole, range.clone());
        Some(Self { masked, range })
    }

    /// Returns what to mark; masking keeps characters, not bytes.
    fn find(&self, text: &Text<'_>, location: &Location) -> Range<usize> {
        let at = |offset: u32| {
            let offset = (offset as usize).clamp(self.range.start, self.range.end);
            let before = text.source.text().get(self.range.start..offset);
            let before = before.unwrap_or_default().chars().count();
            let found = self.masked.char_indices().nth(before);
            found.map_or(self.masked.len(), |(index, _)| index)
        };
        at(location.span.start)..at(location.span.end)
    }
}

/// Wide enough for real files; the terminal's width is not read.
const WIDTH: usize = 120;
/// A longer line is data, not something to read.
const LONGEST_LINE: usize = 4096;
/// Lines of repeats that are listed.
const MOST_LINES: usize = 8;
/// More findings than a person reads.
const MAX_SHOWN: usize = 200;
