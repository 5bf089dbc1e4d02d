//! D-Bus messages: calls that we write, and whatever the bus sends, read with suspicion.

mod replies;

use zeroize::Zeroizing;

use crate::malformed::Malformed;
use crate::wire::{Reader, Writer};

/// A method call to be sent.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) destination: &'a str,
    pub(crate) path: &'a str,
    pub(crate) interface: &'a str,
    pub(crate) member: &'a str,
    pub(crate) signature: &'a str,
    pub(crate) body: Writer,
}

impl Call<'_> {
    /// Writes the call under a serial number, which must not be zero.
    pub(crate) fn to_bytes(&self, serial: u32) -> Writer {
        let mut out = Writer::default();
        out.extend(&[LITTLE_ENDIAN, METHOD_CALL, 0, VERSION]);
        let body = self.body.as_slice();
        out.number(u32::try_from(body.len()).unwrap_or(u32::MAX));
        out.number(serial);
        out.array(8, |fields| {
            let mut field = |code: u8, kind: &str, value: &str| {
                fields.align(8);
                fields.byte(code);
                fields.signature(kind);
                if kind == "g" {
                    fields.signature(value);
                } else {
                    fields.text(value);
                }
            };
            field(PATH, "o", self.path);
            field(INTERFACE, "s", self.interface);
            field(MEMBER, "s", self.member);
            field(DESTINATION, "s", self.destination);
            if !self.signature.is_empty() {
                field(SIGNATURE, "g", self.signature);
            }
        });
        out.align(8);
        out.extend(body);
        out
    }
}

/// A message as it came from the bus. Wiped when dropped: its body may be a secret.
#[derive(Debug, PartialEq, Eq)]
pub struct Message {
    pub(crate) kind: Kind,
    pub(crate) path: String,
    pub(crate) member: String,
    signature: String,
    body: Body,
}

/// What a message is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The answer to the call of that serial number.
    Return(u32),
    /// The refusal of the call of that serial number, by name.
    Error(u32, String),
    Signal,
    /// Calls of other programs, and future kinds; they need no answer.
    Other,
}

/// Bytes that are not shown.
#[derive(PartialEq, Eq)]
struct Body(Zeroizing<Vec<u8>>);

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl Message {
    /// How many bytes tell the length of the whole message.
    pub const PREFIX: usize = 16;

    /// Returns how long the message is that begins with `prefix`.
    ///
    /// # Errors
    ///
    /// Returns [`Malformed::TooLong`] beyond 64 KiB, and another one if this is not a message.
    pub fn length(prefix: &[u8; Self::PREFIX]) -> Result<usize, Malformed> {
        let mut reader = Reader::new(prefix);
        let (endian, _kind) = (reader.byte()?, reader.byte()?);
        let (_flags, version) = (reader.byte()?, reader.byte()?);
        // All processes of this machine have our byte order.
        if endian != LITTLE_ENDIAN || version != VERSION {
            return Err(Malformed::Prefix);
        }
        let body = u64::from(reader.number()?);
        let _serial = reader.number()?;
        let fields = u64::from(reader.number()?);
        let header = (Self::PREFIX as u64 + fields).next_multiple_of(8);
        usize::try_from(header + body)
            .ok()
            .filter(|length| *length <= LONGEST)
            .ok_or(Malformed::TooLong)
    }

    /// Reads a whole message.
    ///
    /// # Errors
    ///
    /// Returns the first rule that is broken.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let prefix = bytes.first_chunk().ok_or(Malformed::Short)?;
        if Self::length(prefix)? != bytes.len() {
            return Err(Malformed::Short);
        }
        let mut reader = Reader::new(bytes);
        let _endian = reader.byte()?;
        let kind = reader.byte()?;
        let (_flags, _version, _body) = (reader.byte()?, reader.byte()?, reader.number()?);
        let serial = reader.number()?;
        if serial == 0 {
            return Err(Malformed::Value);
        }
        let fields = Fields::read(&mut reader)?;
        reader.align(8)?;
        let body = bytes.get(reader.position()..).ok_or(Malformed::Short)?;
        let kind = match (kind, fields.reply_to) {
            (METHOD_RETURN, Some(to)) => Kind::Return(to),
            (ERROR, Some(to)) => Kind::Error(to, fields.error.ok_or(Malformed::Value)?.to_owned()),
            (METHOD_RETURN | ERROR | 0, _) => return Err(Malformed::Value),
            (SIGNAL, _) => Kind::Signal,
            _ => Kind::Other,
        };
        Ok(Self {
            kind,
            path: fields.path.unwrap_or_default().to_owned(),
            member: fields.member.unwrap_or_default().to_owned(),
            signature: fields.signature.unwrap_or_default().to_owned(),
            body: Body(Zeroizing::new(body.to_vec())),
        })
    }
}

/// The header fields that matter here.
#[derive(Default)]
struct Fields<'a> {
    path: Option<&'a str>,
    member: Option<&'a str>,
    error: Option<&'a str>,
    signature: Option<&'a str>,
    reply_to: Option<u32>,
}

impl<'a> Fields<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let mut fields = Self::default();
        let end = reader.array(8)?;
        while reader.position() < end {
            reader.align(8)?;
            let code = reader.byte()?;
            match (code, reader.signature()?) {
                (REPLY_SERIAL, "u") => fields.reply_to = Some(reader.number()?),
                (SIGNATURE, "g") => fields.signature = Some(reader.signature()?),
                (PATH, "o") => fields.path = Some(reader.text()?),
                (MEMBER, "s") => fields.member = Some(reader.text()?),
                (ERROR_NAME, "s") => fields.error = Some(reader.text()?),
                (PATH | MEMBER | ERROR_NAME | REPLY_SERIAL | SIGNATURE | 0, _) => {
                    return Err(Malformed::Value);
                }
                // Of no interest, as long as we can step over it.
                (_, "s" | "o") => drop(reader.text()?),
                (_, "g") => drop(reader.signature()?),
                (_, "u") => drop(reader.number()?),
                _ => return Err(Malformed::Value),
            }
        }
        reader.ends_at(end)?;
        Ok(fields)
    }
}

const LITTLE_ENDIAN: u8 = b'l';
const VERSION: u8 = 1;
const LONGEST: usize = 64 * 1024;

const METHOD_CALL: u8 = 1;
const METHOD_RETURN: u8 = 2;
const ERROR: u8 = 3;
const SIGNAL: u8 = 4;

const PATH: u8 = 1;
const INTERFACE: u8 = 2;
const MEMBER: u8 = 3;
const ERROR_NAME: u8 = 4;
const REPLY_SERIAL: u8 = 5;
const DESTINATION: u8 = 6;
const SIGNATURE: u8 = 8;

#[cfg(test)]
mod tests;
