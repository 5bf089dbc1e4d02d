//! The text of an approval: everything that counts, in lines that hide nothing.

use std::fmt;

use keyway_config::names::server_id;
use keyway_secret::escaped;

use crate::Question;
use crate::fact::FactKind;

impl fmt::Display for Question {
    /// Writes what is asked, what of it changed, and the digest that an answer is bound to.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = escaped(&server_id(&self.plugin, &self.server));
        let source = escaped(&self.source.to_string_lossy());
        writeln!(f, "`{id}` in {source}")?;
        if let Some(changes) = &self.changes {
            writeln!(f, "  since you approved it:")?;
            for line in changes.lines() {
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
