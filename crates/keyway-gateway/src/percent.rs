//! Percent-encoded text of addresses.

use percent_encoding::percent_decode_str;

/// Resolves `%20` and the like; text that is not UTF-8 afterwards stays as it is written.
pub(crate) fn decoded(text: &str) -> String {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map_or_else(|_| text.to_owned(), std::borrow::Cow::into_owned)
}
