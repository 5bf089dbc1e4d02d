//! What the two clients that the official conformance suite tests have in common: the adapter on the
//! library (`conformance-client`) and the driver of `keyway run` (`conformance-run`).
//!
//! Both do the same with every server and never ask which scenario is under way; what a scenario
//! hands to its client is the [`Context`].

mod arguments;
mod context;
mod person;
mod settings;
mod work;

pub use self::arguments::filled_in;
pub use self::context::Context;
pub use self::person::{answer, capabilities};
pub use self::work::{Connected, use_everything};
