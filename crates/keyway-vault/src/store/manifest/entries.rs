//! What manifests say, and how it is written down.

use crate::Generation;

/// Names with a number each: the root's counters, or the generations that a bucket lists.
///
/// Each read of a token decodes one of them for a single name, so that names and numbers stand in
/// one sorted list: it is made in one go, where a tree is built name by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Entries {
    pub(super) counter: i64,
    numbers: Vec<(Box<str>, i64)>,
}

impl Entries {
    pub(super) fn get(&self, name: &str) -> Option<Generation> {
        let at = self.find(name).ok()?;
        self.numbers.get(at).map(|it| Generation::new(it.1))
    }

    pub(super) fn insert(&mut self, name: &str, number: i64) {
        match self.find(name) {
            Ok(at) => {
                if let Some(entry) = self.numbers.get_mut(at) {
                    entry.1 = number;
                }
            }
            Err(at) => self.numbers.insert(at, (name.into(), number)),
        }
    }

    pub(super) fn remove(&mut self, name: &str) {
        if let Ok(at) = self.find(name) {
            self.numbers.remove(at);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|(name, _)| name)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, i64)> {
        self.numbers.iter().map(|(name, number)| (&**name, *number))
    }

    /// Returns where a name stands, or where it belongs.
    fn find(&self, name: &str) -> Result<usize, usize> {
        self.numbers.binary_search_by(|it| (*it.0).cmp(name))
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
        let mut numbers = Vec::new();
        while !bytes.is_empty() {
            let (length, rest) = bytes.split_first_chunk::<8>()?;
            let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
            let (name, rest) = rest.split_at_checked(length)?;
            let (number, rest) = rest.split_first_chunk::<8>()?;
            let name = str::from_utf8(name).ok()?;
            numbers.push((name.into(), i64::from_le_bytes(*number)));
            bytes = rest;
        }
        let sorted = numbers.is_sorted_by(|a: &(Box<str>, i64), b| a.0 < b.0);
        sorted.then_some(Self { counter, numbers })
    }
}

/// The counters of the buckets of a namespace; one that lists nothing is left out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Directory {
    pub(super) counter: i64,
    buckets: [Option<i64>; 256],
}

impl Default for Directory {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Directory {
    pub(super) const fn new(counter: i64) -> Self {
        Self {
            counter,
            buckets: [None; 256],
        }
    }

    pub(super) fn get(&self, bucket: u8) -> Option<i64> {
        *self.buckets.get(usize::from(bucket))?
    }

    pub(super) fn set(&mut self, bucket: u8, counter: Option<i64>) {
        if let Some(place) = self.buckets.get_mut(usize::from(bucket)) {
            *place = counter;
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u8, i64)> {
        let all = (0..=u8::MAX).zip(self.buckets);
        all.filter_map(|(bucket, counter)| Some((bucket, counter?)))
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (bucket, counter) in self.iter() {
            out.push(bucket);
            out.extend_from_slice(&counter.to_le_bytes());
        }
        out
    }

    pub(super) fn decode(counter: i64, bytes: &[u8]) -> Option<Self> {
        let mut directory = Self::new(counter);
        let mut rest = bytes;
        while let Some((bucket, after)) = rest.split_first() {
            let (counter, after) = after.split_first_chunk::<8>()?;
            directory.set(*bucket, Some(i64::from_le_bytes(*counter)));
            rest = after;
        }
        Some(directory)
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
