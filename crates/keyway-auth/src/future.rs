//! The type that asynchronous methods of traits return.

use std::pin::Pin;

/// A future that can be awaited from any thread.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
