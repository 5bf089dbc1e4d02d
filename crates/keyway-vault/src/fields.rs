//! Fields one after the other, each behind its length: how what is sealed as a whole is written.

/// Appends a field with its length before it.
pub(crate) fn put(out: &mut Vec<u8>, field: Option<&[u8]>) {
    let length = field.map_or(ABSENT, |field| u32::try_from(field.len()).unwrap_or(ABSENT));
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(field.unwrap_or_default());
}

/// Takes a field off the front; the outer `None` is a text that ends too early.
pub(crate) fn take<'a>(rest: &mut &'a [u8]) -> Option<Option<&'a [u8]>> {
    let (length, after) = rest.split_first_chunk()?;
    *rest = after;
    let length = u32::from_le_bytes(*length);
    if length == ABSENT {
        return Some(None);
    }
    let (field, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    *rest = after;
    Some(Some(field))
}

pub(crate) fn number(field: &[u8]) -> Option<i64> {
    field.try_into().ok().map(i64::from_le_bytes)
}

const ABSENT: u32 = u32::MAX;
