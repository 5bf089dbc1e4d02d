//! The stream by which a server says everything.

use bytes::Bytes;
use http::header::ACCEPT;
use http::{HeaderName, HeaderValue, Method};
use url::Url;

use crate::authorized_client::{AuthorizedClient, OutboundRequest};
use crate::error::TransportError;
use crate::event_stream::{EventStream, StreamEvent};
use crate::http_client::{Media, Response};

/// The stream of a server.
pub(super) struct Reader {
    response: Response,
    stream: EventStream,
}

impl Reader {
    /// Opens the stream; `is_first` for the one that opens the connection.
    pub(super) async fn open(
        server: &AuthorizedClient,
        is_first: bool,
    ) -> Result<Self, TransportError> {
        let call = OutboundRequest {
            method: Method::GET,
            url: server.url(),
            headers: &[(ACCEPT, EVENTS), (CACHE_CONTROL, NO_STORE)],
            body: Bytes::new(),
            is_idempotent: true,
            is_opening: is_first,
        };
        let response = server.call(&call).await?;
        if !(200..300).contains(&response.status()) {
            return Err(response.status_error());
        }
        if response.media() != Media::EventStream {
            return Err(TransportError::Protocol {
                what: "the response is not an event stream",
            });
        }
        let stream = EventStream::new();
        Ok(Self { response, stream })
    }

    /// Waits for the address to post to, which the server has to name first.
    pub(super) async fn endpoint(&mut self, base: &Url) -> Result<Url, TransportError> {
        let event = self.next().await?;
        if event.name.as_deref() != Some(b"endpoint") {
            return Err(TransportError::Protocol {
                what: "the stream does not start with an `endpoint` event",
            });
        }
        let text = std::str::from_utf8(&event.data).ok();
        let endpoint = text.and_then(|text| base.join(text.trim()).ok());
        endpoint
            .filter(|url| url.origin() == base.origin() && url.username().is_empty())
            .ok_or(TransportError::Protocol {
                what: "the `endpoint` event names another origin",
            })
    }

    pub(super) async fn next(&mut self) -> Result<StreamEvent, TransportError> {
        loop {
            if let Some(event) = self.stream.next_event()? {
                return Ok(event);
            }
            let piece = self.response.chunk().await?;
            let piece = piece.ok_or(TransportError::Closed)?;
            self.stream.feed(piece).await?;
        }
    }
}

const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const CACHE_CONTROL: HeaderName = http::header::CACHE_CONTROL;
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
