//! Tests of the pop order and the step, with a scripted context.

use super::*;
use crate::trace::{NoTrace, TraceHooks};
use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A worker whose world is scripted, and which logs what it does.
#[derive(Default)]
struct Script {
    due: bool,
    local: Vec<&'static str>,
    fresh: VecDeque<&'static str>,
    yielded: VecDeque<&'static str>,
    /// The results of the attempts to steal from each victim.
    victims: Vec<VecDeque<Steal<&'static str>>>,
    may_search: bool,
    searching: bool,
    random: usize,
    done: bool,
    panicked: bool,
    futures: VecDeque<&'static str>,
    injected_futures: VecDeque<&'static str>,
    /// The results of the attempts to steal futures from each victim.
    futures_of_victims: Vec<VecDeque<Steal<&'static str>>>,
    slot: Option<&'static str>,
    turn: Turn,
    is_injected_futures_turn: bool,
    log: Vec<String>,
}

impl Script {
    fn say(&mut self, what: impl Into<String>) {
        self.log.push(what.into());
    }
}

impl Context for Script {
    type Task = &'static str;
    type Future = &'static str;

    fn worker(&self) -> usize {
        1
    }

    fn workers(&self) -> usize {
        self.victims.len().max(1)
    }

    fn steal_rounds(&self) -> u32 {
        if self.victims.is_empty() { 0 } else { 2 }
    }

    fn injector_is_due(&mut self) -> bool {
        std::mem::take(&mut self.due)
    }

    fn due_order(&self) -> Order {
        Order::FreshOnly
    }

    fn pop_local(&mut self) -> Option<&'static str> {
        self.local.pop()
    }

    fn pop_injector(&mut self, order: Order, most: usize) -> Option<&'static str> {
        let most = if most == 1 { "one" } else { "a batch" };
        self.say(format!("injector: {most}, {order:?}"));
        let yielded = if order == Order::All { self.yielded.pop_front() } else { None };
        self.fresh.pop_front().or(yielded)
    }

    fn steal_from(&mut self, victim: usize) -> Steal<&'static str> {
        self.say(format!("steal from {victim}"));
        self.victims[victim].pop_front().unwrap_or(Steal::Empty)
    }

    fn has_futures(&self) -> bool {
        let stealable = self.futures_of_victims.iter().any(|queue| !queue.is_empty());
        !self.futures.is_empty()
            || !self.injected_futures.is_empty()
            || stealable
            || self.slot.is_some()
    }

    fn is_futures_turn(&mut self) -> bool {
        self.turn.is_futures()
    }

    fn is_injected_futures_turn(&mut self) -> bool {
        self.is_injected_futures_turn ^= true;
        !self.is_injected_futures_turn
    }

    fn pop_future(&mut self) -> Option<&'static str> {
        self.futures.pop_front()
    }

    fn pop_injected_future(&mut self, most: usize) -> Option<&'static str> {
        let most = if most == 1 { "one" } else { "a batch" };
        self.say(format!("injected futures: {most}"));
        self.injected_futures.pop_front()
    }

    fn steal_future_from(&mut self, victim: usize) -> Steal<&'static str> {
        self.say(format!("steal futures from {victim}"));
        self.futures_of_victims[victim].pop_front().unwrap_or(Steal::Empty)
    }

    fn steal_from_slot(&mut self) -> Option<(&'static str, usize)> {
        self.say("slots");
        self.slot.take().map(|future| (future, 0))
    }

    fn poll(&mut self, future: &'static str) {
        self.say(format!("poll {future}"));
    }

    fn begin_poll(&mut self) {
        self.say("begin poll");
    }

    fn end_poll(&mut self) {
        self.say("end poll");
    }

    fn random_below(&mut self, bound: usize) -> usize {
        self.random % bound
    }

    fn try_search(&mut self) -> bool {
        self.searching |= self.may_search;
        self.searching
    }

    fn begin_task(&mut self, source: Source) {
        self.say(format!("begin {source:?}"));
    }

    fn end_task(&mut self) {
        self.say("end");
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn has_panicked(&self) -> bool {
        self.panicked
    }
}

/// Looks again this many times before it parks.
struct Patience(u32);

impl IdleHooks for Patience {
    fn on_work(&mut self) {}

    fn on_no_work(&mut self) -> IdleAction {
        match self.0.checked_sub(1) {
            Some(left) => {
                self.0 = left;
                IdleAction::Search
            }
            None => IdleAction::Park,
        }
    }
}

fn step(script: &mut Script) -> StepResult {
    let mut run = |script: &mut Script, task| script.say(format!("run {task}"));
    worker_step(script, &mut Patience(0), &mut NoTrace, &mut run)
}

fn victims<const N: usize>(
    queues: [Vec<Steal<&'static str>>; N],
) -> Vec<VecDeque<Steal<&'static str>>> {
    queues.into_iter().map(VecDeque::from).collect()
}

