//! A model of what operations would cost on real cores: cache lines that travel between caches.
//!
//! A line is in the cache of the core that wrote it last, and in the caches of the cores that have
//! read it since. Accessing a line that the core already has costs almost nothing. Otherwise the
//! line has to travel, and cores that want it meanwhile queue for it: this is contention. An
//! operation takes effect when the line has arrived. Until the line moves on, its holder may use it
//! again, so a compare-exchange that failed succeeds when it is retried at once, as on real cores.
//! Going to sleep, waking a thread and waking up have costs as well. The figures are those of a
//! desktop processor, rounded; only their proportions matter.
//!
//! **Which words share a line** must not depend on addresses that the allocator chooses, or no two
//! runs would have the same figures. So a line is a sequence of words that were created one after
//! the other and are adjacent in memory: the fields of a structure, or an array. Locks, tokens and
//! words of different allocations never share a line, so the model does not see false sharing
//! between them.
//!
//! **Not modelled**: the distance that a line travels (another socket costs more), what a store
//! buffer or a prefetcher hides, the tasks' own data and the cells of the queues, false sharing
//! between allocations, and the scheduler of the operating system: every thread has its own core.

use super::{SimMachine, ThreadId};
use heist::__internal::sync::machine::{Machine, Site};
use std::collections::VecDeque;

/// An access to a line that the core has.
pub const HIT_NS: u64 = 1;
/// The additional cost of a read-modify-write, which drains the store buffer.
pub const MODIFY_NS: u64 = 6;
/// The time that a line takes from another core's cache.
pub const TRAVEL_NS: u64 = 60;
/// How long a read delays the next core that waits for the line: one copy can be made while another
/// is on its way. A write delays all others until it has arrived.
pub const COPY_NS: u64 = 10;
/// A full fence with an empty store buffer.
pub const FENCE_NS: u64 = 8;
/// One pause in a spin loop.
pub const PAUSE_NS: u64 = 30;
/// The system call that puts a thread to sleep.
pub const SLEEP_NS: u64 = 1_000;
/// The system call that wakes a thread, for the waker.
pub const WAKER_NS: u64 = 1_000;
/// From the waker's call to the first instruction of the woken thread.
pub const WAKE_NS: u64 = 5_000;
/// How long a thread spins for a lock before it sleeps (the standard library makes 100 pauses).
pub const LOCK_SPIN_NS: u64 = 100 * PAUSE_NS;

/// The number of words in a line.
const WORDS_PER_LINE: usize = 8;
const WORD_BYTES: isize = 8;

/// How a word is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A read.
    Load,
    /// A write.
    Store,
    /// A read-modify-write.
    Modify,
}

/// The part of the executor that a word belongs to, derived from the source file that uses it
/// first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Part {
    /// The workers' own queues.
    Queues,
    /// The injector.
    Injector,
    /// The idle protocol, including tokens.
    Idle,
    /// Termination.
    Termination,
    /// The intake.
    Intake,
    /// Everything else: stages, cancel tokens, ends of threads.
    Rest,
}

/// The number of parts.
pub const PARTS: usize = 6;

impl Part {
    fn of(file: &str) -> Self {
        let is_in = |folder: &str| file.split(['/', '\\']).any(|part| part == folder);
        match file {
            _ if is_in("injector.rs") => Self::Injector,
            _ if is_in("queue") => Self::Queues,
            _ if is_in("idle") => Self::Idle,
            _ if is_in("termination") => Self::Termination,
            _ if is_in("intake") => Self::Intake,
            _ => Self::Rest,
        }
    }
}

/// The memory traffic of one part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Accesses of any kind.
    pub accesses: u64,
    /// Writes to a line that another thread wrote last.
    pub shared_writes: u64,
    /// Writes to a line that has to travel, or of which other cores have copies.
    pub write_misses: u64,
    /// Reads of a line that has to travel.
    pub read_misses: u64,
    /// The time that all accesses took.
    pub ns: u64,
    /// The part of that time spent queueing for lines that other threads wanted.
    pub queued_ns: u64,
}

