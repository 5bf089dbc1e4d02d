//! What the parent tells the launcher, as bytes: every field with its length in front.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use keyway_secret::Secret;

use super::Program;
use super::isolation::{Isolation, IsolationMechanism, IsolationProfile};

/// What the launcher is to do after it has shut itself in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LaunchMode {
    /// Become the program; what follows on standard input is for it.
    Server,
    /// Become the program, with an empty standard input.
    Helper,
    /// Say which isolation is in force, and end.
    Probe,
}

/// A spec as the launcher reads it.
#[derive(Debug)]
pub(super) struct LaunchSpec {
    pub(super) mode: LaunchMode,
    pub(super) command: OsString,
    pub(super) args: Vec<OsString>,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) folder: PathBuf,
    pub(super) isolation: Isolation,
}

/// Writes a spec with its length in front; `None` if it is above [`MAX_SPEC_BYTES`].
pub(super) fn encode(program: &Program, mode: LaunchMode) -> Option<Secret<Vec<u8>>> {
    let isolation = &program.isolation;
    let mut fields: Vec<&[u8]> = vec![mode.as_byte()];
    fields.push(isolation.profile.as_byte());
    fields.push(isolation.mechanism.as_byte());
    fields.push(program.folder.as_os_str().as_bytes());
    fields.push(program.command.expose().as_bytes());
    let mut lists: [Vec<&[u8]>; 4] = Default::default();
    let [args, env, hidden, granted] = &mut lists;
    args.extend(program.args.iter().map(|arg| arg.expose().as_bytes()));
    env.extend(
        program
            .env
            .expose()
            .flat_map(|(name, value)| [name.as_bytes(), value]),
    );
    hidden.extend(
        isolation
            .hidden
            .iter()
            .map(|path| path.as_os_str().as_bytes()),
    );
    granted.extend(
        isolation
            .granted
            .iter()
            .map(|path| path.as_os_str().as_bytes()),
    );

    let mut total: usize = fields.iter().map(|field| LENGTH_BYTES + field.len()).sum();
    for list in &lists {
        total += LENGTH_BYTES;
        total += list
            .iter()
            .map(|field| LENGTH_BYTES + field.len())
            .sum::<usize>();
    }
    if total > MAX_SPEC_BYTES {
        return None;
    }
    // In one piece, so that no half-grown copy of a secret is left behind in memory.
    let mut spec = Vec::with_capacity(LENGTH_BYTES + total);
    put_length(&mut spec, total);
    for field in fields {
        put(&mut spec, field);
    }
    for list in &lists {
        put_length(&mut spec, list.len());
        for field in list {
            put(&mut spec, field);
        }
    }
    Some(Secret::new(spec))
}

impl LaunchSpec {
    /// Reads what [`encode`] wrote, without the length in front; `None` if it is anything else.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let mode = LaunchMode::from_byte(reader.field()?)?;
        let profile = IsolationProfile::from_byte(reader.field()?)?;
        let mechanism = IsolationMechanism::from_byte(reader.field()?)?;
        let folder = PathBuf::from(text(reader.field()?));
        let command = text(reader.field()?);
        let args = reader.list()?;
        let mut pairs = reader.list()?.into_iter();
        let mut env = Vec::with_capacity(pairs.len() / 2);
        while let Some(name) = pairs.next() {
            env.push((name, pairs.next()?));
        }
        let hidden = reader.list()?.into_iter().map(PathBuf::from).collect();
        let granted = reader.list()?.into_iter().map(PathBuf::from).collect();
        reader.0.is_empty().then_some(Self {
            mode,
            command,
            args,
            env,
            folder,
            isolation: Isolation {
                profile,
                mechanism,
                hidden,
                granted,
            },
        })
    }
}

impl LaunchMode {
    const fn as_byte(self) -> &'static [u8] {
        match self {
            Self::Server => b"s",
            Self::Helper => b"h",
            Self::Probe => b"p",
        }
    }

    fn from_byte(byte: &[u8]) -> Option<Self> {
        [Self::Server, Self::Helper, Self::Probe]
            .into_iter()
            .find(|mode| mode.as_byte() == byte)
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn length(&mut self) -> Option<usize> {
        let (length, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        usize::try_from(u32::from_le_bytes(*length)).ok()
    }

    fn field(&mut self) -> Option<&'a [u8]> {
        let length = self.length()?;
        let (field, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(field)
    }

    fn list(&mut self) -> Option<Vec<OsString>> {
        let count = self.length()?;
        (0..count).map(|_| self.field().map(text)).collect()
    }
}

fn text(field: &[u8]) -> OsString {
    OsString::from_vec(field.to_vec())
}

fn put(spec: &mut Vec<u8>, field: &[u8]) {
    put_length(spec, field.len());
    spec.extend_from_slice(field);
}

fn put_length(spec: &mut Vec<u8>, length: usize) {
    // Cannot saturate: the sum of all lengths was checked.
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    spec.extend_from_slice(&length.to_le_bytes());
}

/// The length in front of each field and of the whole.
pub(super) const LENGTH_BYTES: usize = size_of::<u32>();
/// More than Linux allows for arguments and environment together.
pub(super) const MAX_SPEC_BYTES: usize = 8 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child_env::{ChildEnv, ChildKind, EnvRules, HostEnv, Inherit};

    fn program() -> Program {
        let declared = [("A".to_owned(), Secret::new("CANARY=\n".to_owned()))];
        let rules = EnvRules {
            reader: ChildKind::Server,
            inherit: Inherit::Listed,
            declared: &declared,
            granted: &[],
            host: &HostEnv::default(),
        };
        Program {
            command: Secret::new("./a b".to_owned()),
            args: vec![Secret::new(String::new()), Secret::new("é".to_owned())],
            env: ChildEnv::build([], &rules),
            folder: "/x".into(),
            isolation: Isolation {
                profile: IsolationProfile::Hide,
                mechanism: IsolationMechanism::Landlock,
                hidden: vec!["/h".into()],
                granted: vec![],
            },
        }
    }

    #[test]
    fn launch_spec_round_trips() {
        let bytes = encode(&program(), LaunchMode::Helper).unwrap();
        let (length, rest) = bytes.expose().split_first_chunk().unwrap();
        assert_eq!(u32::from_le_bytes(*length) as usize, rest.len());
        let spec = LaunchSpec::decode(rest).unwrap();
        assert_eq!(spec.mode, LaunchMode::Helper);
        assert_eq!(spec.command, "./a b");
        assert_eq!(spec.args, ["", "é"]);
        assert_eq!(spec.env, [("A".into(), "CANARY=\n".into())]);
        assert_eq!(spec.folder, PathBuf::from("/x"));
        assert_eq!(spec.isolation.hidden, [PathBuf::from("/h")]);
    }

    #[test]
    fn truncated_or_extended_launch_spec_is_refused() {
        let bytes = encode(&program(), LaunchMode::Server).unwrap();
        let rest = &bytes.expose()[LENGTH_BYTES..];
        for end in 0..rest.len() {
            assert!(LaunchSpec::decode(&rest[..end]).is_none(), "{end}");
        }
        assert!(LaunchSpec::decode(&[rest, b"x"].concat()).is_none());
    }

    #[test]
    fn launch_spec_above_the_limit_is_not_encoded() {
        let mut program = program();
        program.args = vec![Secret::new("x".repeat(MAX_SPEC_BYTES))];
        assert!(encode(&program, LaunchMode::Server).is_none());
        // Debug of a program shows no argument.
        assert!(!format!("{program:?}").contains("xx"));
    }
}