#[test]
fn the_newest_task_of_the_own_queue_comes_first() {
    let mut script =
        Script { local: vec!["old", "new"], fresh: ["injected"].into(), ..Script::default() };
    let ran = StepResult::RanTask { source: Source::Local, victim: None };
    assert_eq!(step(&mut script), ran);
    assert_eq!(script.log, ["begin Local", "run new", "end"]);
}

#[test]
fn an_injector_that_is_due_comes_before_the_own_queue_with_one_task() {
    let mut script =
        Script { due: true, local: vec!["own"], fresh: ["injected"].into(), ..Script::default() };
    step(&mut script);
    step(&mut script);
    let expected = [
        "injector: one, FreshOnly",
        "begin Injector",
        "run injected",
        "end",
        "begin Local",
        "run own",
        "end",
    ];
    assert_eq!(script.log, expected);
}

#[test]
fn stealing_tries_every_other_worker_once_a_round_from_a_random_one_on() {
    let mut script = Script {
        victims: victims([vec![], vec![], vec![], vec![]]),
        random: 1,
        may_search: true,
        ..Script::default()
    };
    assert_eq!(step(&mut script), StepResult::ShouldPark);
    let expected = [
        "injector: a batch, YieldedWhenOvertaken",
        "steal from 2",
        "steal from 3",
        "steal from 0",
        "steal from 2",
        "steal from 3",
        "steal from 0",
        "injector: a batch, All",
    ];
    assert_eq!(script.log, expected);
}

#[test]
fn retry_is_not_empty() {
    let mut script = Script {
        victims: victims([vec![Steal::Retry, Steal::Retry, Steal::Success("stolen")], vec![]]),
        may_search: true,
        ..Script::default()
    };
    let ran = StepResult::RanTask { source: Source::Steal, victim: Some(0) };
    assert_eq!(step(&mut script), ran);
    assert_eq!(script.log.iter().filter(|entry| *entry == "steal from 0").count(), 3);
}

#[test]
fn a_yielded_task_waits_until_nothing_can_be_stolen() {
    let mut script = Script {
        yielded: ["yielded"].into(),
        victims: victims([vec![Steal::Success("stolen")], vec![]]),
        may_search: true,
        ..Script::default()
    };
    step(&mut script);
    step(&mut script);
    let ran: Vec<_> = script.log.iter().filter(|entry| entry.starts_with("run")).collect();
    assert_eq!(ran, ["run stolen", "run yielded"]);
}

#[test]
fn a_worker_that_may_not_search_tries_each_victim_once_and_parks() {
    let mut script =
        Script { victims: victims([vec![Steal::Success("stolen")], vec![]]), ..Script::default() };
    let ran = StepResult::RanTask { source: Source::Steal, victim: Some(0) };
    assert_eq!(
        step(&mut script),
        ran,
        "a worker that finds something at once need not ask to search"
    );
    script.log.clear();
    assert_eq!(step(&mut script), StepResult::ShouldPark);
    assert_eq!(script.log, ["injector: a batch, YieldedWhenOvertaken", "steal from 0"]);
}

#[test]
fn a_patient_worker_looks_again_and_a_done_one_leaves() {
    let mut script = Script { may_search: true, ..Script::default() };
    let mut run = |_: &mut Script, _| {};
    let mut idle = Patience(1);
    assert_eq!(worker_step(&mut script, &mut idle, &mut NoTrace, &mut run), StepResult::NoWork);
    assert_eq!(worker_step(&mut script, &mut idle, &mut NoTrace, &mut run), StepResult::ShouldPark);
    script.done = true;
    assert_eq!(step(&mut script), StepResult::ExitDone);
    script.panicked = true;
    assert_eq!(step(&mut script), StepResult::ExitPanicked);
}

/// Logs the calls of the hooks.
#[derive(Default)]
struct HookLog(Vec<String>);

impl TraceHooks for HookLog {
    fn task_start(&mut self, source: Source) {
        self.0.push(format!("start {source:?}"));
    }

    fn task_end(&mut self) {
        self.0.push("end".to_owned());
    }

    fn steal(&mut self, victim: usize) {
        self.0.push(format!("steal from {victim}"));
    }
}

impl IdleHooks for HookLog {
    fn on_work(&mut self) {
        self.0.push("work".to_owned());
    }

    fn on_no_work(&mut self) -> IdleAction {
        IdleAction::Park
    }
}

#[test]
fn the_hooks_see_every_task_and_its_victim() {
    let mut script = Script {
        local: vec!["own"],
        victims: victims([vec![Steal::Success("stolen")], vec![]]),
        may_search: true,
        ..Script::default()
    };
    let (mut idle, mut trace) = (HookLog::default(), HookLog::default());
    let mut run = |_: &mut Script, _| {};
    worker_step(&mut script, &mut idle, &mut trace, &mut run);
    worker_step(&mut script, &mut idle, &mut trace, &mut run);
    assert_eq!(trace.0, ["start Local", "end", "steal from 0", "start Steal", "end"]);
    assert_eq!(idle.0, ["work", "work"]);
}

