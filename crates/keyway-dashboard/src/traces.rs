//! One span for each request through the gateway, sent to a collector of OpenTelemetry.
//!
//! OTLP over HTTP as JSON, which every collector takes at the same address as the binary form. A
//! span says which client asked what of which server, how long it took and how it ended: names
//! only, never an argument, a result, an address or a credential. A collector that is slow or gone
//! costs the requests nothing: spans wait in a bounded queue, and what does not fit is dropped and
//! counted.

mod encode;
mod settings;

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use http::HeaderValue;
use http::header::CONTENT_TYPE;
use keyway_auth::ports::{HttpClient, HttpRequest};
use keyway_secret::Secret;
use keyway_transport::{HttpClient as Connections, OAuthHttp, TransportError};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use self::encode::Batch;
pub use self::settings::{TraceSettings, TraceSettingsError};
use crate::activity::{ActivityEntry, ActivitySink};
use crate::timeouts::EXPORT_RETRY_PAUSE;

/// Takes what was asked, as it ends.
#[derive(Debug, Clone)]
pub struct Tracer {
    out: mpsc::Sender<Arc<ActivityEntry>>,
    /// How many spans did not fit. `Relaxed`: a number to report, which guards no other data.
    lost: Arc<AtomicU64>,
}

/// Sends spans until it is told to end.
#[derive(Debug)]
pub struct Export {
    entries: mpsc::Receiver<Arc<ActivityEntry>>,
    /// That of the [`Tracer`]. `Relaxed`, as there.
    lost: Arc<AtomicU64>,
    settings: TraceSettings,
}

/// Makes the two ends of the queue.
#[must_use]
pub fn traces(settings: TraceSettings) -> (Tracer, Export) {
    let (out, entries) = mpsc::channel(QUEUE);
    let lost = Arc::<AtomicU64>::default();
    let tracer = Tracer {
        out,
        lost: Arc::clone(&lost),
    };
    let export = Export {
        entries,
        lost,
        settings,
    };
    (tracer, export)
}

impl ActivitySink for Tracer {
    /// Queues a span; one that does not fit is dropped and counted.
    fn record(&self, entry: &Arc<ActivityEntry>) {
        if self.out.try_send(Arc::clone(entry)).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Export {
    /// Returns the client that reaches the collector, wherever the person says it is.
    ///
    /// # Errors
    ///
    /// Returns why no client can be made.
    pub fn client(&self, http: &Connections) -> Result<Arc<dyn HttpClient>, TransportError> {
        let client = OAuthHttp::dangerous_private(http, &self.settings.endpoint)?;
        Ok(Arc::new(client))
    }

    /// Sends what comes in batches, and what is left once `stop` ends.
    ///
    /// Cancel safety: spans that wait, and a batch that is being sent, are lost.
    pub async fn run(mut self, http: Arc<dyn HttpClient>, stop: impl Future<Output = ()>) {
        let mut stop = pin!(stop);
        let mut entries = Vec::new();
        loop {
            // Not biased: spans that were collected are in `entries`, which outlives the future,
            // and those that come after `stop` are taken out below.
            let is_last = tokio::select! {
                () = self.collect(&mut entries) => false,
                () = &mut stop => true,
            };
            if is_last {
                while let Ok(entry) = self.entries.try_recv() {
                    entries.push(entry);
                }
            }
            let body = Batch::new(&self.settings, &entries).json();
            entries.clear();
            if let Some(body) = body {
                self.send(http.as_ref(), body).await;
            }
            if is_last {
                return;
            }
        }
    }

    /// Waits for a first span, and then for more until there are enough or it has been long enough.
    async fn collect(&mut self, entries: &mut Vec<Arc<ActivityEntry>>) {
        let Some(first) = self.entries.recv().await else {
            return std::future::pending().await;
        };
        entries.push(first);
        let fill = async {
            while entries.len() < BATCH {
                match self.entries.recv().await {
                    Some(entry) => entries.push(entry),
                    None => return,
                }
            }
        };
        drop(timeout(self.settings.delay, fill).await);
    }

    async fn send(&self, http: &dyn HttpClient, body: Vec<u8>) {
        let mut pause = EXPORT_RETRY_PAUSE;
        for _ in 0..TRIES {
            let mut request =
                HttpRequest::post(self.settings.endpoint.clone(), Secret::new(body.clone()));
            for (name, value) in &self.settings.headers {
                let Ok(mut value) = HeaderValue::from_str(value.expose()) else {
                    continue;
                };
                value.set_sensitive(true);
                request.headers.insert(name, value);
            }
            let json = HeaderValue::from_static("application/json");
            request.headers.insert(CONTENT_TYPE, json);
            let is_worth_another = match http.send(request).await {
                Ok(answer) => matches!(answer.status, 429 | 502 | 503 | 504),
                Err(_) => true,
            };
            if !is_worth_another {
                return;
            }
            sleep(pause).await;
            pause = pause.saturating_mul(2);
        }
        self.lost.fetch_add(1, Ordering::Relaxed);
    }
}

const QUEUE: usize = 2048;
/// How many spans one request holds at most.
const BATCH: usize = 512;
const TRIES: u32 = 3;

#[cfg(test)]
mod tests;
