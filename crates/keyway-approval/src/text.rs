//! The text of an approval: everything that counts, in lines that hide nothing.

use std::fmt;

use keyway_config::names::server_id;
use keyway_secret::escaped;

use crate::Question;
use crate::fact::FactKind;

impl Question {
    /// Writes several questions on one page. Behind a long one stands how much there is to read: what
    /// comes first may have left the screen.
    #[must_use]
    pub fn page(questions: &[Self]) -> String {
        let texts: Vec<String> = questions.iter().map(ToString::to_string).collect();
        let mut page = texts.join("\n");
        let rows: usize = page
            .lines()
            .map(|it| it.chars().count() / COLUMNS + 1)
            .sum();
        if rows > MOST_ROWS {
            let is_marked = |line: &&str| line.trim_start().starts_with("!! ");
            let marked = page.lines().filter(is_marked).count();
            page.push_str(&format!(
                "\nThe above takes {rows} rows, and {marked} lines of it are marked with `!!`: read it from \
                 its beginning\n"
            ));
        }
        page
    }
}

/// As wide as a usual terminal.
const COLUMNS: usize = 80;
/// Two screens.
const MOST_ROWS: usize = 100;
/// More of them would push what is asked off the screen.
const MOST_FILES: usize = 20;

impl fmt::Display for Question {
    /// Writes what is asked, what of it changed, and the digest that an answer is bound to.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = escaped(&server_id(&self.plugin, &self.server));
        let source = escaped(&self.source.to_string_lossy());
        writeln!(f, "`{id}` in {source}")?;
        if let Some(changes) = &self.changes {
            writeln!(f, "  since you approved it:")?;
            for line in changes.lines_with_files(MOST_FILES) {
                writeln!(f, "    {line}")?;
            }
            writeln!(f, "  all of it:")?;
        }
        for fact in &self.facts {
            writeln!(f, "  {:<9} {}", fact.kind.label(), fact.text())?;
            if let Some(caution) = &fact.caution {
                writeln!(f, "            !! {}", escaped(caution))?;
            }
            let is_confinement = fact.kind == FactKind::Confinement;
            if let Some(protection) = self.protection.as_ref().filter(|_| is_confinement) {
                let mark = if protection.is_complete { "" } else { "!! " };
                writeln!(f, "            {mark}here: {}", escaped(&protection.words))?;
            }
        }
        writeln!(f, "  {:<9} {}", "digest", self.digest)
    }
}
