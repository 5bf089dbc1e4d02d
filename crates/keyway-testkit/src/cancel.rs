//! Drops futures at every await point, to see what they leave behind.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

/// Polls `future` at most so many times, each time it is woken, and then drops it.
///
/// Returns its output, or `None` if it was dropped where it waited.
///
/// Cancel safety: dropping the future drops the one inside.
pub async fn poll_at_most<F: Future>(polls: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Runs `attempt` with 0, 1, 2, ... polls until its future completes, and returns how many times it
/// was dropped.
///
/// `attempt` gives its future to [`poll_at_most`], checks what is left, and says whether the future
/// was completed.
///
/// # Panics
///
/// Panics if the future is not completed after [`MAX_POLLS`] polls.
///
/// Cancel safety: dropping the future drops the attempt that is under way.
pub async fn drop_at_every_await(mut attempt: impl AsyncFnMut(usize) -> bool) -> usize {
    for polls in 0..MAX_POLLS {
        if attempt(polls).await {
            return polls;
        }
    }
    panic!("the future was not completed after {MAX_POLLS} polls");
}

/// More polls than any future takes that is tested this way.
pub const MAX_POLLS: usize = 10_000;

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Is pending once, and wakes its task.
    async fn pause() {
        let mut is_second = false;
        poll_fn(|context| {
            if std::mem::replace(&mut is_second, true) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    #[test]
    fn a_future_is_dropped_once_at_each_await() {
        let reached = Cell::new([0; 3]);
        let count = |step: usize| {
            let mut counts = reached.get();
            counts[step] += 1;
            reached.set(counts);
        };
        let dropped = drop_at_every_await(async |polls| {
            let future = async {
                count(0);
                pause().await;
                count(1);
                pause().await;
                count(2);
            };
            poll_at_most(polls, future).await.is_some()
        });
        let mut dropped = pin!(dropped);
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let dropped = loop {
            if let Poll::Ready(dropped) = dropped.as_mut().poll(&mut context) {
                break dropped;
            }
        };
        assert_eq!(dropped, 3);
        assert_eq!(reached.get(), [3, 2, 1]);
    }
}
