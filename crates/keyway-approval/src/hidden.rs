//! Credentials that a file wrote into a command line or an address, hidden by their place.

use keyway_config::headers::is_credential_header;

/// Returns a command line or an address without the literals that stand where credentials do:
/// behind a flag named like one, in a parameter named like one, and before the `@` of an address.
pub(crate) fn hide_credentials(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut is_value = false;
    for piece in text.split_inclusive(is_separator) {
        let word = piece.trim_end_matches(is_separator);
        let separator = piece.get(word.len()..).unwrap_or_default();
        if !word.is_empty() {
            shown.push_str(&match is_value {
                true => hidden(word),
                false => hide_in_word(word),
            });
            is_value = word.starts_with('-') && !word.contains('=') && is_credential_header(word);
        }
        shown.push_str(separator);
    }
    shown
}

fn hide_in_word(word: &str) -> String {
    let (scheme, address) = match word.split_once("://") {
        Some((scheme, address)) => (format!("{scheme}://"), address),
        None => (String::new(), word),
    };
    let (user, rest) = match address.split_once('@') {
        Some((user, rest)) if !scheme.is_empty() => (format!("{}@", hidden(user)), rest),
        _ => (String::new(), address),
    };
    let mut shown = scheme + &user;
    for part in rest.split_inclusive(['?', '&', ';']) {
        let pair = part.trim_end_matches(['?', '&', ';']);
        let end = part.get(pair.len()..).unwrap_or_default();
        match pair.split_once('=') {
            Some((name, value)) if is_credential_header(name) => {
                shown.push_str(&format!("{name}={}", hidden(value)));
            }
            _ => shown.push_str(pair),
        }
        shown.push_str(end);
    }
    shown
}

/// A reference to a variable stays readable: it is what the approval is about.
fn hidden(value: &str) -> String {
    let is_reference = value.starts_with("${") && value.ends_with('}');
    if is_reference { value } else { "…" }.to_owned()
}

fn is_separator(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\'' | '"' | '(' | ')')
}

#[cfg(test)]
mod tests {
    use super::hide_credentials;

    #[test]
    fn literals_in_the_place_of_a_credential_are_hidden_and_nothing_else_is() {
        for (text, shown) in [
            ("./run.sh --token p4ss", "./run.sh --token …"),
            ("'./run.sh --token=p4ss' x", "'./run.sh --token=…' x"),
            (
                "run --token ${TOKEN} --port 80",
                "run --token ${TOKEN} --port 80",
            ),
            (
                "https://h.example ('https://u:p4ss@h.example/mcp?api_key=p4ss&x=${V}')",
                "https://h.example ('https://…@h.example/mcp?api_key=…&x=${V}')",
            ),
            ("npx -y @scope/server@1.2", "npx -y @scope/server@1.2"),
        ] {
            assert_eq!(hide_credentials(text), shown);
        }
    }
}
