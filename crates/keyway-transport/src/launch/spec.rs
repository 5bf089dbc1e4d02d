//! What the parent tells the launcher, as bytes: every field with its length in front.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use keyway_secret::Secret;

use super::Program;
use super::isolation::{Isolation, IsolationMechanism, IsolationProfile};
use super::known_folders::{FolderId, KnownFolders, KnownGrant, KnownPath};

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
    /// What [`Isolation::hidden`] names, with what must lie there.
    pub(super) hidden: Vec<KnownPath>,
    /// What [`Isolation::root`] names, with what must lie there.
    pub(super) root: Option<KnownPath>,
    /// Sockets of other programs in system folders.
    pub(super) sockets: Vec<PathBuf>,
}

/// What the host found out about the paths of an isolation.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Found<'a> {
    pub(super) hidden: &'a [KnownPath],
    pub(super) root: Option<&'a KnownPath>,
    pub(super) sockets: &'a [PathBuf],
}

/// Writes a spec with its length in front; `None` if it is above [`MAX_SPEC_BYTES`].
pub(super) fn encode(
    program: &Program,
    found: Found<'_>,
    mode: LaunchMode,
) -> Option<Secret<Vec<u8>>> {
    let Found {
        hidden,
        root,
        sockets,
    } = found;
    let Isolation {
        profile,
        mechanism,
        hidden: _,
        also_hidden: _,
        granted,
        read_only,
        root: _,
        known_grants,
        own,
        own_read_only,
        home,
        offline,
        require,
        // The ids stand in `hidden`.
        known_folders: _,
    } = &program.isolation;
    let mut fields: Vec<&[u8]> = vec![mode.as_byte()];
    fields.push(profile.as_byte());
    fields.push(mechanism.as_byte());
    fields.push(flag(*offline));
    fields.push(flag(*require));
    fields.push(program.folder.as_os_str().as_bytes());
    fields.push(program.command.expose().as_bytes());
    let home = home.as_ref().map(|home| home.as_os_str().as_bytes());
    fields.push(home.unwrap_or_default());
    let ids: Vec<String> = hidden.iter().map(|place| write_id(place.id)).collect();
    let root_id = root.map(|root| write_id(root.id)).unwrap_or_default();
    let known_ids: Vec<String> = known_grants.iter().map(|it| write_id(it.id)).collect();
    let mut lists: [Vec<&[u8]>; 11] = Default::default();
    let [
        args,
        env,
        places,
        read_write,
        read,
        of_host,
        of_plugin,
        covered,
        approved,
        leading_to,
        of_host_to_read,
    ] = &mut lists;
    args.extend(program.args.iter().map(|arg| arg.expose().as_bytes()));
    let variables = program.env.expose();
    env.extend(variables.flat_map(|(name, value)| [name.as_bytes(), value]));
    let pairs = hidden.iter().zip(&ids);
    places.extend(pairs.flat_map(|(place, id)| [place.path.as_os_str().as_bytes(), id.as_bytes()]));
    read_write.extend(granted.iter().map(|path| path.as_os_str().as_bytes()));
    read.extend(read_only.iter().map(|path| path.as_os_str().as_bytes()));
    of_host.extend(own.iter().map(|path| path.as_os_str().as_bytes()));
    let paths = own_read_only.iter();
    of_host_to_read.extend(paths.map(|path| path.as_os_str().as_bytes()));
    let root = root.map(|root| [root.path.as_os_str().as_bytes(), root_id.as_bytes()]);
    of_plugin.extend(root.into_iter().flatten());
    covered.extend(sockets.iter().map(|path| path.as_os_str().as_bytes()));
    let pairs = known_grants.iter().zip(&known_ids);
    approved.extend(pairs.flat_map(|(it, id)| [it.path.as_os_str().as_bytes(), id.as_bytes()]));
    leading_to.extend(known_grants.iter().map(|it| it.real.as_os_str().as_bytes()));
    written(&fields, &lists)
}

