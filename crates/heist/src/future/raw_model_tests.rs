//! Compares the modelled raw task with the real one: the same script must give the same log.
//!
//! A script drives one task by hand: it runs, wakes, cancels and drops it, and logs what it sees.
//! The log also has every call of the schedule function, every poll and every end. Both tasks run
//! on one thread, so this shows that the states and their transitions agree. That the memory
//! orderings agree can only be checked by reading.

use super::raw_model;
use crate::sync::Mutex;
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// The events, in order.
#[derive(Clone, Debug, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn note(&self, event: impl Into<String>) {
        self.0.lock().push(event.into());
    }
}

impl Log {
    fn run(&self, runnable: impl AnyRunnable) {
        let ran = catch_unwind(AssertUnwindSafe(|| runnable.run()));
        self.note(format!("ran: {:?}", ran.map_err(|_| "panicked")));
    }
}

/// A runnable of the model or of the real task.
trait AnyRunnable: Send + Sized + 'static {
    type Task: AnyTask;
    fn spawn(
        future: Script,
        schedule: impl Fn(Self, bool) + Send + Sync + 'static,
    ) -> (Self, Self::Task);
    fn run(self) -> bool;
    fn schedule(self);
    fn waker(&self) -> Waker;
}

/// A task of the model or the real one.
trait AnyTask {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Output>>;
    fn cancel(&mut self);
    fn detach(self);
    fn is_finished(&self) -> bool;
}

impl AnyRunnable for raw_model::Runnable {
    type Task = raw_model::Task<Output>;

    fn spawn(
        future: Script,
        schedule: impl Fn(Self, bool) + Send + Sync + 'static,
    ) -> (Self, Self::Task) {
        raw_model::spawn(future, schedule)
    }

    fn run(self) -> bool {
        self.run()
    }

    fn schedule(self) {
        self.schedule();
    }

    fn waker(&self) -> Waker {
        self.waker()
    }
}

impl AnyTask for raw_model::Task<Output> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Output>> {
        self.poll(context)
    }

    fn cancel(&mut self) {
        self.cancel();
    }

    fn detach(self) {
        self.detach();
    }

    fn is_finished(&self) -> bool {
        self.is_finished()
    }
}

impl AnyRunnable for async_task::Runnable {
    type Task = RealTask;

    fn spawn(
        future: Script,
        schedule: impl Fn(Self, bool) + Send + Sync + 'static,
    ) -> (Self, RealTask) {
        let schedule = move |runnable, info: async_task::ScheduleInfo| {
            schedule(runnable, info.woken_while_running);
        };
        let (runnable, task) = async_task::spawn(future, async_task::WithInfo(schedule));
        (runnable, RealTask::Waiting(task.fallible()))
    }

    fn run(self) -> bool {
        self.run()
    }

    fn schedule(self) {
        self.schedule();
    }

    fn waker(&self) -> Waker {
        self.waker()
    }
}

/// The real task. Its `cancel` is a future that cancels at its first poll.
enum RealTask {
    Waiting(async_task::FallibleTask<Output>),
    Cancelling(Pin<Box<dyn Future<Output = Option<Output>>>>),
    Ended(Option<Output>),
    Moved,
}

impl AnyTask for RealTask {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Output>> {
        match self {
            Self::Waiting(task) => Pin::new(task).poll(context),
            Self::Cancelling(task) => task.as_mut().poll(context),
            Self::Ended(output) => Poll::Ready(output.take()),
            Self::Moved => unreachable!("only inside of `cancel`"),
        }
    }

    fn cancel(&mut self) {
        *self = match std::mem::replace(self, Self::Moved) {
            Self::Waiting(task) => {
                let mut cancelling = Box::pin(task.cancel());
                match cancelling.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                    Poll::Ready(output) => Self::Ended(output),
                    Poll::Pending => Self::Cancelling(cancelling),
                }
            }
            cancelled => cancelled,
        };
    }

    fn detach(self) {
        match self {
            Self::Waiting(task) => task.detach(),
            _ => unreachable!("no script detaches a task that it has cancelled"),
        }
    }

    fn is_finished(&self) -> bool {
        match self {
            Self::Waiting(task) => task.is_finished(),
            _ => true,
        }
    }
}

/// What a poll of the scripted future does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    /// Waits and keeps a waker.
    Wait,
    /// Waits without keeping a waker.
    WaitUnwakeable,
    /// Is woken while it runs, then waits without keeping a waker.
    WakeSelf,
    /// Is cancelled through its `Task` while it runs, then waits.
    CancelSelf,
    /// Is cancelled while it runs, then returns an output.
    CancelSelfAndEnd,
    /// Is woken and cancelled while it runs, then waits.
    WakeAndCancelSelf,
    /// Is cancelled while it runs, then panics.
    CancelSelfAndPanic,
    /// Panics.
    Panic,
    /// Is ready.
    End,
}

/// The output. It logs when it is dropped.
#[derive(Debug)]
struct Output(Log);

impl Drop for Output {
    fn drop(&mut self) {
        self.0.note("output dropped");
    }
}

