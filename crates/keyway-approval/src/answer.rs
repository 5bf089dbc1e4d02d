//! What a person answers to a question, and what that approves.

use crate::agreement::Agreement;
use crate::confinement::{Confinement, SandboxProfile};
use crate::fact::{Fact, FactKind, Which};
use crate::facts::confinement_fact;
use crate::plan_digest::PlanDigest;
use crate::{Protection, Question};

/// What a person answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// What was shown may be used, as it was shown.
    Yes,
    /// It may be used, with its programs confined to system folders, the plugin and what
    /// `config.toml` grants.
    Confined,
    /// It may not be used.
    No,
}

impl Answer {
    /// Reads what a person typed. What is neither of the agreeing words is a no.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        match text.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => Self::Yes,
            "c" | "confined" => Self::Confined,
            _ => Self::No,
        }
    }

    /// Returns yes or no, for a question that offers nothing else.
    #[must_use]
    pub const fn yes_if(agrees: bool) -> Self {
        if agrees { Self::Yes } else { Self::No }
    }
}

impl Question {
    /// Returns what an answer agrees to; `None` for a no.
    ///
    /// Only for the answer that a person gave to this question: whatever the entry runs and sends
    /// can be approved with it.
    #[must_use]
    pub fn dangerous_answer(&self, answer: Answer) -> Option<Agreement> {
        let agreed = match answer {
            Answer::No => return None,
            Answer::Yes => self.clone(),
            // An entry without a program has nothing to confine.
            Answer::Confined => self.confined().unwrap_or_else(|| self.clone()),
        };
        Some(Agreement::new(agreed))
    }

    /// Returns the same question for confined programs; `None` if the entry runs none, or they are
    /// confined already.
    #[must_use]
    pub fn confined(&self) -> Option<Self> {
        let before = self.confinement.as_ref()?;
        if before.profile == SandboxProfile::Confine {
            return None;
        }
        let confinement = Confinement {
            profile: SandboxProfile::Confine,
            ..before.clone()
        };
        let mut confined = self.clone();
        for fact in &mut confined.facts {
            if fact.kind == FactKind::Confinement {
                *fact = confinement_fact(&confinement);
            }
        }
        confined.renew_digest();
        confined.confinement = Some(confinement);
        confined.is_confined_by_answer = true;
        // It was about the other profile.
        confined.protection = None;
        Some(confined)
    }

    /// Returns the same question with more variables of the person's that the entry's helper or process
    /// may have: they are shown, and part of what is approved.
    #[must_use]
    pub fn granting<'a>(&self, variables: impl IntoIterator<Item = &'a str>) -> Self {
        let mut granting = self.clone();
        for name in variables {
            if !granting.grants().any(|granted| granted == name) {
                let fact = Fact::new(FactKind::Gets, name, "of your own, because you grant it");
                granting.facts.push(fact);
            }
        }
        // Stable: the order in which they are named does not count, nor do earlier questions.
        granting.facts.sort_by(|one, other| {
            let of_grants = |it: &Fact| (it.kind == FactKind::Gets).then(|| it.name.clone());
            let kinds = one.kind.cmp(&other.kind);
            kinds.then_with(|| of_grants(one).cmp(&of_grants(other)))
        });
        granting.renew_digest();
        granting
    }

    /// Returns the variables that the entry's helper or process may have besides those that it
    /// declares.
    pub fn grants(&self) -> impl Iterator<Item = &str> {
        let facts = self.facts.iter();
        let granted = facts.filter(|fact| fact.kind == FactKind::Gets);
        granted.map(|fact| fact.name.as_str())
    }

    fn renew_digest(&mut self) {
        let digest = PlanDigest {
            plugin: &self.plugin,
            server: &self.server,
            facts: &self.facts,
            files: &self.files,
        };
        let (all, of_plugin) = (digest.of(Which::All), digest.of(Which::OfPlugin));
        self.digest = all;
        self.of_plugin = of_plugin;
    }

    /// Returns what the programs of the entry are kept from; `None` if it runs none.
    #[must_use]
    pub const fn confinement(&self) -> Option<&Confinement> {
        self.confinement.as_ref()
    }

    /// The same with what of the confinement is in force on this system, for a person to read: it is
    /// not part of what is approved.
    #[must_use]
    pub fn protected_by(mut self, protection: Option<Protection>) -> Self {
        self.protection = protection;
        self
    }
}