/// Writes fields and lists in one piece, so that no half-grown copy of a secret is left behind in memory.
fn written(fields: &[&[u8]], lists: &[Vec<&[u8]>]) -> Option<Secret<Vec<u8>>> {
    let size = |fields: &[&[u8]]| -> usize {
        let sizes = fields.iter().map(|field| LENGTH_BYTES + field.len());
        sizes.sum()
    };
    let of_lists = lists.iter().map(|list| LENGTH_BYTES + size(list));
    let total = size(fields) + of_lists.sum::<usize>();
    if total > MAX_SPEC_BYTES {
        return None;
    }
    let mut spec = Vec::with_capacity(LENGTH_BYTES + total);
    put_length(&mut spec, total);
    for field in fields {
        put(&mut spec, field);
    }
    for list in lists {
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
        let offline = reader.flag()?;
        let require = reader.flag()?;
        let folder = PathBuf::from(text(reader.field()?));
        let command = text(reader.field()?);
        let home = Some(text(reader.field()?)).filter(|home| !home.is_empty());
        let args = reader.list()?;
        let env = reader.pairs()?;
        let hidden = reader.known()?;
        let granted = reader.paths()?;
        let read_only = reader.paths()?;
        let own = reader.paths()?;
        let root = reader.known()?.pop();
        let sockets = reader.paths()?;
        let known = reader.known()?.into_iter().zip(reader.paths()?);
        let known = known.map(|(KnownPath { path, id }, real)| KnownGrant { path, real, id });
        let own_read_only = reader.paths()?;
        reader.0.is_empty().then_some(Self {
            mode,
            command,
            args,
            env,
            folder,
            isolation: Isolation {
                profile,
                mechanism,
                hidden: hidden.iter().map(|place| place.path.clone()).collect(),
                also_hidden: Vec::new(),
                granted,
                read_only,
                known_grants: known.collect(),
                root: root.as_ref().map(|root| root.path.clone()),
                own,
                own_read_only,
                home: home.map(PathBuf::from),
                offline,
                require,
                known_folders: KnownFolders::default(),
            },
            hidden,
            root,
            sockets,
        })
    }

    /// Returns a variable of the program's environment.
    pub(super) fn variable(&self, name: &str) -> Option<&OsStr> {
        let found = self.env.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| value.as_os_str())
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

    fn flag(&mut self) -> Option<bool> {
        let field = self.field()?;
        [true, false]
            .into_iter()
            .find(|value| flag(*value) == field)
    }

    fn pairs(&mut self) -> Option<Vec<(OsString, OsString)>> {
        let mut fields = self.list()?.into_iter();
        let mut pairs = Vec::with_capacity(fields.len() / 2);
        while let Some(first) = fields.next() {
            pairs.push((first, fields.next()?));
        }
        Some(pairs)
    }

    fn known(&mut self) -> Option<Vec<KnownPath>> {
        let places = self.pairs()?.into_iter().map(|(path, id)| {
            Some(KnownPath {
                path: path.into(),
                id: read_id(id.to_str()?)?,
            })
        });
        places.collect()
    }

    fn paths(&mut self) -> Option<Vec<PathBuf>> {
        Some(self.list()?.into_iter().map(PathBuf::from).collect())
    }

    fn list(&mut self) -> Option<Vec<OsString>> {
        let count = self.length()?;
        (0..count).map(|_| self.field().map(text)).collect()
    }
}

const fn flag(value: bool) -> &'static [u8] {
    if value { b"+" } else { b"-" }
}

fn write_id(id: Option<FolderId>) -> String {
    id.map_or_else(String::new, |id| format!("{} {}", id.device, id.inode))
}

