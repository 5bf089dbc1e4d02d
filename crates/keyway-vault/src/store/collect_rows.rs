//! A new database of the rows that lie in the pages of a damaged one.
//!
//! A row is known by its form: no two tables of the vault have the same types in the same order.
//! Whether it is a row of this vault is not decided here: what does not open with the vault's key is
//! left behind later.

use std::collections::HashMap;
use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection, ErrorCode};

use crate::error::VaultError;
use crate::folders::Folder;

use super::connection;
use super::create;
use super::page_rows::{PageRow, PageValue, Tree, rows_of_pages};

/// Makes the tables in a new file `to`, and fills them from the pages of the file `from`.
pub(crate) fn collect_rows(data: &Folder, from: &str, to: &str) -> Result<(), VaultError> {
    let path = data.path().join(from);
    take_log_in(&path);
    let file = std::fs::read(&path).map_err(|source| VaultError::file("read", &path, source))?;
    drop(data.create_open(to)?);
    let schema = schema(&file);
    let connection = connection::make_older_tables(data, to, schema)?;
    fill(&connection, rows_of_pages(&file))?;
    create::close(connection)
}

/// Has SQLite write the log into the file: whole pages to their places, whatever they hold.
fn take_log_in(path: &Path) {
    // If it does not open, what the log holds is lost, and the pages of the file are not.
    if let Ok(connection) = Connection::open(path) {
        let ended = connection.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()));
        drop(ended);
    }
}

/// Reads the version of the tables (section 1.3.14 of SQLite's file format); what cannot be one
/// counts as the present one.
fn schema(file: &[u8]) -> i64 {
    let bytes = file.get(60..64).and_then(|bytes| bytes.try_into().ok());
    let found = bytes.map_or(0, |bytes| i64::from(u32::from_be_bytes(bytes)));
    if (1..connection::SCHEMA).contains(&found) {
        found
    } else {
        connection::SCHEMA
    }
}

fn fill(connection: &Connection, rows: Vec<PageRow>) -> Result<(), VaultError> {
    let mut rows: Vec<(Table, i64, Vec<PageValue>)> =
        rows.into_iter().filter_map(recognised).collect();
    // The last one stays. If pages of two moments lie side by side, that is the newest, even if it
    // does not open: its predecessor holds a refresh token that was used.
    rows.sort_by_key(|(_, age, _)| *age);
    let failed = || VaultError::database("be repaired");
    connection.execute_batch("BEGIN").map_err(failed())?;
    let mut columns = HashMap::new();
    for table in Table::ALL {
        columns.insert(table, columns_of(connection, table).map_err(failed())?);
    }
    for (table, _, values) in rows {
        // A row from before a column was added does not have it.
        let columns = columns.get(&table).and_then(|it| it.get(..values.len()));
        let Some(columns) = columns else {
            continue;
        };
        let places = vec!["?"; columns.len()].join(", ");
        let (table, columns) = (table.name(), columns.join(", "));
        let insert = format!("INSERT OR REPLACE INTO {table} ({columns}) VALUES ({places})");
        let values = rusqlite::params_from_iter(values.into_iter().map(sql_value));
        let inserted = connection
            .prepare(&insert)
            .and_then(|mut statement| statement.execute(values));
        match inserted {
            // It has the form of a row, and is none.
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {}
            inserted => drop(inserted.map_err(failed())?),
        }
    }
    connection.execute_batch("COMMIT").map_err(failed())
}

/// Lists the columns in the order in which rows hold them: every key of the vault comes first.
fn columns_of(connection: &Connection, table: Table) -> rusqlite::Result<Vec<String>> {
    let query = "SELECT name FROM pragma_table_info(?1) ORDER BY cid";
    let mut statement = connection.prepare(query)?;
    let names = statement.query_map([table.name()], |row| row.get(0))?;
    names.collect()
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Table {
    Header,
    DataKeys,
    Manifests,
    Buckets,
    Records,
    Grants,
}

impl Table {
    const ALL: [Self; 6] = [
        Self::Header,
        Self::DataKeys,
        Self::Manifests,
        Self::Buckets,
        Self::Records,
        Self::Grants,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::DataKeys => "data_keys",
            Self::Manifests => "manifests",
            Self::Buckets => "buckets",
            Self::Records => "records",
            Self::Grants => "grants",
        }
    }
}

/// Tells the table of a row, and how many changes came before it.
fn recognised(row: PageRow) -> Option<(Table, i64, Vec<PageValue>)> {
    use PageValue::{Blob, Integer, Null, Text};

    let PageRow { tree, mut values } = row;
    let (table, age) = match (tree, values.as_slice()) {
        (Tree::Index, [Blob(_), Blob(_), Blob(_)]) => (Table::DataKeys, 0),
        (Tree::Index, [Text(_), Integer(counter), Blob(_)]) => (Table::Manifests, *counter),
        (Tree::Index, [Text(_), Integer(_), Integer(counter), Blob(_)]) => {
            (Table::Buckets, *counter)
        }
        (
            Tree::Index,
            [
                Text(_),
                Text(_),
                Integer(generation),
                Integer(_) | Null,
                Blob(_),
                Blob(_),
            ],
        ) => (Table::Records, *generation),
        (
            Tree::Index,
            [
                Text(_),
                Text(_),
                Integer(generation),
                Blob(_),
                Blob(_),
                Integer(_) | Null,
                Blob(_) | Null,
                Blob(_),
                ..,
            ],
        ) => (Table::Grants, *generation),
        // SQLite keeps the number of a row apart, and `NULL` in its place.
        (Tree::Table, [Null, Blob(_), Text(_), Blob(_), ..]) if values.len() == HEADER_COLUMNS => {
            (Table::Header, 0)
        }
        _ => return None,
    };
    if matches!(table, Table::Header) {
        *values.first_mut()? = Integer(1);
    }
    Some((table, age, values))
}

fn sql_value(value: PageValue) -> Value {
    match value {
        PageValue::Null => Value::Null,
        PageValue::Integer(number) => Value::Integer(number),
        PageValue::Text(text) => Value::Text(text),
        PageValue::Blob(bytes) => Value::Blob(bytes),
    }
}

const HEADER_COLUMNS: usize = 14;
