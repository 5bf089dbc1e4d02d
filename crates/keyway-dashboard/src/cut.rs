//! Text that is too long to be shown.

/// Keeps the beginning of a text, at most so many bytes, and says how much is missing.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most);
    let kept = text.get(..end).unwrap_or_default();
    format!("{kept}\n… {} more bytes are not shown", text.len() - end)
}