/// The totals so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// The traffic of each [`Part`].
    pub parts: [Traffic; PARTS],
    /// Sleeps that another thread ended. This figure and the following ones exclude the first
    /// thread, which only waits for the others.
    pub wakes: u64,
    /// Sleeps that a timeout ended.
    pub timeouts: u64,
    /// The time asleep up to now.
    pub asleep_ns: u64,
    /// The time spent waiting for locks, awake or asleep.
    pub locked_out_ns: u64,
}

/// The set of threads that have a copy of a line.
#[derive(Debug, Default)]
struct Holders {
    bits: Vec<u64>,
    count: usize,
}

impl Holders {
    fn contains(&self, thread: ThreadId) -> bool {
        self.bits.get(thread / 64).is_some_and(|word| word >> (thread % 64) & 1 == 1)
    }

    fn insert(&mut self, thread: ThreadId) {
        if self.bits.len() <= thread / 64 {
            self.bits.resize(thread / 64 + 1, 0);
        }
        let word = &mut self.bits[thread / 64];
        self.count += usize::from(*word >> (thread % 64) & 1 == 0);
        *word |= 1 << (thread % 64);
    }

    fn clear(&mut self) {
        self.bits.fill(0);
        self.count = 0;
    }
}

/// A line on its way to a thread.
#[derive(Debug)]
struct Grant {
    arrives_ns: u64,
    thread: ThreadId,
    writes: bool,
}

#[derive(Debug)]
struct Line {
    part: Part,
    /// The threads that have the line.
    holders: Holders,
    /// The threads that will get the line, in this order.
    grants: VecDeque<Grant>,
    /// The last thread to write the line, counting those that are still waiting for it.
    writer: Option<ThreadId>,
    /// The time at which the next request can be served.
    free_ns: u64,
}

impl Line {
    fn new(part: Part) -> Self {
        let (holders, grants) = (Holders::default(), VecDeque::new());
        Self { part, holders, grants, writer: None, free_ns: 0 }
    }

    /// Completes all transfers up to this time.
    fn settle(&mut self, now_ns: u64) {
        while self.grants.front().is_some_and(|grant| grant.arrives_ns <= now_ns) {
            let grant = self.grants.pop_front().expect("there is one");
            if grant.writes {
                self.holders.clear();
            }
            self.holders.insert(grant.thread);
        }
    }
}

/// The position of a word.
#[derive(Clone, Copy, Debug)]
struct Placed {
    memory: Option<usize>,
    line: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sleep {
    since_ns: Option<u64>,
    for_lock: bool,
}

/// The costs of a wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Woken {
    pub(super) awake_ns: u64,
    pub(super) waker_pays_ns: u64,
}

/// The cost model: all lines, and the totals so far.
#[derive(Debug, Default)]
pub struct CostModel {
    /// The position of each word, by address.
    words: Vec<Option<Placed>>,
    lines: Vec<Line>,
    sleeps: Vec<Sleep>,
    totals: Totals,
}

impl CostModel {
    /// Returns the cost of an access for the thread that makes it. Accesses must come in order of
    /// time.
    pub(super) fn access(
        &mut self,
        thread: ThreadId,
        site: Site,
        access: Access,
        now_ns: u64,
    ) -> u64 {
        let index = self.line_of(site);
        let line = &mut self.lines[index];
        let traffic = &mut self.totals.parts[line.part as usize];
        line.settle(now_ns);
        let writes = access != Access::Load;
        let misses = !line.holders.contains(thread) || (writes && line.holders.count > 1);
        let mut cost_ns = if access == Access::Modify { MODIFY_NS + HIT_NS } else { HIT_NS };
        traffic.accesses += 1;
        if misses {
            let start_ns = now_ns.max(line.free_ns);
            line.free_ns = start_ns + if writes { TRAVEL_NS } else { COPY_NS };
            let arrives_ns = start_ns + TRAVEL_NS;
            line.grants.push_back(Grant { arrives_ns, thread, writes });
            cost_ns += arrives_ns - now_ns;
            traffic.queued_ns += start_ns - now_ns;
            traffic.read_misses += u64::from(!writes);
            traffic.write_misses += u64::from(writes);
            let was_written = line.writer.is_some_and(|writer| writer != thread);
            traffic.shared_writes += u64::from(writes && was_written);
        }
        if writes {
            line.writer = Some(thread);
        }
        traffic.ns += cost_ns;
        cost_ns
    }

