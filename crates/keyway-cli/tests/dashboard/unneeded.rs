//! A server that takes requests without a credential: it needs no sign-in and is not reported
//! broken.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use keyway_testkit::{Answer, Folder, Upstream, mcp};
use serde_json::{Value, json};

use crate::house::{House, wait_for};

/// Starts a gateway over a server that answers without a credential, and knows nothing of OAuth.
fn house() -> House {
    let upstream = Upstream::start(|request| match request.path.as_str() {
        "/mcp" => mcp(request, |method, _| {
            let tool = json!({"name": "look", "inputSchema": {"type": "object"}});
            (method == "tools/list").then(|| json!({"tools": [tool]}))
        }),
        _ => Answer::empty(404),
    });
    let url = upstream.url("/mcp");
    let entry = format!(r#"{{"free": {{"type": "http", "url": "{url}"}}}}"#);
    House::over(Folder::new().file("p/.mcp.json", entry), &[], &[])
}

#[test]
fn login_says_that_no_sign_in_is_needed_and_succeeds() {
    let house = house();
    let words = ["login", "free", "--no-browser", "--config", "p"];
    let told = house.keyway(&words);
    assert_eq!(told.code, 0, "{}", told.everything());
    assert_eq!(
        told.stdout,
        "`free` needs no sign-in: it answers without a credential and offers no sign-in.\n"
    );
    // There is nothing to rotate either.
    let rotated = house.keyway(&["rotate", "free", "--no-browser", "--config", "p"]);
    assert_eq!(rotated.code, 0, "{}", rotated.everything());
    assert_eq!(rotated.stdout, told.stdout);
    let told = house.keyway(&[&words[..], &["--format", "json"]].concat());
    assert_eq!(told.code, 0, "{}", told.everything());
    let told: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(told.get("signed_in"), Some(&json!(false)));
}

#[test]
fn the_dashboard_says_so_and_offers_no_button_and_an_old_button_breaks_nothing() {
    let house = house();
    let pass = house.enter(&house.open());
    let look = || house.get("/s/p/free", &pass);
    let page = wait_for("a connection", || {
        let page = look();
        page.contains("Connected").then_some(page)
    });
    let button = "/s/p/free/sign-in";
    assert!(page.contains("needs no sign-in"), "{page}");
    assert!(!page.contains(button), "{page}");
    assert!(!house.get("/", &pass).contains(button));
    // A page that was loaded before that was known still has it.
    let body = format!("_mark={}", house.mark(&pass));
    let answer = house.post(button, &pass, &body);
    assert!(answer.starts_with("HTTP/1.1 303 "), "{answer}");
    let page = look();
    assert!(page.contains("It needs no sign-in"), "{page}");
    let page = wait_for("a connection", || {
        let page = look();
        page.contains("Connected").then_some(page)
    });
    assert!(!page.contains("What is wrong"), "{page}");
}

#[test]
fn a_call_on_the_dashboard_is_in_its_activity() {
    let house = house();
    let pass = house.enter(&house.open());
    wait_for("a tool", || {
        let page = house.get("/s/p/free", &pass);
        page.contains("look").then_some(page)
    });
    assert!(!house.get("/", &pass).contains("tools/call"));
    let body = format!("_mark={}", house.mark(&pass));
    let answer = house.post("/s/p/free/tool/look", &pass, &body);
    assert!(answer.starts_with("HTTP/1.1 303 "), "{answer}");
    for page in ["/", "/s/p/free"] {
        let page = house.get(page, &pass);
        assert!(page.contains("tools/call <code>look</code>"), "{page}");
        assert!(page.contains(">dashboard<"), "{page}");
    }
}

/// A server that speaks HTTP+SSE as the first SDKs do, and answers nothing but `GET` at its address.
fn sse_server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let stream: Arc<Mutex<Option<TcpStream>>> = Arc::default();
    thread::spawn(move || {
        for connection in listener.incoming().map_while(Result::ok) {
            let stream = Arc::clone(&stream);
            thread::spawn(move || serve(connection, &stream));
        }
    });
    port
}

fn serve(connection: TcpStream, stream: &Mutex<Option<TcpStream>>) {
    let mut reader = BufReader::new(connection.try_clone().unwrap());
    let mut connection = connection;
    let (mut first, mut length) = (String::new(), 0);
    if reader.read_line(&mut first).is_err() {
        return;
    }
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or_default() <= 2 {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let closed = "content-length: 0\r\nconnection: close\r\n\r\n";
    if first.starts_with("GET /sse ") {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
        let endpoint = "event: endpoint\ndata: /messages\n\n";
        connection
            .write_all(format!("{head}{endpoint}").as_bytes())
            .unwrap();
        *stream.lock().unwrap() = Some(connection);
    } else if first.starts_with("POST /messages ") {
        let message: Value = serde_json::from_slice(&body).unwrap();
        let result = match message
            .get("method")
            .and_then(Value::as_str)
            .unwrap_or_default()
        {
            "initialize" => json!({"protocolVersion": "2024-11-05", "capabilities": {"tools": {}},
                "serverInfo": {"name": "s", "version": "1"}}),
            "tools/list" => json!({"tools": []}),
            _ => json!({}),
        };
        if let Some(id) = message.get("id") {
            let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
            let mut stream = stream.lock().unwrap();
            let event = format!("event: message\ndata: {answer}\n\n");
            drop(stream.as_mut().map(|it| it.write_all(event.as_bytes())));
        }
        drop(write!(connection, "HTTP/1.1 202 Accepted\r\n{closed}"));
    } else {
        drop(write!(connection, "HTTP/1.1 404 Not Found\r\n{closed}"));
    }
}

#[test]
fn an_open_server_over_sse_needs_no_sign_in_either() {
    let port = sse_server();
    let entry = format!(r#"{{"old": {{"type": "sse", "url": "http://127.0.0.1:{port}/sse"}}}}"#);
    let house = House::over(Folder::new().file("p/.mcp.json", entry), &[], &[]);
    let told = house.keyway(&["login", "old", "--no-browser", "--config", "p"]);
    assert_eq!(told.code, 0, "{}", told.everything());
    assert!(
        told.stdout.contains("needs no sign-in"),
        "{}",
        told.everything()
    );
    let pass = house.enter(&house.open());
    let page = wait_for("a connection", || {
        let page = house.get("/s/p/old", &pass);
        page.contains("Connected").then_some(page)
    });
    assert!(page.contains("needs no sign-in"), "{page}");
    assert!(page.contains("no auth"), "{page}");
    assert!(!page.contains("/s/p/old/sign-in"), "{page}");
}
