//! Writes zip archives as no honest packer does: every field of a member can be set.

/// A member of an archive. Its fields are written as they are, whether or not they fit together.
#[derive(Debug, Clone)]
pub struct Member {
    /// The name in the list of members.
    pub name: Vec<u8>,
    /// The name in front of the content.
    pub local_name: Vec<u8>,
    /// Type and permissions, as `stat` has them.
    pub mode: u32,
    /// 0: as it is; 8: deflated.
    pub method: u16,
    /// 1: encrypted.
    pub flags: u16,
    /// The content as it lies in the archive.
    pub packed: Vec<u8>,
    /// Of the content.
    pub checksum: u32,
    /// Of the content.
    pub size: u32,
}

impl Member {
    /// A file that is not compressed.
    #[must_use]
    pub fn file(name: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> Self {
        let content = content.as_ref();
        Self {
            name: name.as_ref().to_vec(),
            local_name: name.as_ref().to_vec(),
            mode: 0o100_644,
            method: 0,
            flags: 0,
            packed: content.to_vec(),
            checksum: checksum(content),
            size: length(content),
        }
    }

    /// A file that takes `packed` in the archive, compressed.
    #[must_use]
    pub fn deflated(name: &str, content: &[u8], packed: Vec<u8>) -> Self {
        Self {
            method: 8,
            packed,
            ..Self::file(name, content)
        }
    }

    /// The same with another type or other permissions.
    #[must_use]
    pub fn mode(mut self, mode: u32) -> Self {
        self.mode = mode;
        self
    }
}

/// Returns the bytes of an archive.
#[must_use]
pub fn archive(members: &[Member]) -> Vec<u8> {
    let (mut bytes, mut list) = (Vec::new(), Vec::new());
    for member in members {
        let offset = length(&bytes);
        bytes.extend(b"PK\x03\x04");
        bytes.extend(20_u16.to_le_bytes());
        bytes.extend(shared(member));
        bytes.extend(short(&member.local_name).to_le_bytes());
        bytes.extend(0_u16.to_le_bytes());
        bytes.extend(&member.local_name);
        bytes.extend(&member.packed);
        list.extend(b"PK\x01\x02");
        // Made on Unix, so that the mode counts.
        list.extend([20, 3, 20, 0]);
        list.extend(shared(member));
        list.extend(short(&member.name).to_le_bytes());
        list.extend([0; 8]);
        list.extend((member.mode << 16).to_le_bytes());
        list.extend(offset.to_le_bytes());
        list.extend(&member.name);
    }
    let (offset, size) = (length(&bytes), length(&list));
    let count = u16::try_from(members.len()).unwrap_or(u16::MAX);
    bytes.extend(list);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend(count.to_le_bytes());
    bytes.extend(count.to_le_bytes());
    bytes.extend(size.to_le_bytes());
    bytes.extend(offset.to_le_bytes());
    bytes.extend([0; 2]);
    bytes
}

/// What both headers have between the version and the length of the name.
fn shared(member: &Member) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(member.flags.to_le_bytes());
    bytes.extend(member.method.to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(member.checksum.to_le_bytes());
    bytes.extend(length(&member.packed).to_le_bytes());
    bytes.extend(member.size.to_le_bytes());
    bytes
}

fn checksum(content: &[u8]) -> u32 {
    let step = |sum: u32, _| (sum >> 1) ^ (0xEDB8_8320 & (sum & 1).wrapping_neg());
    let byte = |sum: u32, byte: &u8| (0..8).fold(sum ^ u32::from(*byte), step);
    !content.iter().fold(u32::MAX, byte)
}

fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}

fn short(bytes: &[u8]) -> u16 {
    u16::try_from(bytes.len()).unwrap_or(u16::MAX)
}