fn read_id(text: &str) -> Option<Option<FolderId>> {
    if text.is_empty() {
        return Some(None);
    }
    let (device, inode) = text.split_once(' ')?;
    Some(Some(FolderId {
        device: device.parse().ok()?,
        inode: inode.parse().ok()?,
    }))
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
                also_hidden: vec![],
                granted: vec!["/g".into()],
                read_only: vec!["/r".into()],
                known_grants: vec![
                    KnownGrant::new("/g", "/real", Some((3, u64::MAX))),
                    KnownGrant::new("/r", "/r", None),
                ],
                root: Some("/p".into()),
                own: vec!["/h/own".into()],
                own_read_only: vec!["/h/read".into()],
                home: Some("/opt/home".into()),
                offline: true,
                require: false,
                known_folders: KnownFolders::default(),
            },
        }
    }

    fn hidden() -> [KnownPath; 2] {
        let id = Some(FolderId {
            device: u64::MAX,
            inode: 7,
        });
        ["/h", "/f"].map(|path| KnownPath {
            path: path.into(),
            id: id.filter(|_| path == "/h"),
        })
    }

    fn found(hidden: &[KnownPath]) -> Found<'_> {
        Found {
            hidden,
            root: hidden.first(),
            sockets: &[],
        }
    }

    #[test]
    fn launch_spec_round_trips() {
        let (hidden, sockets) = (hidden(), ["/opt/s".into()]);
        let found = Found {
            sockets: &sockets,
            ..found(&hidden)
        };
        let bytes = encode(&program(), found, LaunchMode::Helper).unwrap();
        let (length, rest) = bytes.expose().split_first_chunk().unwrap();
        assert_eq!(u32::from_le_bytes(*length) as usize, rest.len());
        let spec = LaunchSpec::decode(rest).unwrap();
        assert_eq!(spec.mode, LaunchMode::Helper);
        assert_eq!(spec.command, "./a b");
        assert_eq!(spec.args, ["", "é"]);
        assert_eq!(spec.env, [("A".into(), "CANARY=\n".into())]);
        assert_eq!(spec.folder, PathBuf::from("/x"));
        assert_eq!(spec.hidden, hidden);
        assert_eq!(spec.sockets, sockets);
        assert_eq!(spec.isolation.granted, [PathBuf::from("/g")]);
        assert_eq!(spec.isolation.read_only, [PathBuf::from("/r")]);
        assert_eq!(
            spec.isolation.known_grants,
            program().isolation.known_grants
        );
        assert_eq!(spec.isolation.own, [PathBuf::from("/h/own")]);
        let own = [PathBuf::from("/h/read")];
        assert_eq!(spec.isolation.own_read_only, own);
        assert_eq!(spec.isolation.home, Some("/opt/home".into()));
        assert_eq!(spec.root.as_ref(), hidden.first());
        assert!(spec.isolation.offline && !spec.isolation.require);
        assert_eq!(spec.variable("A"), Some(OsStr::new("CANARY=\n")));
    }

    #[test]
    fn truncated_or_extended_launch_spec_is_refused() {
        let bytes = encode(&program(), found(&hidden()), LaunchMode::Server).unwrap();
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
        assert!(encode(&program, Found::default(), LaunchMode::Server).is_none());
        // Debug of a program shows no argument.
        assert!(!format!("{program:?}").contains("xx"));
    }

    /// Linux takes six MiB of arguments and environment at most: all of that fits.
    #[test]
    fn launch_spec_of_the_longest_program_that_linux_starts_is_encoded_and_the_limit_is_exact() {
        let mut program = program();
        program.args = vec![Secret::new("x".repeat(6 * 1024 * 1024))];
        let bytes = encode(&program, Found::default(), LaunchMode::Server).unwrap();
        let size = bytes.expose().len() - LENGTH_BYTES;
        assert!(LaunchSpec::decode(&bytes.expose()[LENGTH_BYTES..]).is_some());
        let room = MAX_SPEC_BYTES - size;
        let with = |more: usize| {
            let mut program = program.clone();
            program.args = vec![Secret::new("x".repeat(6 * 1024 * 1024 + more))];
            encode(&program, Found::default(), LaunchMode::Server)
        };
        let longest = with(room).unwrap();
        assert_eq!(longest.expose().len(), LENGTH_BYTES + MAX_SPEC_BYTES);
        assert!(with(room + 1).is_none());
    }

    #[test]
    fn launch_spec_keeps_every_mode_profile_and_mechanism() {
        for mode in [LaunchMode::Server, LaunchMode::Helper, LaunchMode::Probe] {
            let mut program = program();
            program.isolation.profile = IsolationProfile::Confine;
            program.isolation.mechanism = IsolationMechanism::Mounts;
            (program.isolation.offline, program.isolation.require) = (false, true);
            let bytes = encode(&program, Found::default(), mode).unwrap();
            let spec = LaunchSpec::decode(&bytes.expose()[LENGTH_BYTES..]).unwrap();
            assert_eq!(spec.mode, mode);
            assert_eq!(spec.isolation.profile, IsolationProfile::Confine);
            assert_eq!(spec.isolation.mechanism, IsolationMechanism::Mounts);
            assert!(!spec.isolation.offline && spec.isolation.require);
            assert!(spec.hidden.is_empty());
            assert_eq!(spec.variable("B"), None);
        }
        assert!(LaunchMode::from_byte(b"x").is_none());
        assert_eq!(read_id("1"), None);
        assert_eq!(read_id("1 x"), None);
    }
}
