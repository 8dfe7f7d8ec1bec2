//! What the test modules share.

pub(crate) mod du;
pub(crate) mod requirements;
pub(crate) mod scan;
pub(crate) mod terminal;
