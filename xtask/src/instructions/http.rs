//! As much of HTTP/1.1 as two programs on loopback need that are known to speak it well.

use std::io::{self, BufRead};

/// A request or a response.
#[derive(Debug)]
pub(super) struct Message {
    /// The request line or the status line.
    pub(super) first: String,
    /// With names in lower case.
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Message {
    /// Reads the next message; `None` where the peer closed the connection before one began.
    pub(super) fn read(from: &mut impl BufRead) -> io::Result<Option<Self>> {
        let mut first = String::new();
        if from.read_line(&mut first)? == 0 {
            return Ok(None);
        }
        let mut message = Self {
            first: first.trim_end().to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        };
        loop {
            let line = line(from)?;
            if line.is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':') {
                let name = name.to_ascii_lowercase();
                message.headers.push((name, value.trim().to_owned()));
            }
        }
        if message.header("transfer-encoding") == Some("chunked") {
            message.read_chunks(from)?;
        } else if let Some(length) = message.header("content-length") {
            let length = length.parse().map_err(io::Error::other)?;
            message.read_bytes(from, length)?;
        }
        Ok(Some(message))
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let header = self.headers.iter().find(|(found, _)| found == name);
        header.map(|(_, value)| value.as_str())
    }

    fn read_chunks(&mut self, from: &mut impl BufRead) -> io::Result<()> {
        loop {
            let length = usize::from_str_radix(&line(from)?, 16).map_err(io::Error::other)?;
            self.read_bytes(from, length)?;
            line(from)?;
            if length == 0 {
                return Ok(());
            }
        }
    }

    fn read_bytes(&mut self, from: &mut impl BufRead, length: usize) -> io::Result<()> {
        let mut bytes = vec![0; length];
        from.read_exact(&mut bytes)?;
        self.body.extend(bytes);
        Ok(())
    }
}

fn line(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    from.read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_end_where_their_length_or_their_last_chunk_says() {
        let mut text: &[u8] = b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc\
            HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n1\r\nf\r\n0\r\n\r\n\
            DELETE / HTTP/1.1\r\nA: b\r\n\r\n";
        for (first, body) in [
            ("POST / HTTP/1.1", "abc"),
            ("HTTP/1.1 200 OK", "def"),
            ("DELETE / HTTP/1.1", ""),
        ] {
            let message = Message::read(&mut text).unwrap().unwrap();
            assert_eq!(message.first, first);
            assert_eq!(message.body, body.as_bytes());
        }
        assert!(Message::read(&mut text).unwrap().is_none());
    }
}
