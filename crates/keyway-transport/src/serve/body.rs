//! The body of an answer: all of it at once, or piece by piece.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use hyper::body::{Body, Frame, SizeHint};

use super::timeout_stream::ActiveRequest;

/// What is still to be sent.
#[derive(Debug)]
pub(super) struct ResponseBody {
    content: Content,
    /// Ends the request when the body has been sent.
    _busy: ActiveRequest,
}

/// What an answer carries.
pub(super) enum Content {
    Whole(Bytes),
    Pieces(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Whole(_) => "Whole(..)",
            Self::Pieces(_) => "Pieces(..)",
        })
    }
}

impl ResponseBody {
    pub(super) const fn new(content: Content, busy: ActiveRequest) -> Self {
        Self {
            content,
            _busy: busy,
        }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.get_mut().content {
            Content::Whole(bytes) => {
                let bytes = std::mem::take(bytes);
                Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
            }
            Content::Pieces(pieces) => pieces
                .as_mut()
                .poll_next(context)
                .map(|piece| piece.map(|piece| Ok(Frame::data(piece)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.content, Content::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Content::Pieces(_) => SizeHint::default(),
        }
    }
}