/// A future that does one step of a script at each poll.
struct Script {
    log: Log,
    steps: VecDeque<Step>,
    kept: Arc<Mutex<Option<Waker>>>,
}

impl Drop for Script {
    fn drop(&mut self) {
        self.log.note("future dropped");
    }
}

thread_local! {
    /// Cancels the task of the current script.
    static CANCEL: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
}

fn cancel_from_within() {
    if let Some(cancel) = CANCEL.take() {
        cancel();
    }
}

impl Future for Script {
    type Output = Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Output> {
        let step = self.steps.pop_front().unwrap_or(Step::End);
        self.log.note(format!("poll: {step:?}"));
        let output = || Poll::Ready(Output(self.log.clone()));
        match step {
            Step::Wait => *self.kept.lock() = Some(context.waker().clone()),
            Step::WaitUnwakeable => {}
            Step::WakeSelf => context.waker().wake_by_ref(),
            Step::CancelSelf => cancel_from_within(),
            Step::CancelSelfAndEnd => {
                cancel_from_within();
                return output();
            }
            Step::WakeAndCancelSelf => {
                context.waker().wake_by_ref();
                cancel_from_within();
            }
            Step::CancelSelfAndPanic => {
                cancel_from_within();
                resume_unwind(Box::new("as the script says"));
            }
            // Without printing a panic message.
            Step::Panic => resume_unwind(Box::new("as the script says")),
            Step::End => return output(),
        }
        Poll::Pending
    }
}

/// What the script does to the task from outside.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Action {
    /// Passes the oldest runnable to the schedule function.
    Schedule,
    /// Runs the oldest runnable.
    Run,
    /// From now on, the schedule function runs the task at once.
    RunInline,
    /// Drops the oldest runnable.
    DropRunnable,
    /// Wakes by reference with the waker that the future has kept.
    WakeByRef,
    /// Wakes with that waker and consumes it.
    Wake,
    /// Drops that waker.
    DropWaker,
    /// Takes a waker from the oldest runnable.
    TakeWaker,
    /// Polls the task with the first of two wakers.
    Await,
    /// Polls the task with the second.
    AwaitElsewhere,
    Cancel,
    Detach,
    DropTask,
    IsFinished,
}

