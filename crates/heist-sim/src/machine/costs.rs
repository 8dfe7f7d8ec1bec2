//! What operations would cost on real cores: a small model of cache lines that travel.
//!
//! A line is in the cache of whoever wrote it last, and of those who have read it since. Reading or writing a line
//! that one has costs next to nothing. Otherwise it has to travel, and those who want it meanwhile stand in line: that
//! is what contention is. An operation takes effect when the line has arrived, and until it has gone on, its holder may
//! use it again: an exchange that has failed succeeds when it is tried again at once, as on real cores. Going to sleep,
//! waking somebody and waking up have their prices too. The figures are those of a desktop processor, rounded; only
//! their proportions matter.
//!
//! **Which words share a line** must not depend on where the allocator happens to put things, or no two runs would
//! have the same figures. So a line is a run of words that were made one after the other and lie side by side:
//! fields of one structure, or an array. Locks, tokens and words of different allocations never share one: what is not
//! padded is given the benefit of the doubt.
//!
//! **Not modelled**: how far a line travels (another socket costs more), what a store buffer or a prefetcher hides,
//! the tasks' own data and the cells of the queues, false sharing between allocations, and the system's scheduler:
//! every thread has a core of its own.

use super::{SimMachine, ThreadId};
use heist::__internal::sync::machine::{Machine, Site};
use std::collections::VecDeque;

/// A line that one has.
pub const HIT_NS: u64 = 1;
/// What a read-modify-write costs more than a plain access: it drains the store buffer.
pub const MODIFY_NS: u64 = 6;
/// From another core's cache.
pub const TRAVEL_NS: u64 = 60;
/// How long a read keeps the next one waiting: copies can be made of a line while another is on its way. A write
/// keeps everybody waiting until it has arrived.
pub const COPY_NS: u64 = 10;
/// A full fence with nothing to wait for.
pub const FENCE_NS: u64 = 8;
/// One pause in a loop that waits.
pub const PAUSE_NS: u64 = 30;
/// The system call that puts a thread to sleep.
pub const SLEEP_NS: u64 = 1_000;
/// The system call that wakes one, for the waker.
pub const WAKER_NS: u64 = 1_000;
/// From the waker's call to the first instruction of the woken.
pub const WAKE_NS: u64 = 5_000;
/// Whoever waits for a lock spins this long before it sleeps (the standard library's makes 100 pauses).
pub const LOCK_SPIN_NS: u64 = 100 * PAUSE_NS;

/// How many words a line has room for.
const WORDS_PER_LINE: usize = 8;
const WORD_BYTES: isize = 8;

/// How a word is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read.
    Load,
    /// Written.
    Store,
    /// Both, in one step.
    Modify,
}

/// Whose word it is: known by the source file that uses it first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Part {
    /// The workers' own queues.
    Queues,
    /// The injector.
    Injector,
    /// The idle protocol, tokens included.
    Idle,
    /// Termination.
    Termination,
    /// The intake.
    Intake,
    /// Everything else: stages, cancel tokens, ends of threads.
    Rest,
}

/// How many parts there are.
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

/// The traffic of one part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Accesses of any kind.
    pub accesses: u64,
    /// Writes to a line that another thread wrote last.
    pub shared_writes: u64,
    /// Writes to a line that has to travel, or whose copies must be taken back.
    pub write_misses: u64,
    /// Reads of a line that has to travel.
    pub read_misses: u64,
    /// What all of that took.
    pub ns: u64,
    /// How much of it was waiting for others that wanted the line too.
    pub queued_ns: u64,
}

/// Everything so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Of each [`Part`].
    pub parts: [Traffic; PARTS],
    /// Sleeps that somebody ended. Like what follows, of all threads but the first, which only waits for the others.
    pub wakes: u64,
    /// Sleeps that the clock ended.
    pub timeouts: u64,
    /// Time asleep, up to now.
    pub asleep_ns: u64,
    /// Time spent waiting for locks, awake or asleep.
    pub locked_out_ns: u64,
}

/// Which threads have a copy of a line.
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

/// A line is on its way to a thread.
#[derive(Debug)]
struct Grant {
    arrives_ns: u64,
    thread: ThreadId,
    writes: bool,
}

#[derive(Debug)]
struct Line {
    part: Part,
    /// Those who have it.
    holders: Holders,
    /// Those who will, in this order.
    grants: VecDeque<Grant>,
    /// Who writes last, of all that have asked.
    writer: Option<ThreadId>,
    /// When the next one may be served.
    free_ns: u64,
}

impl Line {
    fn new(part: Part) -> Self {
        let (holders, grants) = (Holders::default(), VecDeque::new());
        Self { part, holders, grants, writer: None, free_ns: 0 }
    }

    /// What has arrived by now has arrived.
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

/// Where a word lies.
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

/// What a wake-up costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Woken {
    pub(super) awake_ns: u64,
    pub(super) waker_pays_ns: u64,
}

/// The lines, and what their travels have cost so far.
#[derive(Debug, Default)]
pub struct CostModel {
    /// By address.
    words: Vec<Option<Placed>>,
    lines: Vec<Line>,
    sleeps: Vec<Sleep>,
    totals: Totals,
}

impl CostModel {
    /// What an access costs the thread that makes it. Accesses are made in order of time.
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