    fn line_of(&mut self, site: Site) -> usize {
        let word = site.address.0;
        if self.words.len() <= word {
            self.words.resize(word + 1, None);
        }
        if let Some(placed) = self.words[word] {
            return placed.line;
        }
        let line = self.neighbours_line(word, site.memory).unwrap_or_else(|| {
            let part = Part::of(site.caller.file());
            self.lines.push(Line::new(part));
            self.lines.len() - 1
        });
        self.words[word] = Some(Placed { memory: site.memory, line });
        line
    }

    /// Returns the line of a word that was created shortly before or after this one at a matching
    /// distance in memory. Fields may be in either order.
    fn neighbours_line(&self, word: usize, memory: Option<usize>) -> Option<usize> {
        let memory = memory?;
        let nearby =
            word.saturating_sub(WORDS_PER_LINE - 1)..(word + WORDS_PER_LINE).min(self.words.len());
        nearby.into_iter().find_map(|other| {
            let placed = self.words[other]?;
            let words_apart = other.abs_diff(word) as isize;
            let bytes_apart = placed.memory?.abs_diff(memory) as isize;
            (bytes_apart == words_apart * WORD_BYTES).then_some(placed.line)
        })
    }

    fn sleep_of(&mut self, thread: ThreadId) -> &mut Sleep {
        if self.sleeps.len() <= thread {
            self.sleeps.resize(thread + 1, Sleep::default());
        }
        &mut self.sleeps[thread]
    }

    /// Records that a thread waits. For a lock it spins first.
    pub(super) fn fell_asleep(&mut self, thread: ThreadId, for_lock: bool, now_ns: u64) {
        *self.sleep_of(thread) = Sleep { since_ns: Some(now_ns), for_lock };
    }

    /// Returns whether a thread that waits for a lock is still spinning.
    pub(super) fn spins(&self, thread: ThreadId, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.asleep_since_ns(thread)) < LOCK_SPIN_NS
    }

    /// Returns the time since which a thread has been waiting.
    pub(super) fn asleep_since_ns(&self, thread: ThreadId) -> u64 {
        self.sleeps.get(thread).and_then(|sleep| sleep.since_ns).unwrap_or(u64::MAX)
    }

    /// Records that another thread ends the wait of `thread`.
    pub(super) fn woke_up(&mut self, thread: ThreadId, now_ns: u64) -> Woken {
        let Sleep { since_ns, for_lock } = std::mem::take(self.sleep_of(thread));
        let since_ns = since_ns.unwrap_or(now_ns);
        let waited_ns = now_ns.saturating_sub(since_ns);
        if for_lock {
            self.totals.locked_out_ns += waited_ns;
            if waited_ns < LOCK_SPIN_NS {
                return Woken { awake_ns: now_ns.max(since_ns), waker_pays_ns: 0 };
            }
        }
        let awake_ns = now_ns.max(since_ns + SLEEP_NS) + WAKE_NS;
        if thread != 0 {
            self.totals.wakes += u64::from(!for_lock);
            self.totals.asleep_ns += awake_ns - since_ns;
        }
        Woken { awake_ns, waker_pays_ns: WAKER_NS }
    }

    /// Records that the wait of `thread` times out. Returns the time at which the thread is awake.
    pub(super) fn expired(&mut self, thread: ThreadId, deadline_ns: u64) -> u64 {
        let sleep = std::mem::take(self.sleep_of(thread));
        let since_ns = sleep.since_ns.unwrap_or(deadline_ns);
        let awake_ns = deadline_ns.max(since_ns + SLEEP_NS) + WAKE_NS;
        if thread != 0 {
            self.totals.timeouts += 1;
            self.totals.asleep_ns += awake_ns - since_ns;
        }
        awake_ns
    }

    /// Returns the totals up to now, including the sleeps that have not ended yet.
    fn totals_at(&self, now_ns: u64) -> Totals {
        let since = self.sleeps.iter().skip(1).filter_map(|sleep| sleep.since_ns);
        let still_asleep_ns: u64 = since.map(|since_ns| now_ns.saturating_sub(since_ns)).sum();
        Totals { asleep_ns: self.totals.asleep_ns + still_asleep_ns, ..self.totals }
    }
}

