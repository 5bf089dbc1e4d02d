//! The grant store on SQLite; the protocol is described in `keyway-store`.

mod change_feed;
mod list;
mod row;
mod sqlite;
mod use_marker;

pub(crate) use self::list::examine;

#[cfg(test)]
mod tests;
