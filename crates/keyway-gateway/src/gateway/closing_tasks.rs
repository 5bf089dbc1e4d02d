//! Closing in the background: a server that is slow to close delays no other.

use tokio::sync::watch;

/// How many closings are under way.
#[derive(Debug)]
pub(super) struct ClosingTasks(watch::Sender<usize>);

impl Default for ClosingTasks {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

impl ClosingTasks {
    /// Runs a closing in the background. Must be called inside a runtime.
    pub(super) fn spawn(&self, closing: impl Future<Output = ()> + Send + 'static) {
        let counted = Counted::new(self.0.clone());
        drop(tokio::spawn(async move {
            closing.await;
            drop(counted);
        }));
    }

    /// Waits until every closing has finished.
    pub(super) async fn wait(&self) {
        let mut count = self.0.subscribe();
        // The sender is ours: it cannot go away while we wait.
        drop(count.wait_for(|count| *count == 0).await);
    }
}

/// One closing under way; counted off even if its task panics.
struct Counted(watch::Sender<usize>);

impl Counted {
    fn new(count: watch::Sender<usize>) -> Self {
        count.send_modify(|count| *count = count.saturating_add(1));
        Self(count)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}