impl SimMachine {
    /// Returns the totals up to now, in a run with a cost model.
    pub fn cost_totals(&self) -> Totals {
        let now_ns = self.now_ns();
        let state = self.state.borrow();
        state.costs.as_ref().map(|costs| costs.totals_at(now_ns)).unwrap_or_default()
    }
}

impl std::ops::Sub for Traffic {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            accesses: self.accesses - before.accesses,
            shared_writes: self.shared_writes - before.shared_writes,
            write_misses: self.write_misses - before.write_misses,
            read_misses: self.read_misses - before.read_misses,
            ns: self.ns - before.ns,
            queued_ns: self.queued_ns - before.queued_ns,
        }
    }
}

impl std::ops::Sub for Totals {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            parts: std::array::from_fn(|part| self.parts[part] - before.parts[part]),
            wakes: self.wakes - before.wakes,
            timeouts: self.timeouts - before.timeouts,
            asleep_ns: self.asleep_ns.saturating_sub(before.asleep_ns),
            locked_out_ns: self.locked_out_ns - before.locked_out_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heist::__internal::sync::machine::Address;
    use std::panic::Location;

    #[track_caller]
    fn site(word: usize, memory: usize) -> Site {
        Site { address: Address(word), memory: Some(memory), caller: Location::caller() }
    }

    fn traffic(costs: &CostModel) -> Traffic {
        costs.totals.parts[Part::Rest as usize]
    }

    #[test]
    fn own_lines_are_cheap_and_lines_that_another_thread_wrote_travel() {
        let mut costs = CostModel::default();
        let word = site(0, 0x1000);
        assert_eq!(costs.access(1, word, Access::Store, 0), HIT_NS + TRAVEL_NS);
        assert_eq!(costs.access(1, word, Access::Store, 100), HIT_NS);
        assert_eq!(costs.access(1, word, Access::Modify, 100), HIT_NS + MODIFY_NS);
        assert_eq!(traffic(&costs).shared_writes, 0, "no other thread uses it");
        assert_eq!(costs.access(2, word, Access::Load, 200), HIT_NS + TRAVEL_NS);
        assert_eq!(costs.access(2, word, Access::Load, 300), HIT_NS);
        assert_eq!(traffic(&costs).read_misses, 1);
        // The reader's copy must be invalidated, but no other thread has written.
        assert_eq!(costs.access(1, word, Access::Store, 400), HIT_NS + TRAVEL_NS);
        assert_eq!(traffic(&costs).shared_writes, 0);
        assert_eq!(costs.access(2, word, Access::Store, 500), HIT_NS + TRAVEL_NS);
        assert_eq!(traffic(&costs).shared_writes, 1);
        assert_eq!(traffic(&costs).write_misses, 3);
    }