struct NotingWaker(Log, &'static str);

impl Wake for NotingWaker {
    fn wake(self: Arc<Self>) {
        self.0.note(self.1);
    }
}

/// The task under test and its surroundings.
struct Played<R: AnyRunnable> {
    log: Log,
    queue: Arc<Mutex<VecDeque<R>>>,
    kept: Arc<Mutex<Option<Waker>>>,
    /// Shared with the future, which may cancel itself.
    task: Arc<Mutex<Option<R::Task>>>,
    wakers: [Waker; 2],
    ready: bool,
    cancelled: Arc<Mutex<bool>>,
    inline: Arc<Mutex<bool>>,
}

impl<R: AnyRunnable> Played<R>
where
    R::Task: 'static,
{
    fn new(steps: &[Step]) -> Self {
        let log = Log::default();
        let kept = Arc::new(Mutex::new(None));
        let queue = Arc::new(Mutex::new(VecDeque::new()));
        let cancelled = Arc::new(Mutex::new(false));
        let inline = Arc::new(Mutex::new(false));
        let script = Script {
            log: log.clone(),
            steps: steps.iter().copied().collect(),
            kept: Arc::clone(&kept),
        };
        let schedule = {
            let (log, inline) = (log.clone(), Arc::clone(&inline));
            let queue = Arc::downgrade(&queue);
            move |runnable: R, woken_while_running| {
                log.note(format!("scheduled, woken while running: {woken_while_running}"));
                // Weak, so that a task that is left over does not keep itself alive.
                match queue.upgrade() {
                    Some(_) if *inline.lock() => log.run(runnable),
                    Some(queue) => queue.lock().push_back(runnable),
                    None => drop(runnable),
                }
            }
        };
        let (runnable, task) = R::spawn(script, schedule);
        queue.lock().push_back(runnable);
        let task = Arc::new(Mutex::new(Some(task)));
        let (at_hand, is_cancelled) = (Arc::clone(&task), Arc::clone(&cancelled));
        CANCEL.set(Some(Box::new(move || {
            if let Some(task) = at_hand.lock().as_mut() {
                *is_cancelled.lock() = true;
                task.cancel();
            }
        })));
        let wakers = ["awaiter woken", "other awaiter woken"]
            .map(|event| Waker::from(Arc::new(NotingWaker(log.clone(), event))));
        Self { log, queue, kept, task, wakers, ready: false, cancelled, inline }
    }

    fn next(&self) -> Option<R> {
        self.queue.lock().pop_front()
    }

    /// Performs an action and logs what it sees. Returns `None` if the action does not apply.
    fn act(&mut self, action: Action) -> Option<()> {
        match action {
            Action::Schedule => self.next()?.schedule(),
            Action::Run => self.log.run(self.next()?),
            Action::RunInline => *self.inline.lock() = true,
            Action::DropRunnable => drop(self.next()?),
            Action::TakeWaker => {
                let waker = self.queue.lock().front()?.waker();
                let before = self.kept.lock().replace(waker);
                drop(before);
            }
            Action::WakeByRef => {
                let waker = self.kept.lock().clone()?;
                waker.wake_by_ref();
            }
            Action::Wake => {
                let waker = self.kept.lock().take()?;
                waker.wake();
            }
            Action::DropWaker => {
                let waker = self.kept.lock().take()?;
                drop(waker);
            }
            Action::Await | Action::AwaitElsewhere => {
                if std::mem::replace(&mut self.ready, true) {
                    return None;
                }
                let waker = &self.wakers[usize::from(action == Action::AwaitElsewhere)];
                let mut task = self.task.lock();
                let polled = task.as_mut()?.poll(&mut Context::from_waker(waker));
                self.ready = polled.is_ready();
                self.log.note(match polled {
                    Poll::Pending => "awaits",
                    Poll::Ready(None) => "none",
                    Poll::Ready(Some(_)) => "some",
                });
            }
            Action::Cancel => {
                let mut task = self.task.lock();
                *self.cancelled.lock() = true;
                task.as_mut()?.cancel();
            }
            Action::Detach => {
                // A cancelled task cannot be detached: the real `cancel` consumes it.
                let cancelled = *self.cancelled.lock();
                let task = self.task.lock().take_if(|_| !cancelled)?;
                task.detach();
            }
            Action::DropTask => {
                let task = self.task.lock().take()?;
                drop(task);
            }
            Action::IsFinished => {
                let finished = self.task.lock().as_ref()?.is_finished();
                self.log.note(format!("finished: {finished}"));
            }
        }
        Some(())
    }

    /// Drops what is left: the task, the waker, then the queued runnables.
    fn end(self) -> Vec<String> {
        CANCEL.set(None);
        self.log.note("> end");
        let task = self.task.lock().take();
        drop(task);
        let waker = self.kept.lock().take();
        drop(waker);
        while let Some(runnable) = self.next() {
            self.log.note("one left");
            drop(runnable);
        }
        let events = self.log.0.lock();
        events.clone()
    }
}

/// Runs the script on one of the two tasks and returns the log.
fn play<R: AnyRunnable>(steps: &[Step], actions: &[Action]) -> Vec<String>
where
    R::Task: 'static,
{
    let mut played = Played::<R>::new(steps);
    for action in actions {
        played.log.note(format!("> {action:?}"));
        if played.act(*action).is_none() {
            played.log.note("does not apply");
        }
    }
    played.end()
}

/// Requires that both tasks give the same log, and returns it.
fn check(steps: &[Step], actions: &[Action]) -> Vec<String> {
    let real = play::<async_task::Runnable>(steps, actions);
    let model = play::<raw_model::Runnable>(steps, actions);
    assert_eq!(model, real, "the model (left) and the real task differ in {steps:?} {actions:?}");
    real
}

const STEPS: [Step; 9] = [
    Step::Wait,
    Step::WaitUnwakeable,
    Step::WakeSelf,
    Step::CancelSelf,
    Step::CancelSelfAndEnd,
    Step::WakeAndCancelSelf,
    Step::CancelSelfAndPanic,
    Step::Panic,
    Step::End,
];

const ACTIONS: [Action; 14] = [
    Action::Schedule,
    Action::Run,
    Action::RunInline,
    Action::DropRunnable,
    Action::WakeByRef,
    Action::Wake,
    Action::DropWaker,
    Action::TakeWaker,
    Action::Await,
    Action::AwaitElsewhere,
    Action::Cancel,
    Action::Detach,
    Action::DropTask,
    Action::IsFinished,
];

#[test]
fn every_short_script_runs_as_with_the_real_task() {
    for first in STEPS {
        for scripted in 0..ACTIONS.len().pow(3) {
            let action = |place: u32| ACTIONS[scripted / ACTIONS.len().pow(place) % ACTIONS.len()];
            check(&[first], &[action(0), action(1), action(2)]);
            check(&[first], &[action(0), Action::Run, action(1), action(2)]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(4_000)
    })]

    #[test]
    fn long_scripts_run_as_with_the_real_task(
        steps in prop::collection::vec(prop::sample::select(&STEPS[..]), 0..6),
        actions in prop::collection::vec(prop::sample::select(&ACTIONS[..]), 4..20),
    ) {
        check(&steps, &actions);
    }
}

#[test]
fn a_future_without_wakers_is_dropped_only_if_a_waker_was_held_while_it_ran() {
    let ended = |log: Vec<String>| log.iter().any(|event| event == "future dropped");
    assert!(!ended(check(&[Step::WaitUnwakeable], &[Action::Detach, Action::Run])));
    let held = [Action::TakeWaker, Action::Detach, Action::Run, Action::DropWaker, Action::Run];
    assert!(ended(check(&[Step::WaitUnwakeable], &held)));
}
