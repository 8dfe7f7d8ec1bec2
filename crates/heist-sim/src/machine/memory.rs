//! Simulated memory: words, and the stores that are not visible to all threads yet.

use std::collections::VecDeque;

/// The words, and a store buffer per thread.
#[derive(Debug, Default)]
pub(super) struct Memory {
    words: Vec<u64>,
    /// The stores of each thread that other threads do not see yet, oldest first.
    buffers: Vec<VecDeque<(usize, u64)>>,
    /// The threads whose buffers are not empty.
    buffered: Vec<usize>,
    /// The number of threads that wait with a deadline.
    pub(super) timed_waits: usize,
}

impl Memory {
    pub(super) fn allocate(&mut self, value: u64) -> usize {
        self.words.push(value);
        self.words.len() - 1
    }

    pub(super) fn add_thread(&mut self) {
        self.buffers.push(VecDeque::new());
    }

    pub(super) fn buffered_threads(&self) -> &[usize] {
        &self.buffered
    }

    pub(super) fn has_buffered(&self, thread: usize) -> bool {
        !self.buffers[thread].is_empty()
    }

    /// Returns the value that `thread` sees.
    pub(super) fn load(&self, thread: usize, address: usize) -> u64 {
        let own = self.buffers[thread].iter().rev().find(|(stored, _)| *stored == address);
        own.map_or(self.words[address], |(_, value)| *value)
    }

    pub(super) fn store(&mut self, thread: usize, address: usize, value: u64) {
        if self.buffers[thread].is_empty() {
            self.buffered.push(thread);
        }
        self.buffers[thread].push_back((address, value));
    }

    /// Makes the oldest store of `thread` visible to all threads. Returns its address and value.
    pub(super) fn flush_one(&mut self, thread: usize) -> (usize, u64) {
        let (address, value) = self.buffers[thread].pop_front().expect("there is a store");
        self.words[address] = value;
        if self.buffers[thread].is_empty() {
            let place = self.buffered.iter().position(|other| *other == thread);
            self.buffered.swap_remove(place.expect("it was there"));
        }
        (address, value)
    }

    /// Returns the value in memory, without regard to store buffers.
    pub(super) fn read(&self, address: usize) -> u64 {
        self.words[address]
    }

    pub(super) fn write(&mut self, address: usize, value: u64) {
        self.words[address] = value;
    }
}
