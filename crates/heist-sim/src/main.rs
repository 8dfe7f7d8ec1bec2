//! The simulator's command line.

#[cfg(heist_sim)]
fn main() {
    use heist_sim::{driver, play, report, scenario};
    use std::rc::Rc;
    let s = Rc::new(scenario::by_name(&std::env::args().nth(1).unwrap()).unwrap());
    let seed = std::env::args().nth(2).unwrap().parse().unwrap();
    let o = play::play(&s, Box::new(driver::Random::new(seed)), true);
    println!("{}", report::interleaving(&o));
    println!("{:?}", o.failure);
}

#[cfg(not(heist_sim))]
fn main() {
    eprintln!("heist-sim: built without the simulated machine; run `bash ci/sim.sh 60`");
    std::process::exit(2);
}
