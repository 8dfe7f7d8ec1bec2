//! Throughput of queues, in items per second.

use crate::contender::{Contender, Sampling, measure};
use crate::queues::{
    Crossbeam, CrossbeamBatched, Flume, FlumeDrained, Gated, QueueLoad, QueuePeer, TokioMpsc,
    million_items_per_second,
};
use crate::ratio::Unit;
use crate::report::Measurement;

pub(crate) fn measure_load(case: &str, sampling: &Sampling, load: QueueLoad) -> Measurement {
    let contenders = vec![
        contender::<Gated>("heist", load),
        contender::<TokioMpsc>("tokio", load),
        contender::<Flume>("flume", load),
        contender::<FlumeDrained>("flume drain", load),
        contender::<Crossbeam>("crossbeam", load),
        contender::<CrossbeamBatched>("crossbeam try_iter", load),
    ];
    measure(case, Unit::MillionItemsPerSecond, sampling, contenders)
}

fn contender<P: QueuePeer>(name: &'static str, load: QueueLoad) -> Contender {
    Contender::new(name, move || million_items_per_second::<P>(load))
}
