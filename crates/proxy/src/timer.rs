//! Deadlines by the thousand: a coarse wheel per worker, in which moving a deadline later costs one store.
//!
//! A connection has one [`Timer`] for its whole life. The wheel holds it under some instant that is not later than
//! its deadline, looks at it then, and puts it further if the deadline has moved on. So a request that sets and
//! clears its timeouts touches the wheel only when it asks for an earlier instant than the wheel would look at.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// Ticks are this long: deadlines are met up to one tick late, never early.
const TICK: Duration = Duration::from_millis(5);

/// The wheel looks at an entry after this many ticks at the latest, a minute, so that one whose timer has gone does
/// not stay in it until a deadline that may be far off.
const HORIZON: u64 = 12_000;

/// No deadline.
const NEVER: u64 = u64::MAX;

/// The wheel of one worker.
pub(crate) struct Wheel {
    start: Instant,
    buckets: RefCell<BTreeMap<u64, Vec<Rc<Entry>>>>,
    /// Told when the earliest bucket changed.
    changed: Notify,
}

/// A deadline of one task.
pub(crate) struct Timer {
    wheel: Rc<Wheel>,
    entry: Rc<Entry>,
}

struct Entry {
    deadline: Cell<u64>,
    /// The earliest tick at which the wheel looks at this entry; [`NEVER`] when it does not hold it.
    looked_at: Cell<u64>,
    waker: RefCell<Option<Waker>>,
}

impl Wheel {
    pub(crate) fn new() -> Rc<Wheel> {
        Rc::new(Wheel {
            start: Instant::now(),
            buckets: RefCell::new(BTreeMap::new()),
            changed: Notify::new(),
        })
    }

    /// A timer without a deadline.
    pub(crate) fn timer(self: &Rc<Wheel>) -> Timer {
        let entry =
            Entry { deadline: Cell::new(NEVER), looked_at: Cell::new(NEVER), waker: RefCell::new(None) };
        Timer { wheel: Rc::clone(self), entry: Rc::new(entry) }
    }

    /// Ends deadlines as they come; runs as long as the worker.
    pub(crate) async fn run(self: Rc<Wheel>) {
        loop {
            let first = self.buckets.borrow().first_key_value().map(|(tick, _)| *tick);
            match first {
                None => self.changed.notified().await,
                Some(tick) => {
                    let at = self.start + TICK * u32::try_from(tick).unwrap_or(u32::MAX);
                    tokio::select! {
                        () = tokio::time::sleep_until(at.into()) => self.turn(),
                        () = self.changed.notified() => {}
                    }
                }
            }
        }
    }

    /// Wakes every task with a deadline, to look at something else that has changed.
    pub(crate) fn wake_all(&self) {
        for entry in self.buckets.borrow().values().flatten() {
            entry.wake();
        }
    }

    /// The tick that has begun at this instant.
    fn tick(&self, now: Instant) -> u64 {
        let elapsed = now.saturating_duration_since(self.start);
        u64::try_from(elapsed.as_nanos() / TICK.as_nanos()).unwrap_or(NEVER - 1)
    }

    fn turn(&self) {
        let now = self.tick(Instant::now());
        loop {
            let mut buckets = self.buckets.borrow_mut();
            let Some(bucket) = buckets.first_entry().filter(|bucket| *bucket.key() <= now) else { return };
            let (tick, entries) = bucket.remove_entry();
            drop(buckets);
            for entry in entries {
                self.look(&entry, tick, now);
            }
        }
    }

    fn look(&self, entry: &Rc<Entry>, tick: u64, now: u64) {
        if entry.looked_at.get() != tick {
            return; // an earlier look took its place
        }
        entry.looked_at.set(NEVER);
        let deadline = entry.deadline.get();
        if deadline <= now {
            entry.wake();
        } else if deadline != NEVER {
            self.hold(entry, deadline);
        }
    }

    fn hold(&self, entry: &Rc<Entry>, deadline: u64) {
        let tick = deadline.min(self.tick(Instant::now()).saturating_add(HORIZON));
        entry.looked_at.set(tick);
        let mut buckets = self.buckets.borrow_mut();
        let earliest = buckets.first_key_value().is_none_or(|(first, _)| tick < *first);
        buckets.entry(tick).or_default().push(Rc::clone(entry));
        if earliest {
            self.changed.notify_one();
        }
    }
}

impl Entry {
    fn wake(&self) {
        if let Some(waker) = self.waker.borrow().as_ref() {
            waker.wake_by_ref();
        }
    }
}

impl Timer {
    /// Another timer of the same wheel.
    pub(crate) fn another(&self) -> Timer {
        self.wheel.timer()
    }

    /// Moves the deadline to a time from now; a zero time means none.
    pub(crate) fn set(&self, after: Duration) {
        match after {
            Duration::ZERO => self.clear(),
            _ => self.set_at(Instant::now() + after),
        }
    }

    /// Moves the deadline to an instant.
    pub(crate) fn set_at(&self, at: Instant) {
        let tick = self.wheel.tick(at).saturating_add(1); // never early
        self.entry.deadline.set(tick);
        if tick < self.entry.looked_at.get() {
            self.wheel.hold(&self.entry, tick);
        }
    }