    /// The line of a word that was made shortly before or after this one and lies as far from it as it should. Fields
    /// may lie in either order.
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

    /// A thread waits. For a lock it spins first.
    pub(super) fn fell_asleep(&mut self, thread: ThreadId, for_lock: bool, now_ns: u64) {
        *self.sleep_of(thread) = Sleep { since_ns: Some(now_ns), for_lock };
    }

    /// Whether a thread that waits for a lock does not sleep yet.
    pub(super) fn spins(&self, thread: ThreadId, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.asleep_since_ns(thread)) < LOCK_SPIN_NS
    }

    /// Since when a thread has been waiting.
    pub(super) fn asleep_since_ns(&self, thread: ThreadId) -> u64 {
        self.sleeps.get(thread).and_then(|sleep| sleep.since_ns).unwrap_or(u64::MAX)
    }

    /// Somebody ends the thread's wait.
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

    /// The clock ends the thread's wait; returns when it is awake.
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

    /// Everything up to now. Who sleeps has slept up to now.
    fn totals_at(&self, now_ns: u64) -> Totals {
        let since = self.sleeps.iter().skip(1).filter_map(|sleep| sleep.since_ns);
        let still_asleep_ns: u64 = since.map(|since_ns| now_ns.saturating_sub(since_ns)).sum();
        Totals { asleep_ns: self.totals.asleep_ns + still_asleep_ns, ..self.totals }
    }
}

impl SimMachine {
    /// What everything has cost up to now, in a run with a cost model.
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
    fn a_line_that_one_has_is_cheap_and_one_that_another_wrote_travels() {
        let mut costs = CostModel::default();
        let word = site(0, 0x1000);
        assert_eq!(costs.access(1, word, Access::Store, 0), HIT_NS + TRAVEL_NS);
        assert_eq!(costs.access(1, word, Access::Store, 100), HIT_NS);
        assert_eq!(costs.access(1, word, Access::Modify, 100), HIT_NS + MODIFY_NS);
        assert_eq!(traffic(&costs).shared_writes, 0, "it is alone");
        assert_eq!(costs.access(2, word, Access::Load, 200), HIT_NS + TRAVEL_NS);
        assert_eq!(costs.access(2, word, Access::Load, 300), HIT_NS);
        assert_eq!(traffic(&costs).read_misses, 1);
        // The reader's copy must be taken back, but nobody else has written.
        assert_eq!(costs.access(1, word, Access::Store, 400), HIT_NS + TRAVEL_NS);
        assert_eq!(traffic(&costs).shared_writes, 0);
        assert_eq!(costs.access(2, word, Access::Store, 500), HIT_NS + TRAVEL_NS);
        assert_eq!(traffic(&costs).shared_writes, 1);
        assert_eq!(traffic(&costs).write_misses, 3);
    }

    #[test]
    fn who_wants_a_line_that_is_under_way_waits_for_it() {
        let mut costs = CostModel::default();
        let word = site(0, 0x1000);
        for thread in 1..=3 {
            let cost_ns = costs.access(thread, word, Access::Modify, 0);
            assert_eq!(cost_ns, HIT_NS + MODIFY_NS + thread as u64 * TRAVEL_NS);
        }
        assert_eq!(traffic(&costs).queued_ns, 3 * TRAVEL_NS);
        // The line is with thread 1 until it has gone on to thread 2.
        let again_ns = costs.access(1, word, Access::Modify, TRAVEL_NS);
        assert_eq!(again_ns, HIT_NS + MODIFY_NS, "an exchange that failed succeeds");
        // Copies follow each other closely.
        assert_eq!(costs.access(4, word, Access::Load, 1_000), HIT_NS + TRAVEL_NS);
        assert_eq!(costs.access(5, word, Access::Load, 1_000), HIT_NS + TRAVEL_NS + COPY_NS);
    }

    #[test]
    fn words_share_a_line_if_they_were_made_together_and_lie_together() {
        let mut costs = CostModel::default();
        let mut line = |word, memory| costs.line_of(site(word, memory));
        let first = line(10, 0x1000);
        assert_eq!(line(11, 0x1008), first, "two fields");
        assert_ne!(line(12, 0x1080), first, "padded");
        assert_ne!(line(40, 0x1010), first, "of another allocation, which happens to be near");
        let array = line(53, 0x3018);
        assert_eq!(line(50, 0x3000), array, "an array, whichever is used first");
        assert_eq!(line(60, 0x4008), line(61, 0x4000), "fields in the other order");
        // The same at other addresses: the allocator has no say.
        assert_eq!(line(70, 0x1038), line(71, 0x1040), "across what would be a border");
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
    fn who_waits_for_a_lock_spins_before_it_sleeps() {
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
    fn parts_are_known_by_their_folder() {
        assert_eq!(Part::of("crates/heist/src/queue/injector.rs"), Part::Injector);
        assert_eq!(Part::of("crates/heist/src/queue/local_model.rs"), Part::Queues);
        assert_eq!(Part::of("crates\\heist\\src\\idle\\mod.rs"), Part::Idle);
        assert_eq!(Part::of("crates/heist/src/termination/rejected.rs"), Part::Termination);
        assert_eq!(Part::of("crates/heist/src/cancel.rs"), Part::Rest);
    }
}
