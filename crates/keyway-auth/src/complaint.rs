//! What a line that a program printed complains about, by the words that programs use.

/// What a line of a program complains about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a line may say any of these, each on its own"
)]
pub struct Complaint {
    /// It may not use something.
    pub is_refused: bool,
    /// It did not find something, or may not use it.
    pub is_missed: bool,
    /// It wanted to write.
    pub writes: bool,
    /// It did not reach the network.
    pub lacks_network: bool,
}

impl Complaint {
    /// Reads a line.
    #[must_use]
    pub fn of(line: &str) -> Self {
        let line = line.to_ascii_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| line.contains(word));
        let is_refused = says(&REFUSALS);
        Self {
            is_refused,
            is_missed: is_refused || says(&MISSED),
            writes: says(&WRITES),
            lacks_network: says(&NO_NETWORK),
        }
    }
}

/// What programs say when they may not write.
const REFUSALS: [&str; 6] = [
    "read-only file system",
    "erofs",
    "permission denied",
    "eacces",
    "operation not permitted",
    "eperm",
];

/// What programs say when they do not find something.
const MISSED: [&str; 8] = [
    "no such file",
    "enoent",
    "not found",
    "not be found",
    "cannot find",
    "not exist",
    "n't exist",
    "nonexistent",
];

/// What programs say when they wanted to write.
const WRITES: [&str; 9] = [
    "creat",
    "mkdir",
    "touch",
    "writ",
    "save",
    "rename",
    "remove",
    "read-only file system",
    "erofs",
];

/// What programs say without a network.
const NO_NETWORK: [&str; 15] = [
    "could not resolve",
    "couldn't resolve",
    "name resolution",
    "name or service not known",
    "getaddrinfo",
    "eai_again",
    "enotfound",
    "unreachable",
    "enetunreach",
    "no route to host",
    "connection refused",
    "econnrefused",
    "not connect",
    "n't connect",
    "failed to connect",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_by_the_words_that_programs_use() {
        let read = |line| {
            let it = Complaint::of(line);
            [it.is_refused, it.is_missed, it.writes, it.lacks_network]
        };
        for (line, found) in [
            ("listening on port 80", [false; 4]),
            (
                "cat: x: No such file or directory",
                [false, true, false, false],
            ),
            (
                "EACCES: permission denied, open 'x'",
                [true, true, false, false],
            ),
            (
                "sh: cannot create x: Read-only file system",
                [true, true, true, false],
            ),
            (
                "curl: (6) Could not resolve host: x",
                [false, false, false, true],
            ),
        ] {
            assert_eq!(read(line), found, "{line}");
        }
    }
}
