//! What manifests say, and how it is written down.

use std::collections::BTreeMap;

use crate::Generation;

/// Names with a number each: the root's counters, or the generations that a bucket lists.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Entries {
    pub(super) counter: i64,
    numbers: BTreeMap<String, i64>,
}

impl Entries {
    pub(super) fn get(&self, name: &str) -> Option<Generation> {
        self.numbers.get(name).copied().map(Generation::new)
    }

    pub(super) fn insert(&mut self, name: &str, number: i64) {
        self.numbers.insert(name.to_owned(), number);
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.numbers.remove(name);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.numbers.keys().map(String::as_str)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, i64)> {
        self.numbers
            .iter()
            .map(|(name, number)| (name.as_str(), *number))
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (name, number) in &self.numbers {
            out.extend_from_slice(&(name.len() as u64).to_le_bytes());
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(&number.to_le_bytes());
        }
        out
    }

    pub(super) fn decode(counter: i64, mut bytes: &[u8]) -> Option<Self> {
        let mut numbers = BTreeMap::new();
        while !bytes.is_empty() {
            let (length, rest) = bytes.split_first_chunk::<8>()?;
            let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
            let (name, rest) = rest.split_at_checked(length)?;
            let (number, rest) = rest.split_first_chunk::<8>()?;
            numbers.insert(
                String::from_utf8(name.to_vec()).ok()?,
                i64::from_le_bytes(*number),
            );
            bytes = rest;
        }
        Some(Self { counter, numbers })
    }
}

/// The counters of the buckets of a namespace; one that lists nothing is left out.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Directory {
    pub(super) counter: i64,
    buckets: BTreeMap<u8, i64>,
}

impl Directory {
    pub(super) const fn new(counter: i64) -> Self {
        Self {
            counter,
            buckets: BTreeMap::new(),
        }
    }

    pub(super) fn get(&self, bucket: u8) -> Option<i64> {
        self.buckets.get(&bucket).copied()
    }

    pub(super) fn set(&mut self, bucket: u8, counter: Option<i64>) {
        match counter {
            Some(counter) => self.buckets.insert(bucket, counter),
            None => self.buckets.remove(&bucket),
        };
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u8, i64)> {
        self.buckets
            .iter()
            .map(|(bucket, counter)| (*bucket, *counter))
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(9 * self.buckets.len());
        for (bucket, counter) in &self.buckets {
            out.push(*bucket);
            out.extend_from_slice(&counter.to_le_bytes());
        }
        out
    }

    pub(super) fn decode(counter: i64, bytes: &[u8]) -> Option<Self> {
        let mut buckets = BTreeMap::new();
        let mut rest = bytes;
        while let Some((bucket, after)) = rest.split_first() {
            let (counter, after) = after.split_first_chunk::<8>()?;
            buckets.insert(*bucket, i64::from_le_bytes(*counter));
            rest = after;
        }
        Some(Self { counter, buckets })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_read_back_as_they_were_written() {
        let mut entries = Entries {
            counter: 4,
            ..Entries::default()
        };
        entries.insert("a", 1);
        entries.insert("ü\0b", 2);
        entries.insert("", 3);
        entries.remove("a");
        let written = entries.encode();
        assert_eq!(Entries::decode(4, &written), Some(entries));
        assert_eq!(Entries::decode(4, &written[1..]), None);
    }

    #[test]
    fn directory_reads_back_as_it_was_written() {
        let mut directory = Directory::new(9);
        directory.set(0, Some(7));
        directory.set(255, Some(9));
        directory.set(3, Some(8));
        directory.set(3, None);
        let written = directory.encode();
        assert_eq!(Directory::decode(9, &written), Some(directory));
        assert_eq!(Directory::decode(9, &written[1..]), None);
    }
}