    #[test]
    fn threads_queue_for_a_line_that_is_travelling() {
        let mut costs = CostModel::default();
        let word = site(0, 0x1000);
        for thread in 1..=3 {
            let cost_ns = costs.access(thread, word, Access::Modify, 0);
            assert_eq!(cost_ns, HIT_NS + MODIFY_NS + thread as u64 * TRAVEL_NS);
        }
        assert_eq!(traffic(&costs).queued_ns, 3 * TRAVEL_NS);
        // The line is with thread 1 until it moves on to thread 2.
        let again_ns = costs.access(1, word, Access::Modify, TRAVEL_NS);
        assert_eq!(again_ns, HIT_NS + MODIFY_NS, "an exchange that failed succeeds");
        // Copies follow each other closely.
        assert_eq!(costs.access(4, word, Access::Load, 1_000), HIT_NS + TRAVEL_NS);
        assert_eq!(costs.access(5, word, Access::Load, 1_000), HIT_NS + TRAVEL_NS + COPY_NS);
    }

    #[test]
    fn words_share_a_line_if_they_were_created_together_and_are_adjacent() {
        let mut costs = CostModel::default();
        let mut line = |word, memory| costs.line_of(site(word, memory));
        let first = line(10, 0x1000);
        assert_eq!(line(11, 0x1008), first, "two fields");
        assert_ne!(line(12, 0x1080), first, "padded");
        assert_ne!(line(40, 0x1010), first, "another allocation that happens to be near");
        let array = line(53, 0x3018);
        assert_eq!(line(50, 0x3000), array, "an array, whichever is used first");
        assert_eq!(line(60, 0x4008), line(61, 0x4000), "fields in the other order");
        // The same at other addresses: the allocator's choice does not matter.
        assert_eq!(line(70, 0x1038), line(71, 0x1040), "across an alignment boundary");
    }

    #[test]
    fn a_sleep_costs_the_sleeper_and_the_waker() {
        let mut costs = CostModel::default();
        costs.fell_asleep(1, false, 10_000);
        assert_eq!(costs.totals_at(12_000).asleep_ns, 2_000);
        let woken = costs.woke_up(1, 50_000);
        assert_eq!(woken, Woken { awake_ns: 50_000 + WAKE_NS, waker_pays_ns: WAKER_NS });
        assert_eq!(costs.totals_at(90_000).asleep_ns, 40_000 + WAKE_NS);
        // A wake-up cannot come before the sleep.
        costs.fell_asleep(1, false, 100_000);
        assert_eq!(costs.woke_up(1, 100_100).awake_ns, 100_000 + SLEEP_NS + WAKE_NS);
        costs.fell_asleep(1, false, 200_000);
        assert_eq!(costs.expired(1, 400_000), 400_000 + WAKE_NS);
        let totals = costs.totals_at(500_000);
        assert_eq!((totals.wakes, totals.timeouts), (2, 1));
    }

    #[test]
    fn a_thread_spins_for_a_lock_before_it_sleeps() {
        let mut costs = CostModel::default();
        costs.fell_asleep(1, true, 0);
        assert!(costs.spins(1, 200) && !costs.spins(1, LOCK_SPIN_NS));
        assert_eq!(costs.woke_up(1, 200), Woken { awake_ns: 200, waker_pays_ns: 0 });
        costs.fell_asleep(1, true, 0);
        assert_eq!(costs.woke_up(1, LOCK_SPIN_NS).waker_pays_ns, WAKER_NS);
        let totals = costs.totals_at(LOCK_SPIN_NS);
        assert_eq!((totals.wakes, totals.locked_out_ns), (0, 200 + LOCK_SPIN_NS));
    }

    #[test]
    fn parts_are_recognised_by_their_directory() {
        assert_eq!(Part::of("crates/heist/src/queue/injector.rs"), Part::Injector);
        assert_eq!(Part::of("crates/heist/src/queue/local_model.rs"), Part::Queues);
        assert_eq!(Part::of("crates\\heist\\src\\idle\\mod.rs"), Part::Idle);
        assert_eq!(Part::of("crates/heist/src/termination/rejected.rs"), Part::Termination);
        assert_eq!(Part::of("crates/heist/src/cancel.rs"), Part::Rest);
    }
}
