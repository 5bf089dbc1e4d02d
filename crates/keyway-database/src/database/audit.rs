//! The audit of the tenant: calls on their way into it, and its rows as lines of JSON.
//!
//! A call is recorded off its own path: it waits in a bounded queue for the next batch. What does not
//! fit is dropped and counted, and the count is a row of its own. Neither arguments nor results are
//! ever kept.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use keyway::events::rfc3339;
use keyway::store::{Generation, GrantKey, StoreError, Timestamp};
use keyway_dashboard::activity::{ActivityEntry, ActivitySink, Outcome};
use keyway_postgres::{AuditFault, AuditFaultKind, AuditRow, AuditedCall};
use keyway_secret::hex;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::Database;
use crate::timeouts::{AUDIT_DELAY, AUDIT_RETRY_PAUSE};

/// Takes calls as they end.
#[derive(Clone, Debug)]
pub struct CallAudit {
    out: mpsc::Sender<AuditedCall>,
    /// How many calls did not fit and are in no row yet. `Relaxed`: it guards no other data, and a
    /// call that is counted late is in the next row.
    dropped: Arc<AtomicU64>,
}

/// Writes calls to the database until it is told to end.
#[derive(Debug)]
pub struct CallWriter {
    database: Database,
    calls: mpsc::Receiver<AuditedCall>,
    /// That of the [`CallAudit`]. `Relaxed`, as there.
    dropped: Arc<AtomicU64>,
}

