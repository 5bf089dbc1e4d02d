//! The arguments of a call as a person sees them: all of them, page by page, and never a beginning
//! that is taken for the whole.

use keyway_secret::printable;
use serde_json::value::RawValue;

/// The arguments of a call, without characters that cannot be seen.
#[derive(Debug, Clone)]
pub(super) struct ShownArguments {
    text: String,
    chars: usize,
}

impl ShownArguments {
    pub(super) fn new(arguments: Option<&RawValue>) -> Self {
        let text = printable(arguments.map_or("{}", RawValue::get));
        Self {
            chars: text.chars().count(),
            text,
        }
    }

    /// Returns how many characters there are.
    pub(super) const fn chars(&self) -> usize {
        self.chars
    }

    /// Returns the first characters, as many as fit on the dashboard.
    pub(super) fn beginning(&self) -> String {
        self.text.chars().take(DASHBOARD_CHARS).collect()
    }

    /// Returns what a form shows as its page `page`, which says what of the whole it is.
    pub(super) fn page(&self, page: usize) -> String {
        let from = page.saturating_mul(PAGE_CHARS);
        let shown: String = self.text.chars().skip(from).take(PAGE_CHARS).collect();
        if self.chars <= PAGE_CHARS {
            return shown;
        }
        let to = self.chars.min(from.saturating_add(PAGE_CHARS));
        let (first, chars) = (from.saturating_add(1), self.chars);
        format!("characters {first} to {to} of the {chars} of its arguments:\n{shown}")
    }

    /// Says whether something follows a page.
    pub(super) const fn has_more(&self, page: usize) -> bool {
        page.saturating_add(1).saturating_mul(PAGE_CHARS) < self.chars
    }
}

/// How much a form shows at once: clients show a form as a few lines.
pub(super) const PAGE_CHARS: usize = 1_000;
/// How much the dashboard shows; 32 questions may wait.
const DASHBOARD_CHARS: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(text: &str) -> ShownArguments {
        let raw = RawValue::from_string(format!("\"{text}\"")).unwrap();
        ShownArguments::new(Some(&raw))
    }

    #[test]
    fn pages_together_are_the_whole_and_each_says_which_part_it_is() {
        let text: String = ('a'..='z').cycle().take(2 * PAGE_CHARS).collect();
        let shown = arguments(&text);
        let mut all = String::new();
        for page in 0..3 {
            let page_text = shown.page(page);
            let (head, rest) = page_text.split_once('\n').unwrap();
            assert!(head.contains(" of the 2002 of "), "{head}");
            all.push_str(rest);
            assert_eq!(shown.has_more(page), page < 2);
        }
        assert_eq!(all, format!("\"{text}\""));
        assert!(shown.page(2).starts_with("characters 2001 to 2002 of"));
    }

    #[test]
    fn what_fits_on_one_page_stands_alone() {
        let text = "ü".repeat(PAGE_CHARS - 2);
        let shown = arguments(&text);
        assert_eq!(shown.page(0), format!("\"{text}\""));
        assert!(!shown.has_more(0));
        assert!(arguments(&format!("{text}x")).has_more(0));
        assert_eq!(ShownArguments::new(None).page(0), "{}");
    }

    #[test]
    fn the_dashboard_gets_more_than_a_form_and_not_without_limit() {
        let shown = arguments(&"x".repeat(DASHBOARD_CHARS));
        assert_eq!(shown.beginning().len(), DASHBOARD_CHARS);
        assert_eq!(shown.chars(), DASHBOARD_CHARS + 2);
    }
}
