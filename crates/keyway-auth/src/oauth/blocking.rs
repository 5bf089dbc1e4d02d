//! Work that waits for a disk, awaited from a task.

use std::sync::Arc;

use async_lock::OnceCell;

use crate::ports::Tasks;

/// Runs work on threads that may wait for a disk.
#[derive(Debug, Clone)]
pub(super) struct BlockingTasks(Arc<dyn Tasks>);

impl BlockingTasks {
    pub(super) const fn new(tasks: Arc<dyn Tasks>) -> Self {
        Self(tasks)
    }

    /// Runs `work` and returns its result.
    ///
    /// Cancel safety: `work` runs to its end once this was polled; a dropped future loses only the
    /// result.
    pub(super) async fn run<T: Clone + Send + Sync + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        let cell = Arc::new(OnceCell::new());
        let result = Arc::clone(&cell);
        self.0.block(Box::new(move || {
            drop(result.set_blocking(work()));
        }));
        cell.wait().await.clone()
    }
}
