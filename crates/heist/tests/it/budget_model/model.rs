//! What a budget should do, in the simplest possible form: a queue, a few sums, and no concurrency.

use std::collections::{BTreeMap, VecDeque};

/// An amount of both units. In a budget of one unit the other is 0.
pub(crate) type Pair = [u64; 2];

pub(crate) fn add(left: Pair, right: Pair) -> Pair {
    [left[0] + right[0], left[1] + right[1]]
}

pub(crate) fn subtract(left: Pair, right: Pair) -> Pair {
    [left[0] - right[0], left[1] - right[1]]
}

pub(crate) fn covers(left: Pair, right: Pair) -> bool {
    left[0] >= right[0] && left[1] >= right[1]
}

/// Identifies a request.
pub(crate) type Request = usize;

/// What a callback does with its permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Habit {
    Keep,
    Drop,
    Panic,
}

/// Who makes a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asker {
    Future,
    Callback(Habit),
}

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Granted,
    TooLarge,
    Closed,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    request: Request,
    wanted: Pair,
    asker: Asker,
}

/// What is visible of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Figures {
    pub(crate) total: Pair,
    pub(crate) available: Pair,
    pub(crate) in_use: Pair,
    pub(crate) forgotten: Pair,
    pub(crate) high_water: Pair,
    pub(crate) waiting: usize,
    pub(crate) closed: bool,
}

/// The model of one budget.
#[derive(Debug, Default)]
pub(crate) struct Model {
    pub(crate) total: Pair,
    pub(crate) in_use: Pair,
    pub(crate) forgotten: Pair,
    high_water: Pair,
    closed: bool,
    queue: VecDeque<Waiting>,
    /// Callbacks that were granted or refused but not yet called.
    deliveries: VecDeque<(Waiting, Answer)>,
    /// The answered futures and the answered callbacks, each in order. They are separate because
    /// they are notified in different ways.
    pub(crate) futures: Vec<(Request, Answer)>,
    pub(crate) callbacks: Vec<(Request, Answer)>,
    /// The amounts of futures that were granted but have not been polled since.
    pub(crate) in_futures: BTreeMap<Request, Pair>,
}

impl Model {
    pub(crate) fn new(total: Pair) -> Self {
        Self { total, ..Self::default() }
    }

    fn available(&self) -> Pair {
        let spent = add(self.in_use, self.forgotten);
        [0, 1].map(|unit| self.total[unit].saturating_sub(spent[unit]))
    }

    pub(crate) fn figures(&self) -> Figures {
        Figures {
            total: self.total,
            available: self.available(),
            in_use: self.in_use,
            forgotten: self.forgotten,
            high_water: self.high_water,
            waiting: self.queue.len(),
            closed: self.closed,
        }
    }

    fn take(&mut self, wanted: Pair) {
        self.in_use = add(self.in_use, wanted);
        self.high_water = [0, 1].map(|unit| self.high_water[unit].max(self.in_use[unit]));
    }

    /// Returns the immediate answer, or `None` if the request has to wait.
    pub(crate) fn try_acquire(&mut self, wanted: Pair) -> Option<Answer> {
        if self.closed {
            Some(Answer::Closed)
        } else if !covers(self.total, wanted) {
            Some(Answer::TooLarge)
        } else if self.queue.is_empty() && covers(self.available(), wanted) {
            self.take(wanted);
            Some(Answer::Granted)
        } else {
            None
        }
    }

    /// Makes a request that waits if it must. Returns the immediate answer, if there is one.
    pub(crate) fn acquire(
        &mut self,
        request: Request,
        wanted: Pair,
        asker: Asker,
    ) -> Option<Answer> {
        let answer = self.try_acquire(wanted);
        let waiting = Waiting { request, wanted, asker };
        match (answer, asker) {
            (None, _) => self.queue.push_back(waiting),
            (Some(answer), Asker::Callback(_)) => self.call(waiting, answer),
            (Some(_), Asker::Future) => {}
        }
        self.settle();
        answer
    }

    fn call(&mut self, waiting: Waiting, answer: Answer) {
        self.callbacks.push((waiting.request, answer));
        let keeps = waiting.asker == Asker::Callback(Habit::Keep);
        if answer == Answer::Granted && !keeps {
            self.in_use = subtract(self.in_use, waiting.wanted);
        }
    }

    fn answer(&mut self, waiting: Waiting, answer: Answer) {
        if waiting.asker != Asker::Future {
            self.deliveries.push_back((waiting, answer));
            return;
        }
        self.futures.push((waiting.request, answer));
        if answer == Answer::Granted {
            self.in_futures.insert(waiting.request, waiting.wanted);
        }
    }

    /// Grants requests that fit, in order. Then calls one callback, which may make more requests
    /// fit, and repeats.
    fn settle(&mut self) {
        loop {
            while let Some(front) = self.queue.front().copied()
                && covers(self.available(), front.wanted)
            {
                self.queue.pop_front();
                self.take(front.wanted);
                self.answer(front, Answer::Granted);
            }
            let Some((waiting, answer)) = self.deliveries.pop_front() else { return };
            self.call(waiting, answer);
        }
    }

    pub(crate) fn release(&mut self, amount: Pair) {
        self.in_use = subtract(self.in_use, amount);
        self.settle();
    }

    pub(crate) fn forget(&mut self, amount: Pair) {
        self.in_use = subtract(self.in_use, amount);
        self.forgotten = add(self.forgotten, amount);
    }

    /// Drops a future, which may be waiting, granted, or neither.
    pub(crate) fn cancel(&mut self, request: Request) {
        self.queue.retain(|waiting| waiting.request != request);
        match self.in_futures.remove(&request) {
            Some(granted) => self.release(granted),
            None => self.settle(),
        }
    }

    pub(crate) fn set_total(&mut self, total: Pair) {
        self.total = total;
        for waiting in std::mem::take(&mut self.queue) {
            if covers(total, waiting.wanted) {
                self.queue.push_back(waiting);
            } else {
                self.answer(waiting, Answer::TooLarge);
            }
        }
        self.settle();
    }

    pub(crate) fn close(&mut self) {
        self.closed = true;
        for waiting in std::mem::take(&mut self.queue) {
            self.answer(waiting, Answer::Closed);
        }
        self.settle();
    }
}
