//! Answers, false answers and floods, over real sockets on loopback.

mod listening;
mod pasted;

use tokio::io::AsyncWriteExt;
use tokio::task::JoinHandle;

use super::*;
use crate::testing::DEADLINE;

const STATE: &str = "STATE-0123456789abcdef0123456789abcdef0123456789";

fn state() -> Secret<String> {
    Secret::new(STATE.to_owned())
}

/// A listener that waits.
struct Waiting {
    port: u16,
    uri: String,
    task: JoinHandle<Result<Callback, InteractionError>>,
}

impl Waiting {
    fn start() -> Self {
        Self::with(&Redirect::default())
    }

    fn with(redirect: &Redirect) -> Self {
        let listener = CallbackListener::bind(redirect).unwrap();
        let uri = listener.redirect_uri().to_owned();
        let port = listener.place.port;
        let task = tokio::spawn(async move {
            let state = state();
            listener.wait(&state, DEADLINE).await
        });
        Self { port, uri, task }
    }

    /// Asks as a browser does.
    async fn get(&self, target: &str) -> String {
        let host = format!("Host: localhost:{}\r\n", self.port);
        self.ask("GET", target, &host).await
    }

    async fn ask(&self, method: &str, target: &str, headers: &str) -> String {
        talk(
            self.port,
            &format!("{method} {target} HTTP/1.1\r\n{headers}\r\n"),
        )
        .await
    }

    async fn is_waiting(&self) -> bool {
        // Time to end, which it may not.
        tokio::time::sleep(Duration::from_millis(20)).await;
        !self.task.is_finished()
    }

    async fn answer(self) -> Callback {
        let answer = timeout(DEADLINE, self.task).await;
        answer.expect("in time").unwrap().unwrap()
    }
}

/// Says something and reads one answer, then closes first, as browsers do.
async fn talk(port: u16, text: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut heard = Vec::new();
    loop {
        let so_far = String::from_utf8_lossy(&heard).into_owned();
        if let Some((head, body)) = so_far.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let length = head.split("content-length: ").nth(1);
            let length = length.and_then(|rest| rest.lines().next()?.parse().ok());
            if body.len() >= length.unwrap_or(0) || text.starts_with("HEAD") {
                return so_far;
            }
        }
        // What is refused unread may end in a reset.
        if !matches!(stream.read_buf(&mut heard).await, Ok(1..)) {
            return so_far;
        }
    }
}

fn good() -> String {
    format!("/callback?code=CANARY-code&state={STATE}&iss=https%3A%2F%2Fas.example")
}

#[tokio::test]
async fn redirect_is_received_and_a_page_shown() {
    let waiting = Waiting::start();
    let expected = format!("http://localhost:{}/callback", waiting.port);
    assert_eq!(waiting.uri, expected);
    let page = waiting.get(&good()).await;
    assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
    assert!(page.contains("You are signed in"), "{page}");
    let callback = waiting.answer().await;
    assert_eq!(callback.code.as_ref().unwrap().expose(), "CANARY-code");
    assert_eq!(callback.iss.as_deref(), Some("https://as.example"));
    assert_eq!(
        (&callback.error, &callback.error_description),
        (&None, &None)
    );
    assert!(!format!("{callback:?}").contains("CANARY"));
}

#[tokio::test]
async fn b4_hundred_forged_redirects_change_nothing() {
    let waiting = Waiting::start();
    let bogus = [
        "/callback".to_owned(),
        "/callback?code=x".to_owned(),
        "/callback?code=x&state=".to_owned(),
        "/callback?code=x&state=wrong".to_owned(),
        format!("/callback?code=x&state={STATE}x"),
        format!("/callback?code=x&state={}", &STATE[1..]),
        format!("/callback?code=x&state={}", STATE.to_ascii_lowercase()),
        format!("/callback?state={STATE}"),
        format!("/callback?code=&state={STATE}"),
        format!("/callback?code=a%00b&state={STATE}"),
        "/callback?error=access_denied".to_owned(),
        "/callback?error=access_denied&state=wrong".to_owned(),
        "/callback?error=access_denied&error_description=x&state=".to_owned(),
    ];
    for target in bogus.iter().cycle().take(100) {
        let page = waiting.get(target).await;
        assert!(page.starts_with("HTTP/1.1 400 "), "{target}: {page}");
    }
    assert!(waiting.is_waiting().await);
    waiting.get(&good()).await;
    assert!(waiting.answer().await.code.is_some());
}