#[test]
fn a_done_worker_does_not_steal() {
    let mut script = Script {
        victims: victims([vec![], vec![]]),
        may_search: true,
        done: true,
        ..Script::default()
    };
    assert_eq!(step(&mut script), StepResult::ExitDone);
    assert_eq!(script.log, ["injector: a batch, YieldedWhenOvertaken"]);
}

#[test]
fn a_single_worker_does_not_steal() {
    let mut script = Script { victims: victims([vec![]]), may_search: true, ..Script::default() };
    assert_eq!(step(&mut script), StepResult::ShouldPark);
    assert!(!script.log.iter().any(|entry| entry.starts_with("steal")));
}

/// Cleans up after a panic.
struct Repair;

impl RunTask<Script> for Repair {
    fn run(&mut self, _script: &mut Script, _task: &'static str) {}

    fn after_panic(&mut self, script: &mut Script, payload: Box<dyn Any + Send>) {
        script.say(format!("repair after {}", payload.downcast_ref::<&str>().unwrap()));
    }
}

#[test]
fn the_runner_cleans_up_before_a_panicked_task_ends() {
    let (mut script, mut trace) = (Script::default(), HookLog::default());
    end_panicked_task(&mut script, &mut trace, &mut Repair, Box::new("a panic"));
    assert_eq!(script.log, ["repair after a panic", "end"]);
    assert_eq!(trace.0, ["end"]);
}

#[test]
fn the_panic_of_a_closure_is_resumed() {
    let mut script = Script::default();
    let mut run = |_: &mut Script, _| {};
    let gone_on = catch_unwind(AssertUnwindSafe(|| {
        end_panicked_task(&mut script, &mut NoTrace, &mut run, Box::new("a panic"));
    }));
    assert_eq!(gone_on.unwrap_err().downcast_ref(), Some(&"a panic"));
    assert!(script.log.is_empty(), "the task has not ended");
}

#[test]
fn tasks_and_futures_take_turns() {
    let mut script =
        Script { local: vec!["task"; 40], futures: vec!["future"; 40].into(), ..Script::default() };
    for _ in 0..64 {
        step(&mut script);
    }
    let of = |what: &str| script.log.iter().filter(|line| *line == what).count();
    assert_eq!((of("run task"), of("poll future")), (32, 32));
}

#[test]
fn a_kind_that_waits_alone_goes_at_once() {
    let mut script = Script { futures: ["future"].into(), ..Script::default() };
    assert_eq!(step(&mut script), StepResult::RanTask { source: Source::Local, victim: None });
    assert_eq!(script.log, ["begin poll", "poll future", "end poll"]);
}

#[test]
fn futures_are_found_wherever_tasks_are_and_slots_last() {
    let mut script = Script {
        victims: victims([vec![], vec![], vec![]]),
        futures_of_victims: victims([vec![], vec![], vec![Steal::Retry, Steal::Success("stolen")]]),
        injected_futures: ["injected"].into(),
        slot: Some("next"),
        may_search: true,
        ..Script::default()
    };
    let polled = |source, victim| StepResult::RanTask { source, victim };
    assert_eq!(step(&mut script), polled(Source::Injector, None));
    assert_eq!(step(&mut script), polled(Source::Steal, Some(2)));
    assert_eq!(step(&mut script), polled(Source::Steal, Some(0)));
    let polls: Vec<_> = script.log.iter().filter(|line| line.starts_with("poll ")).collect();
    assert_eq!(polls, ["poll injected", "poll stolen", "poll next"]);
}

#[test]
fn a_due_look_takes_one_future_too() {
    let mut script = Script {
        due: true,
        futures: ["own"].into(),
        injected_futures: ["injected"].into(),
        ..Script::default()
    };
    assert_eq!(step(&mut script), StepResult::RanTask { source: Source::Injector, victim: None });
    assert!(script.log.contains(&"injected futures: one".to_owned()));
}

/// A look that is due every 32 steps always falls on the same turn of the worker's own queues.
#[test]
fn due_looks_take_turns_whatever_the_interval() {
    for interval in [8, 20, 32, 64, 255] {
        let mut script = Script {
            futures: vec!["own future"; 20_000].into(),
            injected_futures: vec!["injected future"; 20_000].into(),
            fresh: vec!["injected task"; 20_000].into(),
            ..Script::default()
        };
        for count in 0..40 * interval {
            script.due = count % interval == 0;
            step(&mut script);
        }
        let begun = |what: &str| script.log.iter().filter(|said| said.ends_with(what)).count();
        assert_eq!(begun("run injected task"), 20, "every {interval}");
        assert_eq!(begun("poll injected future"), 20, "every {interval}");
    }
}
