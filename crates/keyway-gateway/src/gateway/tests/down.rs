//! Servers that are down when a client comes.

use super::*;

/// A server that can be dialled and answers nothing.
#[derive(Debug)]
struct Down;

#[derive(Debug)]
struct DownLink(EventSender);

impl Link for DownLink {
    fn send(&self, frame: Frame) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move {
            if let Some(id) = frame.envelope()?.id() {
                let error = refused();
                drop(self.0.send(Event::Failed { id, error }).await);
            }
            Ok(())
        })
    }

    fn abandon(&self, _: &RequestId) {}

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

fn refused() -> TransportError {
    TransportError::Refused {
        status: 401,
        error: None,
        error_description: None,
        scope: None,
    }
}

impl Connector for Down {
    fn connect(&self) -> BoxFuture<'_, Result<Opened, ServerProblem>> {
        Box::pin(async { Err(ServerProblem::from(&refused())) })
    }
}

impl Upstream for Down {
    fn connect_as<'a>(&'a self, _: &'a AccountPin) -> BoxFuture<'a, Result<Opened, ServerProblem>> {
        self.connect()
    }

    fn open<'a>(&'a self, _: Option<&'a AccountPin>) -> BoxFuture<'a, Option<Connection>> {
        let (sender, events) = queue(16);
        Box::pin(async { Some(Connection::new(Arc::new(DownLink(sender)), events)) })
    }
}

#[tokio::test]
async fn server_that_refuses_its_credential_does_not_make_initialize_fail() {
    let running = Running::start(&[]);
    let (plugin, name) = ("a".to_owned(), "one".to_owned());
    let server = ServedServer::new(plugin, name, [7; 32], Arc::new(Down));
    running.gateway.replace(vec![server]);
    for path in ["/mcp/a/one", "/mcp"] {
        let session = running.session("all", path).await;
        let client = running.client().await.token("all");
        let client = client.with("Mcp-Session-Id", &session);
        let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
        let listed = client.post(path, list).await;
        assert_eq!(listed.status, 200, "{listed:?}");
        assert!(listed.body.contains("status\""), "{listed:?}");
        let client = running.client().await.token("all");
        let client = client.with("Mcp-Session-Id", &session);
        let call = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"status"}}"#;
        let told = client.post(path, call).await;
        assert!(told.body.contains("auth-rejected"), "{told:?}");
        assert!(told.body.contains("hint"), "{told:?}");
    }
}