    /// Takes the deadline away.
    pub(crate) fn clear(&self) {
        self.entry.deadline.set(NEVER);
    }

    /// Ready once the deadline has passed.
    pub(crate) fn poll_expired(&self, cx: &mut Context<'_>) -> Poll<()> {
        let deadline = self.entry.deadline.get();
        if deadline == NEVER {
            return Poll::Pending;
        }
        if self.wheel.tick(Instant::now()) >= deadline {
            return Poll::Ready(());
        }
        let mut waker = self.entry.waker.borrow_mut();
        if waker.as_ref().is_none_or(|waker| !waker.will_wake(cx.waker())) {
            *waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }
}

/// The wheel may hold the entry for a while: it must not hold the task, whose memory a waker keeps.
impl Drop for Timer {
    fn drop(&mut self) {
        self.clear();
        self.entry.waker.take();
    }
}

/// The output of a future that ended in time.
pub(crate) async fn within<F: Future>(timer: &Timer, future: F) -> Option<F::Output> {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => timer.poll_expired(cx).map(|()| None),
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_a_worker<T>(test: impl AsyncFnOnce(Rc<Wheel>) -> T) -> T {
        let options = tokio::runtime::LocalOptions::default();
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build_local(options).unwrap();
        runtime.block_on(async {
            let wheel = Wheel::new();
            tokio::task::spawn_local(Rc::clone(&wheel).run());
            test(wheel).await
        })
    }

    #[test]
    fn a_deadline_is_met_late_by_a_tick_at_most_and_never_early() {
        on_a_worker(async |wheel| {
            let timer = wheel.timer();
            let before = Instant::now();
            timer.set(Duration::from_millis(30));
            assert_eq!(within(&timer, std::future::pending::<()>()).await, None);
            assert!(before.elapsed() >= Duration::from_millis(30));
        });
    }

    #[test]
    fn moving_a_deadline_later_does_not_touch_the_wheel() {
        on_a_worker(async |wheel| {
            let timer = wheel.timer();
            timer.set(Duration::from_millis(20));
            for _ in 0..1000 {
                timer.set(Duration::from_millis(60));
            }
            assert_eq!(wheel.buckets.borrow().values().map(Vec::len).sum::<usize>(), 1);
            let before = Instant::now();
            assert_eq!(within(&timer, std::future::pending::<()>()).await, None);
            assert!(before.elapsed() >= Duration::from_millis(50));
        });
    }

    #[test]
    fn an_earlier_deadline_overtakes_a_later_one() {
        on_a_worker(async |wheel| {
            let (late, early) = (wheel.timer(), wheel.timer());
            late.set(Duration::from_secs(60));
            early.set(Duration::from_secs(60));
            tokio::task::yield_now().await;
            early.set(Duration::from_millis(10));
            assert_eq!(within(&early, std::future::pending::<()>()).await, None);
            late.clear();
            assert_eq!(within(&late, std::future::ready(7)).await, Some(7));
        });
    }

    #[test]
    fn an_ended_task_leaves_the_wheel() {
        on_a_worker(async |wheel| {
            let timer = wheel.timer();
            timer.set(Duration::from_millis(5));
            drop(timer);
            let other = wheel.timer();
            other.set(Duration::from_millis(20));
            within(&other, std::future::pending::<()>()).await;
            assert!(wheel.buckets.borrow().is_empty());
        });
    }

    /// A connection that came and went costs its memory only while it was there.
    #[test]
    fn an_ended_task_is_not_held_by_its_deadline() {
        struct Task;
        impl std::task::Wake for Task {
            fn wake(self: std::sync::Arc<Self>) {}
        }
        let task = std::sync::Arc::new(Task);
        let waker = Waker::from(std::sync::Arc::clone(&task));
        let wheel = Wheel::new();
        let timer = wheel.timer();
        timer.set(Duration::from_secs(75));
        assert!(timer.poll_expired(&mut Context::from_waker(&waker)).is_pending());
        drop((timer, waker));
        assert_eq!(std::sync::Arc::strong_count(&task), 1);
    }

    #[test]
    fn a_deadline_far_off_is_looked_at_within_a_minute() {
        let wheel = Wheel::new();
        let timer = wheel.timer();
        timer.set(Duration::from_secs(100 * 24 * 3600));
        let ticks: Vec<u64> = wheel.buckets.borrow().keys().copied().collect();
        assert!(matches!(ticks[..], [tick] if tick <= HORIZON + 1000), "{ticks:?}");
        let entries = wheel.buckets.borrow_mut().remove(&ticks[0]).unwrap();
        wheel.look(&entries[0], ticks[0], ticks[0]);
        assert_eq!(wheel.buckets.borrow().len(), 1, "it is there for another time");
        drop(timer);
        let (tick, entries) = wheel.buckets.borrow_mut().pop_first().unwrap();
        wheel.look(&entries[0], tick, tick);
        assert!(wheel.buckets.borrow().is_empty());
    }
}
