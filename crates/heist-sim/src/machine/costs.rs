//! What operations would cost on real cores: a small model of cache lines that travel.
//!
//! A line is in the cache of whoever wrote it last, and of those who have read it since. Reading or writing a line
//! that one has costs next to nothing. Otherwise it has to travel, and while it does, the next one waits: that is
//! what contention is. The figures are those of a desktop processor, rounded; only their proportions matter.

use super::ThreadId;
use std::collections::{HashMap, HashSet};

const LINE_BYTES: usize = 64;
const HIT_NS: u64 = 1;
const TRAVEL_NS: u64 = 60;
const FENCE_NS: u64 = 8;
/// From the waker's token to the first instruction of the woken.
const WAKE_NS: u64 = 5_000;

#[derive(Debug, Default)]
struct Line {
    writer: Option<ThreadId>,
    holders: HashSet<ThreadId>,
    busy_until_ns: u64,
}

/// The lines, and what their travels have cost so far.
#[derive(Debug, Default)]
pub struct CostModel {
    lines: HashMap<usize, Line>,
    asleep_since_ns: HashMap<ThreadId, u64>,
    /// Accesses of any kind.
    pub accesses: u64,
    /// Writes to a line that another thread has written before.
    pub shared_writes: u64,
    /// Reads of a line that has to travel.
    pub read_misses: u64,
    /// Time lost by waiting for a line that others wanted too.
    pub queued_ns: u64,
    /// Threads woken.
    pub wakes: u64,
    /// Time asleep, of all threads together.
    pub asleep_ns: u64,
}

impl CostModel {
    /// What an access costs the thread that makes it.
    pub(super) fn access(
        &mut self,
        thread: ThreadId,
        memory: usize,
        writes: bool,
        now_ns: u64,
    ) -> u64 {
        self.accesses += 1;
        let line = self.lines.entry(memory / LINE_BYTES).or_default();
        let is_mine = line.writer.is_none_or(|writer| writer == thread);
        let holds = line.holders.contains(&thread);
        let alone = line.holders.len() == 1;
        let travels = if writes { !(holds && alone) } else { !holds };
        self.shared_writes += u64::from(writes && !is_mine);
        self.read_misses += u64::from(!writes && travels);
        if writes {
            line.writer = Some(thread);
            line.holders.clear();
        }
        line.holders.insert(thread);
        if !travels {
            return HIT_NS;
        }
        let start_ns = now_ns.max(line.busy_until_ns);
        line.busy_until_ns = start_ns + TRAVEL_NS;
        self.queued_ns += start_ns - now_ns;
        line.busy_until_ns - now_ns
    }

    pub(super) fn fence_ns(&self) -> u64 {
        FENCE_NS
    }

    pub(super) fn fell_asleep(&mut self, thread: ThreadId, now_ns: u64) {
        self.asleep_since_ns.insert(thread, now_ns);
    }

    /// Somebody woke the thread at `now_ns`; returns when it is awake.
    pub(super) fn woke_up(&mut self, thread: ThreadId, now_ns: u64) -> u64 {
        self.wakes += 1;
        let since_ns = self.asleep_since_ns.remove(&thread).unwrap_or(now_ns);
        let awake_ns = now_ns.max(since_ns) + WAKE_NS;
        self.asleep_ns += awake_ns - since_ns;
        awake_ns
    }
}
