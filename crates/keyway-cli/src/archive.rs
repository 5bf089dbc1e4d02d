//! A tar archive in memory, as POSIX.1-1988 describes it (`ustar`): small texts, nothing else.

/// Puts files into an archive; names are short and plain.
#[derive(Debug, Default)]
pub(crate) struct Archive {
    bytes: Vec<u8>,
}

impl Archive {
    /// Adds a file that only its owner may read.
    pub(crate) fn add(&mut self, name: &str, content: &[u8], unix: u64) {
        let mut header = [0_u8; BLOCK];
        let name: Vec<u8> = name.bytes().take(100).collect();
        put(&mut header, 0, &name);
        put(&mut header, 100, b"0000600\0");
        put(&mut header, 108, b"0000000\0");
        put(&mut header, 116, b"0000000\0");
        put(
            &mut header,
            124,
            format!("{:011o}\0", content.len()).as_bytes(),
        );
        put(&mut header, 136, format!("{unix:011o}\0").as_bytes());
        // The checksum counts itself as blanks.
        put(&mut header, 148, b"        ");
        put(&mut header, 156, b"0");
        put(&mut header, 257, b"ustar\x0000");
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        put(&mut header, 148, format!("{sum:06o}\0 ").as_bytes());
        self.bytes.extend_from_slice(&header);
        self.bytes.extend_from_slice(content);
        self.fill();
    }

    /// Ends the archive.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.bytes.extend_from_slice(&[0; 2 * BLOCK]);
        self.bytes
    }

    fn fill(&mut self) {
        let whole = self.bytes.len().next_multiple_of(BLOCK);
        self.bytes.resize(whole, 0);
    }
}

fn put(header: &mut [u8; BLOCK], at: usize, bytes: &[u8]) {
    for (place, byte) in header.iter_mut().skip(at).zip(bytes) {
        *place = *byte;
    }
}

const BLOCK: usize = 512;
