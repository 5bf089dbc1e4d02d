//! A client that sends exactly what it is told.

use keyway_testkit::PATIENCE;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// One request on a connection of its own.
pub(super) struct Client {
    stream: TcpStream,
    host: String,
    headers: String,
}

/// What came back.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

impl Client {
    pub(super) async fn connect(port: u16) -> Self {
        Self {
            stream: TcpStream::connect(("127.0.0.1", port)).await.unwrap(),
            host: format!("127.0.0.1:{port}"),
            headers: String::new(),
        }
    }

    pub(super) fn host(mut self, host: &str) -> Self {
        self.host = host.to_owned();
        self
    }

    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push_str(&format!("{name}: {value}\r\n"));
        self
    }

    pub(super) fn token(self, token: &str) -> Self {
        self.with("Authorization", &format!("Bearer {token}"))
    }

    /// Sends a message and reads the whole answer.
    pub(super) async fn post(self, path: &str, body: &str) -> Answer {
        let client = self.with("Content-Type", "application/json");
        let client = client.with("Accept", "application/json, text/event-stream");
        client.send("POST", path, body).await
    }

    /// Sends a message and leaves.
    pub(super) async fn begin(self, path: &str, body: &str) -> TcpStream {
        let mut client = self.with("Content-Type", "application/json");
        client.write("POST", path, body).await;
        client.stream
    }

    pub(super) async fn send(mut self, method: &str, path: &str, body: &str) -> Answer {
        self.headers.push_str("Connection: close\r\n");
        self.write(method, path, body).await;
        let mut bytes = Vec::new();
        let read = self.stream.read_to_end(&mut bytes);
        timeout(PATIENCE, read).await.expect("an answer").unwrap();
        Answer::read(&String::from_utf8(bytes).unwrap())
    }

    /// Opens the stream for what belongs to no request.
    pub(super) async fn listen(self, path: &str) -> Self {
        let mut client = self.with("Accept", "text/event-stream");
        client.write("GET", path, "").await;
        client
    }

    /// Opens the stream, and returns what it brings first.
    pub(super) async fn first_event(self, path: &str) -> String {
        let mut client = self.listen(path).await;
        let mut text = String::new();
        let mut piece = [0; 1024];
        loop {
            let read = timeout(PATIENCE, client.stream.read(&mut piece)).await;
            let read = read.expect("an event").unwrap();
            assert!(read > 0, "{text}");
            text.push_str(std::str::from_utf8(&piece[..read]).unwrap());
            let data = text.lines().find_map(|line| line.strip_prefix("data: "));
            if let Some(data) = data.filter(|_| text.contains("data: ") && text.ends_with("\r\n")) {
                return data.to_owned();
            }
        }
    }

    /// Sends a message and reads its answer up to a line that contains `end`.
    pub(super) async fn post_until(mut self, path: &str, body: &str, end: &str) -> String {
        self = self.with("Content-Type", "application/json");
        self.write("POST", path, body).await;
        self.read_until(end).await
    }

    /// Reads what comes up to a line that contains `end`.
    pub(super) async fn read_until(&mut self, end: &str) -> String {
        let mut text = String::new();
        let mut piece = [0; 1024];
        while !text.contains(end) {
            let read = timeout(PATIENCE, self.stream.read(&mut piece)).await;
            let read = read.expect(end).unwrap();
            assert!(read > 0, "{end}: {text}");
            text.push_str(&String::from_utf8_lossy(&piece[..read]));
        }
        text
    }

    /// Reads until the other side ends the connection or the stream.
    pub(super) async fn read_to_end(&mut self) {
        let mut text = String::new();
        let mut piece = [0; 1024];
        while !text.ends_with("0\r\n\r\n") {
            let read = timeout(PATIENCE, self.stream.read(&mut piece)).await;
            let read = read.expect("the end").unwrap();
            if read == 0 {
                return;
            }
            text.push_str(std::str::from_utf8(&piece[..read]).unwrap());
        }
    }

    /// Sends these bytes.
    pub(super) async fn write_raw(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }

    /// Reads until the other side closes the connection.
    pub(super) async fn read_all(&mut self) -> String {
        let mut bytes = Vec::new();
        let read = self.stream.read_to_end(&mut bytes);
        timeout(PATIENCE, read).await.expect("the end").unwrap();
        String::from_utf8(bytes).unwrap()
    }

    async fn write(&mut self, method: &str, path: &str, body: &str) {
        let (host, headers, length) = (&self.host, &self.headers, body.len());
        let text = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
        );
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }
}

impl Answer {
    fn read(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").expect(text);
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self {
            status,
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    pub(super) fn header(&self, name: &str) -> Option<String> {
        let mut lines = self.head.lines();
        lines.find_map(|line| {
            let (own, value) = line.split_once(':')?;
            own.eq_ignore_ascii_case(name)
                .then(|| value.trim().to_owned())
        })
    }

    /// Returns the data of the events.
    pub(super) fn events(&self) -> Vec<String> {
        let lines = self.body.lines();
        let data = lines.filter_map(|line| line.strip_prefix("data: "));
        data.map(str::to_owned).collect()
    }
}
