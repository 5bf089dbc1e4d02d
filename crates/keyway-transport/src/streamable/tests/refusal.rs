//! 401 and 403: the authorizer is asked once, and the request sent once more.

use std::sync::atomic::AtomicU64;

use keyway_auth::{AuthError, Challenge, Credential, Fixed, HelperFault, Verdict};

use super::*;

/// Counts how often it is asked; each credential carries its number.
#[derive(Debug, Default)]
struct Renewing {
    runs: AtomicU64,
    fails: bool,
}

impl Renewing {
    fn credential(generation: u64) -> Arc<Credential> {
        let value = http::HeaderValue::from_str(&format!("CANARY-{generation}")).unwrap();
        let headers = vec![(http::header::AUTHORIZATION, value)];
        Arc::new(Credential::new(headers, generation))
    }

    fn next(&self) -> Result<Arc<Credential>, AuthError> {
        let generation = self.runs.fetch_add(1, Ordering::SeqCst);
        if self.fails {
            let fault = HelperFault::Empty;
            return Err(AuthError::Helper { fault });
        }
        Ok(Self::credential(generation))
    }
}

impl Authorizer for Renewing {
    fn at_hand(&self) -> Option<Arc<Credential>> {
        None
    }

    fn obtain(&self) -> BoxFuture<'_, Result<Arc<Credential>, AuthError>> {
        Box::pin(async { self.next() })
    }

    fn challenged<'a>(
        &'a self,
        _used: &'a Credential,
        challenge: Challenge,
    ) -> BoxFuture<'a, Result<Verdict, AuthError>> {
        assert!(matches!(challenge.status, 401 | 403));
        Box::pin(async { self.next().map(Verdict::Retry) })
    }
}

#[tokio::test]
async fn refused_call_is_sent_once_more_with_the_new_credential() {
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
async fn second_refusal_stands_with_its_reason() {
    let server = Server::start(|_| {
        Reply::status(
            403,
            "WWW-Authenticate: Basic realm=\"a, b\"\r\nWWW-Authenticate: Bearer error=\"insufficient_scope\", scope=\"read write\"\r\n",
        )
    })
    .await;
    let authorizer = Arc::new(Renewing::default());
    let mut connection = server.connect_as(Arc::clone(&authorizer) as Arc<dyn Authorizer>);
    send(&connection, modern(1, "tools/list", "")).await;
    let error = next_error(&mut connection).await;
    let TransportError::Refused {
        status: 403,
        error,
        scope,
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
async fn refused_static_header_makes_no_further_request() {
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
    assert_eq!(error.code(), "auth-rejected");
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(server.journal().len(), 1);
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
    assert_eq!(error.code(), "helper-empty");
    assert_eq!(server.connections(), 0);
}
