//! Short names for longer things, the same on every machine and in every release.

/// Returns 16 digits that stand for these parts in this order. Not for anything secret.
pub(crate) fn fingerprint(parts: &[&str]) -> String {
    let mut hash = FNV_OFFSET;
    for byte in parts.join("\0").bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME);
    }
    format!("{hash:016x}")
}

/// FNV-1a: short, and the same on every machine and in every release.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;
