//! 401 and 403: the authorizer is asked, and the request sent again while it has an answer.

use keyway_auth::Fixed;
use keyway_code::Code;

use super::*;

#[tokio::test]
async fn refused_call_is_resent_with_the_new_credential() {
    for status in [401, 403] {
        let server = Server::start(move |seen| match seen.header("authorization") {
            Some("CANARY-0") => Reply::json(status, "{\"error\":\"invalid_token\"}"),
            _ => seen.ok(),
        })
        .await;
        let mut connection = server.connect_as(Arc::new(Renewing::default()));
        send(&connection, modern(1, "tools/call", "")).await;
        assert!(next_text(&mut connection).await.contains("result"));
        assert_eq!(server.journal().len(), 2);
        assert_eq!(
            server.journal()[1].header("authorization"),
            Some("CANARY-1")
        );
        assert_eq!(server.journal()[0].body, server.journal()[1].body);
        assert_eq!(server.connections(), 1, "the refusal costs no connection");
    }
}

#[tokio::test]
async fn final_refusal_carries_its_reason() {
    let server = Server::start(|_| {
        Reply::status(
            403,
            "WWW-Authenticate: Basic realm=\"a, b\"\r\nWWW-Authenticate: Bearer error=\"insufficient_scope\", scope=\"read write\"\r\n",
        )
    })
    .await;
    let authorizer = Arc::new(Renewing {
        stands_at: 2,
        ..Renewing::default()
    });
    let mut connection = server.connect_as(Arc::clone(&authorizer) as Arc<dyn Authorizer>);
    send(&connection, modern(1, "tools/list", "")).await;
    let error = next_error(&mut connection).await;
    let TransportError::Refused {
        status: 403,
        error,
        scope,
        ..
    } = error
    else {
        panic!("{error}");
    };
    assert_eq!(error.as_deref(), Some("insufficient_scope"));
    assert_eq!(scope.as_deref(), Some("read write"));
    assert_eq!(server.journal().len(), 2);
    assert_eq!(authorizer.runs.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn b10_request_is_sent_at_most_five_times_after_challenges() {
    for (accepted, answered) in [("CANARY-4", true), ("nothing", false)] {
        let server = Server::start(move |seen| match seen.header("authorization") {
            Some(value) if value == accepted => seen.ok(),
            _ => Reply::status(403, "WWW-Authenticate: Bearer scope=\"admin\"\r\n"),
        })
        .await;
        let authorizer = Arc::new(Renewing::default());
        let mut connection = server.connect_as(Arc::clone(&authorizer) as Arc<dyn Authorizer>);
        send(&connection, modern(1, "tools/call", "")).await;
        if answered {
            assert!(next_text(&mut connection).await.contains("result"));
        } else {
            let error = next_error(&mut connection).await;
            assert_eq!(error.code(), Code::InsufficientScope);
        }
        assert_eq!(server.journal().len(), 5);
        assert_eq!(*authorizer.heard.lock().unwrap(), [1, 2, 3, 4]);
        // The next request starts again.
        send(&connection, modern(2, "tools/call", "")).await;
        drop(next(&mut connection).await);
        assert_eq!(authorizer.heard.lock().unwrap()[4], 1);
    }
}

#[tokio::test]
async fn refused_static_header_sends_no_further_request() {
    let server = Server::start(|_| {
        Reply::status(
            401,
            "WWW-Authenticate: Bearer resource_metadata=\"/.well-known/x\"\r\n",
        )
    })
    .await;
    let mut connection = server.connect_as(Arc::new(Fixed::new(canary_header())));
    send(&connection, modern(1, "tools/list", "")).await;
    let error = next_error(&mut connection).await;
    assert_eq!(error.code(), Code::AuthRejected);
    // By the answer to another request, one that followed the first would have arrived.
    send(&connection, modern(2, "tools/list", "")).await;
    next_error(&mut connection).await;
    let ids: Vec<String> = server.journal().iter().map(Seen::id).collect();
    assert_eq!(ids, ["1", "2"]);
}

#[tokio::test]
async fn without_a_credential_nothing_is_sent() {
    let server = Server::start(|seen| seen.ok()).await;
    let authorizer = Renewing {
        fails: true,
        ..Renewing::default()
    };
    let mut connection = server.connect_as(Arc::new(authorizer));
    send(&connection, modern(1, "tools/list", "")).await;
    let error = next_error(&mut connection).await;
    assert_eq!(error.code(), Code::HelperEmpty);
    assert_eq!(server.connections(), 0);
}
