//! How a WebSocket ends: by codes, by faults, by silence, by us.

use std::time::Instant;

use keyway_code::Code;
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

use super::*;
use crate::testing::DEADLINE;

/// A server that waits for a message, says `messages`, and reports the close code it gets.
async fn saying(messages: Vec<Message>) -> (WsServer, UnboundedReceiver<Option<u16>>) {
    let (sender, codes) = unbounded_channel();
    let server = WsServer::start(move |mut socket| {
        let (sender, messages) = (sender.clone(), messages.clone());
        async move {
            socket.next().await.unwrap().unwrap();
            for message in messages {
                drop(socket.send(message).await);
            }
            drain(socket, &sender).await;
        }
    })
    .await;
    (server, codes)
}

async fn drain(mut socket: ServerSocket, codes: &UnboundedSender<Option<u16>>) {
    let mut code = None;
    while let Some(Ok(message)) = socket.next().await {
        if let Message::Close(Some(frame)) = message {
            code = Some(frame.code.into());
        }
    }
    codes.send(code).unwrap_or_default();
}

/// Sends a call to a server, expects it to fail, and returns the end.
async fn end_of(server: &WsServer) -> Option<TransportError> {
    let mut connection = server.connect().await;
    send(&connection, CALL).await;
    let error = next_error(&mut connection).await;
    assert!(matches!(error, TransportError::Closed), "{error}");
    let end = closed(&mut connection).await;
    let again = connection.link.send(Frame::new(CALL).unwrap()).await;
    assert!(matches!(again, Err(TransportError::Closed)));
    assert!(connection.events.try_recv().is_none());
    end
}

/// Neither reads nor writes.
async fn hold(_socket: ServerSocket) {
    std::future::pending::<()>().await;
}

fn close(code: u16) -> Message {
    Message::Close(Some(CloseFrame {
        code: code.into(),
        reason: "why".into(),
    }))
}

#[tokio::test]
async fn close_codes_of_the_server_are_told_apart() {
    let table = [
        (close(1000), None),
        (close(1001), None),
        (Message::Close(None), None),
        (close(1008), Some("protocol-error")),
        (close(1011), Some("connection-closed")),
        (close(4001), Some("protocol-error")),
    ];
    for (message, code) in table {
        let (server, _codes) = saying(vec![message.clone()]).await;
        let end = end_of(&server).await;
        assert_eq!(end.map(|error| error.code().as_str()), code, "{message:?}");
    }
}

#[tokio::test]
async fn invalid_message_closes_the_connection_with_its_close_code() {
    for (message, code) in [
        (Message::binary(CALL), 1003),
        (Message::text("no JSON"), 1007),
        (Message::text("[]"), 1007),
    ] {
        let (server, mut codes) = saying(vec![message.clone()]).await;
        let end = end_of(&server).await;
        assert_eq!(end.unwrap().code(), Code::ProtocolError, "{message:?}");
        assert_eq!(codes.recv().await.unwrap(), Some(code), "{message:?}");
    }
}

/// A server that answers the handshake and the first message with raw bytes, then hangs up.
async fn raw(bytes: &'static [u8]) -> WsServer {
    WsServer::start(move |mut socket| async move {
        socket.next().await.unwrap().unwrap();
        let mut stream = socket.into_inner();
        stream.write_all(bytes).await.unwrap();
        stream.flush().await.unwrap();
        // Long enough for a close frame to be written, if one is.
        tokio::time::sleep(Duration::from_millis(100)).await;
    })
    .await
}

#[tokio::test]
async fn c11_frames_that_are_cut_malformed_or_endless_end_every_request() {
    let table: [(&[u8], &str); 7] = [
        (b"", "connection-closed"),
        (b"\x81\x7e\x01\x00{\"id\":", "connection-closed"),
        // 64 MiB and one byte, promised by the head of a frame.
        (b"\x81\x7f\0\0\0\0\x04\0\0\x01{", "message-too-large"),
        // Compressed, masked, of no known kind, and not UTF-8.
        (b"\xc1\x02{}", "protocol-error"),
        (b"\x81\x82\x01\x02\x03\x04zz", "protocol-error"),
        (b"\x83\x00", "protocol-error"),
        (b"\x81\x02\xff\xff", "protocol-error"),
    ];
    for (bytes, code) in table {
        let server = raw(bytes).await;
        let error = end_of(&server).await.unwrap();
        assert_eq!(error.code().as_str(), code, "{bytes:?}: {error}");
    }
}