impl ActivitySink for CallAudit {
    /// Queues a call; one that does not fit is dropped and counted.
    fn record(&self, entry: &Arc<ActivityEntry>) {
        let request = &entry.request;
        if request.method != "tools/call" {
            return;
        }
        let mut call = AuditedCall::now(&*request.by, outcome(entry.outcome));
        call.person.clone_from(&request.person);
        call.server.clone_from(&request.server);
        call.tool.clone_from(&request.tool);
        if self.out.try_send(call).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn outcome(outcome: Outcome) -> String {
    match outcome {
        Outcome::Done => "done".to_owned(),
        Outcome::ToolFailed => "tool-failed".to_owned(),
        Outcome::Error(code) => format!("error {code}"),
        Outcome::Status(status) => format!("status {status}"),
        Outcome::Abandoned => "abandoned".to_owned(),
    }
}

impl CallWriter {
    /// Writes what comes in batches, and what is left once `stop` ends; returns how many calls could
    /// not be written. While the database is away calls wait, as many as the queue holds.
    ///
    /// Cancel safety: calls that wait, and a batch that is being written, may be lost.
    pub async fn run(mut self, stop: impl Future<Output = ()>) -> u64 {
        let mut stop = pin!(stop);
        let mut batch = Vec::new();
        loop {
            // Not biased: calls that were collected are in `batch`, which outlives the future, and
            // those that come after `stop` are taken out below.
            tokio::select! {
                () = self.collect(&mut batch) => {}
                () = &mut stop => break,
            }
            while !self.write(&mut batch).await {
                // Not biased: either way the batch is kept.
                tokio::select! {
                    () = sleep(AUDIT_RETRY_PAUSE) => {}
                    () = &mut stop => return self.end(batch).await,
                }
            }
        }
        self.end(batch).await
    }

    /// Waits for a first call, and then for more until there are enough or it has been long enough.
    async fn collect(&mut self, batch: &mut Vec<AuditedCall>) {
        let Some(first) = self.calls.recv().await else {
            return std::future::pending().await;
        };
        batch.push(first);
        let fill = async {
            while batch.len() < BATCH {
                match self.calls.recv().await {
                    Some(call) => batch.push(call),
                    None => return,
                }
            }
        };
        drop(timeout(AUDIT_DELAY, fill).await);
    }

    /// Writes what is left, as long as that works.
    async fn end(mut self, mut batch: Vec<AuditedCall>) -> u64 {
        loop {
            while batch.len() < BATCH
                && let Ok(call) = self.calls.try_recv()
            {
                batch.push(call);
            }
            let is_left = !batch.is_empty() || self.dropped.load(Ordering::Relaxed) > 0;
            if !is_left {
                return 0;
            }
            if !self.write(&mut batch).await {
                let waiting = batch.len().saturating_add(self.calls.len());
                let waiting = u64::try_from(waiting).unwrap_or(u64::MAX);
                return waiting.saturating_add(self.dropped.load(Ordering::Relaxed));
            }
        }
    }

    /// Writes a batch and how many were dropped; keeps both if that fails.
    async fn write(&self, batch: &mut Vec<AuditedCall>) -> bool {
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        let (database, calls) = (self.database.clone(), std::mem::take(batch));
        let count = u64::try_from(calls.len()).unwrap_or(u64::MAX);
        let written = tokio::task::spawn_blocking(move || {
            let Database {
                replica, tenant, ..
            } = &database;
            let written = replica.append_calls(tenant, &calls, dropped);
            (written.is_ok(), calls)
        });
        let Ok((is_written, calls)) = written.await else {
            // The calls are gone with the task, which panicked.
            let lost = dropped.saturating_add(count);
            self.dropped.fetch_add(lost, Ordering::Relaxed);
            return false;
        };
        if !is_written {
            self.dropped.fetch_add(dropped, Ordering::Relaxed);
            *batch = calls;
        }
        is_written
    }
}

/// What was exported earlier, to compare the audit with: the row of each place by its hash.
#[derive(Debug, Default)]
pub struct ExportedRows(HashMap<(i32, i64), String>);

impl ExportedRows {
    /// Reads a file of lines that [`Database::export_audit`] wrote; none without a path.
    ///
    /// # Errors
    ///
    /// Returns why they cannot be read, or which line is none of those.
    pub fn open(path: Option<&Path>) -> io::Result<Self> {
        match path {
            Some(path) => Self::read(BufReader::new(File::open(path)?)),
            None => Ok(Self::default()),
        }
    }

    fn read(lines: impl BufRead) -> io::Result<Self> {
        #[derive(Deserialize)]
        struct Line {
            chain: i32,
            number: i64,
            hash: String,
        }
        let mut rows = HashMap::new();
        for (index, line) in lines.lines().enumerate() {
            let line: Line = serde_json::from_str(&line?).map_err(|_| {
                let what = format!("line {} is no row of an audit", index + 1);
                io::Error::new(io::ErrorKind::InvalidData, what)
            })?;
            rows.insert((line.chain, line.number), line.hash);
        }
        Ok(Self(rows))
    }
}

/// What a look at the whole audit found.
#[derive(Debug)]
#[non_exhaustive]
pub struct AuditReport {
    /// How many rows there are.
    pub rows: u64,
    /// In words, which rows are missing or were changed.
    pub faults: Vec<String>,
}

impl AuditReport {
    /// Returns what was found as lines for a person.
    #[must_use]
    pub fn text(&self) -> String {
        if self.faults.is_empty() {
            let rows = if self.rows == 1 { "row" } else { "rows" };
            return format!("{} {rows}, none missing or changed\n", self.rows);
        }
        let shown = self.faults.iter().take(MOST_FAULTS);
        let mut text: String = shown.map(|fault| format!("error: {fault}\n")).collect();
        let more = self.faults.len().saturating_sub(MOST_FAULTS);
        if more > 0 {
            text.push_str(&format!("and {more} more\n"));
        }
        text
    }
}

impl Database {
    /// Makes what takes calls, and what writes them to the audit.
    #[must_use]
    pub fn audit_calls(&self) -> (CallAudit, CallWriter) {
        let (out, calls) = mpsc::channel(QUEUE);
        let dropped = Arc::<AtomicU64>::default();
        let audit = CallAudit {
            out,
            dropped: Arc::clone(&dropped),
        };
        let writer = CallWriter {
            database: self.clone(),
            calls,
            dropped,
        };
        (audit, writer)
    }

    /// Reads the audit of the tenant in the order of time, each row as a line of JSON; `each` gets some
    /// lines at a time. `since` is in seconds since 1970. Blocks.
    ///
    /// # Errors
    ///
    /// Returns why the database cannot be asked, or what `each` returned.
    pub fn export_audit<E: From<StoreError>>(
        &self,
        since: Option<i64>,
        mut each: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self {
            replica, tenant, ..
        } = self;
        let since = since.map(|it| Timestamp::from_unix_millis(it.saturating_mul(1000)));
        let mut lines = String::new();
        replica.read_audit(tenant, since, |row| {
            lines.push_str(&line(tenant, &row));
            if lines.len() < WRITTEN_AT_ONCE {
                return Ok(());
            }
            each(&std::mem::take(&mut lines))
        })?;
        each(&lines)
    }

    /// Looks for rows of the tenant's audit that are missing or were changed, also against rows that
    /// were exported earlier. Blocks.
    ///
    /// # Errors
    ///
    /// Returns why the database cannot be asked.
    pub fn verify_audit(&self, earlier: ExportedRows) -> Result<AuditReport, StoreError> {
        let mut earlier = earlier.0;
        let (mut rows, mut others) = (0, Vec::new());
        let faults = self.replica.verify_audit(&self.tenant, |row| {
            rows += 1;
            let exported = earlier.remove(&(row.chain, row.number));
            if exported.is_some_and(|hash| hash != hex::write(&row.hash)) {
                others.push((row.chain, row.number, "is not the one that was exported"));
            }
            Ok::<_, StoreError>(())
        })?;
        let gone = earlier.into_keys();
        others.extend(gone.map(|(chain, number)| (chain, number, "was exported and is missing")));
        others.sort_unstable();
        let words = |(chain, number, what): (i32, i64, &str)| {
            format!("row {number} of chain {chain} {what}")
        };
        let faults = faults.into_iter().map(|fault| {
            let AuditFault { chain, number, .. } = fault;
            words((chain, number, kind_words(fault.kind)))
        });
        let faults = faults.chain(others.into_iter().map(words)).collect();
        Ok(AuditReport { rows, faults })
    }
}

const fn kind_words(kind: AuditFaultKind) -> &'static str {
    match kind {
        AuditFaultKind::Missing => "is missing",
        AuditFaultKind::Added => "is beyond the recorded end of the chain",
        _ => "was changed, or the row before it",
    }
}

fn line(tenant: &str, row: &AuditRow) -> String {
    let given = |text: &str| Some(text.to_owned()).filter(|it| !it.is_empty());
    let part = |part: fn(&GrantKey) -> &str| given(row.grant.as_ref().map(part)?);
    let line = json!({
        "at": moment(row.at),
        "tenant": tenant,
        "who": row.person.as_deref().unwrap_or("tenant"),
        "client": row.client,
        "event": row.event,
        "outcome": row.outcome,
        "cause": given(&row.cause),
        "profile": part(GrantKey::profile),
        "plugin": part(GrantKey::plugin_name),
        "server": part(GrantKey::server_name),
        "account": part(GrantKey::account_name),
        "generation": row.generation.map(Generation::get),
        "tool": row.tool,
        "entries": row.entries,
        "replica": row.replica.as_str(),
        "chain": row.chain,
        "number": row.number,
        "hash": hex::write(&row.hash),
    });
    format!("{line}\n")
}

/// Writes a moment as RFC 3339 does, to the millisecond.
fn moment(at: Timestamp) -> String {
    let millis = at.unix_millis();
    let whole = rfc3339(millis.div_euclid(1000));
    let whole = whole.trim_end_matches('Z');
    format!("{whole}.{:03}Z", millis.rem_euclid(1000))
}

/// There may be millions of short lines.
const WRITTEN_AT_ONCE: usize = 64 * 1024;
/// How many faults are printed.
const MOST_FAULTS: usize = 20;
/// How many calls wait at most.
const QUEUE: usize = 8192;
/// How many calls one transaction has at most.
const BATCH: usize = 512;

#[cfg(test)]
mod tests;
