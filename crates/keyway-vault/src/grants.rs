//! The grant store on SQLite; the protocol is described in `keyway-store`.

mod change_feed;
mod list;
mod owner;
mod row;
mod sqlite;
mod use_marker;

pub(crate) use self::list::examine;
pub(crate) use self::owner::Owner;

#[cfg(test)]
mod tests;