#[tokio::test]
async fn b4_repeated_parameter_is_refused() {
    let waiting = Waiting::start();
    for twice in [
        "code=other",
        "%63ode=other",
        "code=",
        "state=other",
        &format!("state={STATE}"),
        "iss=https://other.example",
        "error=a&error=b",
        "error_description=a&error_description=b",
    ] {
        for target in [
            format!("{}&{twice}", good()),
            good().replace('?', &format!("?{twice}&")),
        ] {
            let page = waiting.get(&target).await;
            assert!(page.starts_with("HTTP/1.1 400 "), "{target}: {page}");
        }
    }
    assert!(waiting.is_waiting().await);
    waiting.get(&good()).await;
    assert!(waiting.answer().await.code.is_some());
}

#[tokio::test]
async fn b4_refusal_counts_with_the_right_state() {
    let waiting = Waiting::start();
    let target =
        format!("/callback?error=access_denied&error_description=no&state={STATE}&code=CANARY");
    let page = waiting.get(&target).await;
    assert!(page.contains("Sign-in was refused"), "{page}");
    let callback = waiting.answer().await;
    assert_eq!(callback.error.as_deref(), Some("access_denied"));
    assert_eq!(callback.error_description.as_deref(), Some("no"));
    assert!(callback.code.is_none(), "a refusal stands");
}

#[tokio::test]
async fn b6_request_with_foreign_host_or_origin_is_forbidden() {
    let waiting = Waiting::start();
    let port = waiting.port;
    let other = port.wrapping_add(1);
    let ours = format!("Host: localhost:{port}\r\n");
    for headers in [
        String::new(),
        "Host: evil.test\r\n".to_owned(),
        format!("Host: evil.test:{port}\r\n"),
        format!("Host: localhost.evil.test:{port}\r\n"),
        format!("Host: localhost:{other}\r\n"),
        "Host: localhost\r\n".to_owned(),
        format!("{ours}Host: evil.test\r\n"),
        format!("{ours}Origin: https://evil.test\r\n"),
        format!("{ours}Origin: null\r\n"),
        format!("{ours}Origin: \r\n"),
        format!("{ours}Origin: https://localhost:{port}\r\n"),
        format!("{ours}Origin: http://localhost:{other}\r\n"),
        format!("{ours}Origin: http://localhost:{port}\r\nOrigin: http://localhost:{port}\r\n"),
    ] {
        let page = waiting.ask("GET", &good(), &headers).await;
        assert!(page.starts_with("HTTP/1.1 403 "), "{headers}: {page}");
    }
    let absolute = format!("http://evil.test{}", good());
    let page = waiting.ask("GET", &absolute, &ours).await;
    assert!(page.starts_with("HTTP/1.1 403 "), "{page}");
    assert!(waiting.is_waiting().await);
    drop(waiting);
    for host in ["127.0.0.1", "[::1]", "LOCALHOST"] {
        let waiting = Waiting::start();
        let host = format!("{host}:{}", waiting.port);
        let headers = format!("Host: {host}\r\nOrigin: http://{host}\r\n");
        let page = waiting.ask("GET", &good(), &headers).await;
        assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
        assert!(waiting.answer().await.code.is_some());
    }
}

#[tokio::test]
async fn b6_only_get_of_the_callback_path_is_accepted() {
    let waiting = Waiting::start();
    let host = format!("Host: localhost:{}\r\n", waiting.port);
    for method in ["POST", "HEAD", "PUT", "OPTIONS", "DELETE"] {
        let headers = format!("{host}Content-Length: 0\r\n");
        let page = waiting.ask(method, &good(), &headers).await;
        assert!(page.starts_with("HTTP/1.1 405 "), "{method}: {page}");
        assert!(!page.to_ascii_lowercase().contains("access-control"));
    }
    for path in [
        "/",
        "/favicon.ico",
        "/callback/",
        "/Callback",
        "/callback%2f",
        "//callback",
    ] {
        let page = waiting.get(&good().replace("/callback", path)).await;
        assert!(page.starts_with("HTTP/1.1 404 "), "{path}: {page}");
    }
    assert!(waiting.is_waiting().await);
}

#[tokio::test]
async fn b7_pages_echo_nothing_and_forbid_everything() {
    let waiting = Waiting::start();
    let script = "%3Cscript%3ECANARY%3C/script%3E";
    for target in [
        format!("/callback?error={script}&error_description={script}&state={script}"),
        format!("/{script}?code={script}"),
        format!("/callback?error={script}&error_description={script}&state={STATE}"),
    ] {
        let page = waiting.get(&target).await;
        for part in ["CANARY", "script", STATE] {
            assert!(!page.contains(part), "{part}: {page}");
        }
        let head = page.split("\r\n\r\n").next().unwrap().to_ascii_lowercase();
        for line in [
            "content-security-policy: default-src 'none'; style-src 'sha256-",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cache-control: no-store",
            "connection: close",
            "content-type: text/html; charset=utf-8",
        ] {
            assert!(head.contains(line), "{line}: {head}");
        }
    }
    assert!(waiting.answer().await.error.unwrap().contains("<script>"));
}
