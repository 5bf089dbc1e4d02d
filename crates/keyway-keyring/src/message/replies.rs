//! What the methods that we call return, each read whole or not at all.

use keyway_secret::Secret;

use super::{Malformed, Message};
use crate::wire::Reader;

impl Message {
    /// Reads the path that `OpenSession` returns after what it negotiated; for a plain session that
    /// is a string.
    ///
    /// # Errors
    ///
    /// Returns [`Malformed`], as all of these do.
    pub fn session(&self) -> Result<&str, Malformed> {
        self.read("vo", |body| {
            match body.signature()? {
                "s" => body.text().map(drop)?,
                _ => return Err(Malformed::Signature),
            }
            body.text()
        })
    }

    /// Reads one object path.
    ///
    /// # Errors
    ///
    /// Returns [`Malformed`].
    pub fn object(&self) -> Result<&str, Malformed> {
        self.read("o", Reader::text)
    }

    /// Reads two object paths: an item that was made, and a prompt.
    ///
    /// # Errors
    ///
    /// Returns [`Malformed`].
    pub fn object_and_prompt(&self) -> Result<(&str, &str), Malformed> {
        self.read("oo", |body| Ok((body.text()?, body.text()?)))
    }

    /// Reads what was unlocked, and a prompt.
    ///
    /// # Errors
    ///
    /// Returns [`Malformed`].
    pub fn objects_and_prompt(&self) -> Result<(Vec<&str>, &str), Malformed> {
        self.read("aoo", |body| Ok((body.texts()?, body.text()?)))
    }

    /// Reads what was found: unlocked items, then locked ones.
    ///
    /// # Errors
    ///
    /// Returns [`Malformed`].
    pub fn found(&self) -> Result<(Vec<&str>, Vec<&str>), Malformed> {
        self.read("aoao", |body| Ok((body.texts()?, body.texts()?)))
    }

    /// Reads a property that is true or false.
    ///
    /// # Errors
    ///
    /// Returns [`Malformed`].
    pub fn flag(&self) -> Result<bool, Malformed> {
        self.read("v", |body| match body.signature()? {
            "b" => body.boolean(),
            _ => Err(Malformed::Signature),
        })
    }

    /// Reads the value of a secret: session, parameters, value, content type.
    ///
    /// # Errors
    ///
    /// Returns [`Malformed`].
    pub fn secret(&self) -> Result<Secret<Vec<u8>>, Malformed> {
        self.read("(oayays)", |body| {
            body.text()?;
            body.bytes()?;
            let value = body.bytes()?.to_vec();
            let value = Secret::new(value);
            body.text()?;
            Ok(value)
        })
    }

    /// Reads whether a prompt was dismissed; what it leads to does not matter.
    ///
    /// # Errors
    ///
    /// Returns [`Malformed`].
    pub fn dismissed(&self) -> Result<bool, Malformed> {
        if self.signature != "bv" {
            return Err(Malformed::Signature);
        }
        Reader::new(&self.body.0).boolean()
    }

    pub(super) fn read<'a, T>(
        &'a self,
        signature: &str,
        values: impl FnOnce(&mut Reader<'a>) -> Result<T, Malformed>,
    ) -> Result<T, Malformed> {
        if self.signature != signature {
            return Err(Malformed::Signature);
        }
        let mut body = Reader::new(&self.body.0);
        let values = values(&mut body)?;
        if !body.is_at_end() {
            return Err(Malformed::Value);
        }
        Ok(values)
    }
}
