//! The grant store on SQLite; the protocol is described in `keyway-store`.

mod change_feed;
mod claims;
mod journal;
mod list;
mod outdated;
mod reserve;
mod row;
mod sqlite;
mod uptime;

pub use self::claims::RenewalUnderWay;
pub(crate) use self::list::{examine, indexes, named, open_row};
pub(crate) use self::outdated::{Known, known, mark_outdated};
pub(crate) use self::row::{END_CLAIM, NAMESPACE};
#[cfg(test)]
pub(crate) use self::sqlite::fill;
pub(crate) use self::sqlite::{all, is_good, put_in, take_out};

#[cfg(test)]
pub(crate) use self::tests::hold_open;

#[cfg(test)]
mod tests;