#[tokio::test]
async fn silent_server_is_closed_after_two_pings_and_an_active_one_is_not() {
    let ping_time = Duration::from_millis(250);
    let silent = WsServer::start(hold).await;
    let started = Instant::now();
    let mut connection = silent.connect_pinging(ping_time).await;
    let end = closed(&mut connection).await;
    assert!(matches!(end, Some(TransportError::Closed)));
    assert!(started.elapsed() >= ping_time * 3);

    let server = WsServer::start(echo).await;
    let mut connection = server.connect_pinging(ping_time).await;
    // What is tested is that a connection with pings outlasts this silence.
    tokio::time::sleep(ping_time * 6).await;
    send(&connection, CALL).await;
    assert!(next_text(&mut connection).await.contains("result"));
}

#[tokio::test]
async fn close_sends_a_close_frame_and_is_bounded() {
    let (server, mut codes) = saying(Vec::new()).await;
    let mut connection = server.connect().await;
    send(&connection, CALL).await;
    connection.link.close().await;
    next_error(&mut connection).await;
    assert!(closed(&mut connection).await.is_none());
    assert_eq!(codes.recv().await.unwrap(), Some(1000));

    let deaf = WsServer::start(hold).await;
    let mut connection = deaf.connect().await;
    let started = Instant::now();
    connection.link.close().await;
    assert!(started.elapsed() < DEADLINE);
    assert!(closed(&mut connection).await.is_none());
}

#[tokio::test]
async fn dropping_the_connection_closes_it() {
    let (server, mut codes) = saying(Vec::new()).await;
    let connection = server.connect().await;
    send(&connection, CALL).await;
    drop(connection);
    assert_eq!(codes.recv().await.unwrap(), Some(1000));
}

#[tokio::test]
async fn server_that_does_not_read_holds_senders_back_until_we_close() {
    let server = WsServer::start(hold).await;
    let connection = server.connect().await;
    let text = format!(r#"{{"method":"{}"}}"#, "x".repeat(1 << 20));
    let frame = Frame::new(text).unwrap();
    let mut sent = 0;
    while let Ok(left) = timeout(Duration::from_secs(3), connection.link.send(frame.clone())).await
    {
        left.unwrap();
        sent += 1;
    }
    assert!((SEND_QUEUE..SEND_QUEUE * 4).contains(&sent), "{sent}");
    let (held, ()) = tokio::join!(connection.link.send(frame), connection.link.close());
    assert!(matches!(held, Err(TransportError::Closed)));
}

#[tokio::test]
async fn an_answer_that_finds_no_room_before_the_end_is_a_failure() {
    // A large message waits until the queue of events is empty, and nothing reads that queue.
    let note = Message::text(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#);
    let padding = "x".repeat(200 * 1024);
    let answer = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"a":"{padding}"}}}}"#);
    let (server, mut codes) = saying(vec![note, Message::text(answer)]).await;
    let mut connection = server.connect().await;
    send(&connection, CALL).await;
    while connection.events.is_empty() {
        tokio::task::yield_now().await;
    }
    // Time for the answer to be read; whether it was makes no difference below.
    for _ in 0..10_000 {
        tokio::task::yield_now().await;
    }
    let link = Arc::clone(&connection.link);
    let closing = async { link.close().await };
    let reading = async {
        codes.recv().await;
        assert!(next_text(&mut connection).await.contains("notifications/x"));
        assert!(matches!(
            next_error(&mut connection).await,
            TransportError::Closed
        ));
        closed(&mut connection).await
    };
    let ((), end) = tokio::join!(closing, reading);
    assert!(end.is_none());
}
