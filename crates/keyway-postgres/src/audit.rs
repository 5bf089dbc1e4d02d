//! The audit of a tenant: rows chained by hash, each appended in the transaction of what it tells of.
//!
//! Rows about sign-ins are appended by the statements that change them, in `grants` and `replica`; the
//! functions of `schema/3.sql` do it. Here is what appends calls, reads rows, and computes the hashes
//! once more, without the help of the database.

use std::collections::VecDeque;
use std::time::Instant;

use keyway_store::{Generation, GrantKey, OwnerId, StoreError, Timestamp};
use ring::digest::{Context, SHA256};
use tokio_postgres::Row;

use crate::error::PostgresError;
use crate::live_replica::owner_id;
use crate::person::Person;
use crate::records::millis;
use crate::replica::Replica;
use crate::sessions::Values;

/// One row of the audit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditRow {
    /// Which of the tenant's chains it is in.
    pub chain: i32,
    /// Its place there, from 1 without a gap.
    pub number: i64,
    /// When it happened, by the database's clock.
    pub at: Timestamp,
    /// The person, by issuer and subject; `None` for what the tenant shares.
    pub person: Option<String>,
    /// What a call came by: the name of a gateway token, or of something that needs none.
    pub client: Option<String>,
    /// The replica that did it.
    pub replica: OwnerId,
    /// What it is about: `sign-in`, `refresh`, `claim`, `sign-out`, `person`, `call` or `audit`.
    pub event: String,
    /// What became of it.
    pub outcome: String,
    /// Why, where that is not plain; else empty.
    pub cause: String,
    /// The sign-in; of a call only plugin and server are known.
    pub grant: Option<GrantKey>,
    /// That of the sign-in.
    pub generation: Option<Generation>,
    /// The tool that was called.
    pub tool: Option<String>,
    /// How many entries it stands for, if it stands for several.
    pub entries: Option<i64>,
    /// Over this row and the hash of the one before it.
    pub hash: Vec<u8>,
    /// All columns but the hash, as they are hashed.
    content: Vec<u8>,
}

/// A call through a gateway, as the audit has it: neither arguments nor results.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AuditedCall {
    /// The person, by issuer and subject; `None` for a client that acts for the tenant.
    pub person: Option<String>,
    /// The name of the gateway token, or of what else the call came by.
    pub client: String,
    /// Plugin and server, as far as they are known.
    pub server: Option<(String, String)>,
    /// The tool.
    pub tool: Option<String>,
    /// How it ended.
    pub outcome: String,
    /// When it ended, by a clock that no person sets.
    pub ended: Instant,
}

impl AuditedCall {
    /// A call that ended now, and of which no more is known.
    #[must_use]
    pub fn now(client: impl Into<String>, outcome: impl Into<String>) -> Self {
        Self {
            person: None,
            client: client.into(),
            server: None,
            tool: None,
            outcome: outcome.into(),
            ended: Instant::now(),
        }
    }
}

/// A place in which the audit is not what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditFault {
    /// The chain.
    pub chain: i32,
    /// The number of the row.
    pub number: i64,
    /// What is wrong with it.
    pub kind: AuditFaultKind,
}

/// What is wrong with a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuditFaultKind {
    /// It is not there.
    Missing,
    /// It does not follow from the one before: one of the two was changed.
    Changed,
    /// It is beyond the recorded end of its chain.
    Added,
}

impl Replica {
    /// Appends calls to the audit of a tenant, and how many others were dropped.
    ///
    /// Blocks. A call whose person cannot be stored under that name counts as dropped.
    ///
    /// # Errors
    ///
    /// Returns why nothing was appended.
    pub fn append_calls(
        &self,
        tenant: &str,
        calls: &[AuditedCall],
        dropped: u64,
    ) -> Result<(), StoreError> {
        let tenant = Person::shared(tenant)?;
        let mut columns = Columns::default();
        let unnamed = calls
            .iter()
            .filter(|call| !columns.push(&tenant, call))
            .count();
        let dropped = i64::try_from(dropped).unwrap_or(i64::MAX);
        let dropped = dropped.saturating_add(i64::try_from(unnamed).unwrap_or(i64::MAX));
        let appended = async {
            let values: Values<'_> = &[
                &tenant.tenant(),
                &self.0.presence.owner,
                &columns.people,
                &columns.clients,
                &columns.names,
                &columns.tools,
                &columns.outcomes,
                &columns.ages,
                &dropped,
            ];
            let sessions = &self.0.sessions;
            let sql = "SELECT keyway.note_calls($1, $2, $3, $4, $5, $6, $7, $8, $9)";
            let rows = sessions.query("append to the audit", Some(&tenant), sql, values);
            rows.await.map(drop)
        };
        Ok(self.0.wait(appended)?)
    }

    /// Reads the audit of a tenant since a moment, in the order of time. Blocks.
    ///
    /// Rows that are appended meanwhile may be among them.
    ///
    /// # Errors
    ///
    /// Returns why the database cannot be asked, or what `each` returned.
    pub fn read_audit<E: From<StoreError>>(
        &self,
        tenant: &str,
        since: Option<Timestamp>,
        mut each: impl FnMut(AuditRow) -> Result<(), E>,
    ) -> Result<(), E> {
        let tenant = Person::shared(tenant).map_err(StoreError::from)?;
        // After every row from before, and before every row of that moment.
        let mut last = (since.map_or(i64::MIN, Timestamp::unix_millis), -1, 0);
        loop {
            let page = self.0.wait(async {
                let (at, chain, number) = &last;
                let values: Values<'_> = &[&tenant.tenant(), at, chain, number];
                rows(self, &tenant, BY_TIME, values).await
            });
            let page = page.map_err(StoreError::from)?;
            let Some(row) = page.back() else {
                return Ok(());
            };
            last = (row.at.unix_millis(), row.chain, row.number);
            page.into_iter().try_for_each(&mut each)?;
        }
    }

    /// Computes every hash of a tenant's audit once more, and compares the ends of its chains with
    /// what is recorded of them; returns where the audit is not what was written. Blocks.
    ///
    /// Not noticed is what was replaced from some row to the end, ends included, by what follows
    /// from that row: the database alone does not say that it ever held more. `each` gets every row,
    /// to be compared with what was exported earlier.
    ///
    /// # Errors
    ///
    /// Returns why the database cannot be asked, or what `each` returned.
    pub fn verify_audit<E: From<StoreError>>(
        &self,
        tenant: &str,
        mut each: impl FnMut(&AuditRow) -> Result<(), E>,
    ) -> Result<Vec<AuditFault>, E> {
        let tenant = Person::shared(tenant).map_err(StoreError::from)?;
        let before = ends(self, &tenant)?;
        let mut faults = Vec::new();
        let mut checks = Vec::new();
        for chain in 0..CHAINS {
            let mut reader = ChainReader::new(chain);
            let mut check = ChainCheck::new(chain);
            reader.fill(self, &tenant)?;
            while let Some(row) = reader.page.pop_front() {
                faults.extend(check.row(&row));
                each(&row)?;
                if reader.page.is_empty() {
                    reader.fill(self, &tenant)?;
                }
                if before.iter().any(|end| end.is_at(&row)) {
                    faults.extend(check.recorded(&before));
                }
            }
            faults.extend(check.cut(&before));
            checks.push(check);
        }
        // After the rows: what was appended meanwhile is not beyond an end.
        let after = ends(self, &tenant)?;
        let is_begun = !after.is_empty() || checks.iter().any(|check| check.number > 0);
        for check in checks.iter().filter(|_| is_begun) {
            faults.extend(check.beyond(&after));
        }
        faults.sort_by_key(|fault| (fault.chain, fault.number));
        faults.dedup();
        Ok(faults)
    }
}

/// Calls, column by column.
#[derive(Default)]
struct Columns {
    people: Vec<String>,
    clients: Vec<Vec<u8>>,
    names: Vec<Option<Vec<u8>>>,
    tools: Vec<Option<Vec<u8>>>,
    outcomes: Vec<String>,
    /// Milliseconds since they ended: the database's clock alone says when that was.
    ages: Vec<i64>,
}

impl Columns {
    /// Adds a call; says whether its person can be stored.
    fn push(&mut self, tenant: &Person, call: &AuditedCall) -> bool {
        let person = match &call.person {
            Some(person) => Person::new(tenant.tenant(), person),
            None => Ok(tenant.clone()),
        };
        let Ok(person) = person else {
            return false;
        };
        let name = |(plugin, server): &(String, String)| {
            let key = GrantKey::new("").plugin(plugin).server(server);
            key.name().into_bytes()
        };
        self.people.push(person.person().to_owned());
        self.clients.push(call.client.clone().into_bytes());
        self.names.push(call.server.as_ref().map(name));
        self.tools.push(call.tool.clone().map(String::into_bytes));
        self.outcomes.push(call.outcome.clone());
        self.ages.push(millis(call.ended.elapsed()));
        true
    }
}

async fn rows(
    replica: &Replica,
    tenant: &Person,
    sql: &str,
    values: Values<'_>,
) -> Result<VecDeque<AuditRow>, PostgresError> {
    let sessions = &replica.0.sessions;
    let found = sessions.query("read the audit", Some(tenant), sql, values);
    let read = |row| AuditRow::read(tenant.tenant(), row);
    Ok(found.await?.iter().map(read).collect())
}

/// Reads one chain, page by page: no transaction is as long as the audit is.
struct ChainReader {
    chain: i32,
    last: i64,
    page: VecDeque<AuditRow>,
}

impl ChainReader {
    const fn new(chain: i32) -> Self {
        Self {
            chain,
            last: i64::MIN,
            page: VecDeque::new(),
        }
    }

    /// Reads the next page; it stays empty at the end.
    fn fill(&mut self, replica: &Replica, tenant: &Person) -> Result<(), StoreError> {
        self.page = replica.0.wait(async {
            let values: Values<'_> = &[&tenant.tenant(), &self.chain, &self.last];
            rows(replica, tenant, BY_NUMBER, values).await
        })?;
        if let Some(row) = self.page.back() {
            self.last = row.number;
        }
        Ok(())
    }
}

/// What is recorded of the last row of a chain.
struct End {
    chain: i32,
    number: i64,
    hash: Vec<u8>,
}

impl End {
    fn is_at(&self, row: &AuditRow) -> bool {
        (self.chain, self.number) == (row.chain, row.number)
    }
}

fn ends(replica: &Replica, tenant: &Person) -> Result<Vec<End>, StoreError> {
    let rows = replica.0.wait(async {
        let values: Values<'_> = &[&tenant.tenant()];
        let sessions = &replica.0.sessions;
        let rows = sessions.query("read the ends of the audit", Some(tenant), ENDS, values);
        rows.await
    })?;
    let end = |row: &Row| End {
        chain: row.get("chain"),
        number: row.get("number"),
        hash: row.get("hash"),
    };
    Ok(rows.iter().map(end).collect())
}

/// Follows one chain.
struct ChainCheck {
    chain: i32,
    number: i64,
    hash: Vec<u8>,
}

impl ChainCheck {
    const fn new(chain: i32) -> Self {
        Self {
            chain,
            number: 0,
            hash: Vec::new(),
        }
    }

    const fn fault(&self, number: i64, kind: AuditFaultKind) -> AuditFault {
        AuditFault {
            chain: self.chain,
            number,
            kind,
        }
    }

    /// Looks at the next row; goes on from it whatever it is, so that one fault is told once.
    fn row(&mut self, row: &AuditRow) -> Option<AuditFault> {
        let wanted = self.number.saturating_add(1);
        let kind = if row.number != wanted {
            // What it follows from is gone, so that its own hash says nothing.
            Some((wanted, AuditFaultKind::Missing))
        } else if row.hash != row.digest(&self.hash) {
            Some((row.number, AuditFaultKind::Changed))
        } else {
            None
        };
        self.number = row.number;
        self.hash.clone_from(&row.hash);
        kind.map(|(number, kind)| self.fault(number, kind))
    }

    fn end<'a>(&self, ends: &'a [End]) -> Option<&'a End> {
        ends.iter().find(|end| end.chain == self.chain)
    }

    /// Compares the row that was last when the ends were read with what is recorded of it.
    fn recorded(&self, ends: &[End]) -> Option<AuditFault> {
        let end = self.end(ends)?;
        (end.hash != self.hash).then(|| self.fault(end.number, AuditFaultKind::Changed))
    }

    /// Says which row is missing at the end, by ends that were read before the rows.
    fn cut(&self, ends: &[End]) -> Option<AuditFault> {
        let end = self.end(ends)?;
        let next = self.number.saturating_add(1);
        (self.number < end.number).then(|| self.fault(next, AuditFaultKind::Missing))
    }

    /// Says which row is beyond the end, by ends that were read after the rows. All chains of a
    /// tenant are made at once, so that one without an end was removed.
    fn beyond(&self, ends: &[End]) -> Option<AuditFault> {
        match self.end(ends) {
            Some(end) if self.number <= end.number => None,
            Some(end) => {
                let number = end.number.saturating_add(1);
                Some(self.fault(number, AuditFaultKind::Added))
            }
            None => Some(self.fault(self.number.saturating_add(1), AuditFaultKind::Missing)),
        }
    }
}

impl AuditRow {
    /// Reads a row; what a changed row has in a form that we never write is shown as far as it can
    /// be, because its hash tells that it was changed.
    fn read(tenant: &str, row: &Row) -> Self {
        let bytes = |column| row.get::<_, Option<Vec<u8>>>(column);
        let text = |column| bytes(column).map(|it| String::from_utf8_lossy(&it).into_owned());
        let profile = text("profile").unwrap_or_default();
        let person: String = row.get("person");
        let generation: Option<i64> = row.get("generation");
        Self {
            chain: row.get("chain"),
            number: row.get("number"),
            at: Timestamp::from_unix_millis(row.get("at")),
            person: Some(person).filter(|it| !it.is_empty()),
            client: text("client"),
            replica: owner_id(row.get("replica")),
            event: row.get("event"),
            outcome: row.get("outcome"),
            cause: row.get("cause"),
            grant: text("name").and_then(|name| GrantKey::parse(&profile, &name)),
            generation: generation.map(Generation::new),
            tool: text("tool"),
            entries: row.get("entries"),
            hash: row.get("hash"),
            content: content(tenant, row),
        }
    }

    /// Computes the hash of the row, as `keyway.audit_hash` does.
    fn digest(&self, before: &[u8]) -> Vec<u8> {
        let mut first = Vec::new();
        put(&mut first, Some(before));
        let mut digest = Context::new(&SHA256);
        digest.update(&first);
        digest.update(&self.content);
        digest.finish().as_ref().to_vec()
    }
}

/// Joins all columns but the hash.
fn content(tenant: &str, row: &Row) -> Vec<u8> {
    let mut out = Vec::new();
    let bytes = |column| row.get::<_, Option<Vec<u8>>>(column);
    let text = |column| Some(row.get::<_, String>(column).into_bytes());
    let number = |column| Some(row.get::<_, Option<i64>>(column)?.to_be_bytes().to_vec());
    let parts = [
        Some(tenant.as_bytes().to_vec()),
        Some(row.get::<_, i32>("chain").to_be_bytes().to_vec()),
        number("number"),
        number("at"),
        text("person"),
        bytes("client"),
        number("replica"),
        text("event"),
        text("outcome"),
        text("cause"),
        bytes("profile"),
        bytes("name"),
        number("generation"),
        bytes("tool"),
        number("entries"),
    ];
    for part in &parts {
        put(&mut out, part.as_deref());
    }
    out
}

/// Appends a value with its length before it; a length that no value has stands for none.
fn put(out: &mut Vec<u8>, value: Option<&[u8]>) {
    let length = value.map_or(u32::MAX, |it| u32::try_from(it.len()).unwrap_or(u32::MAX));
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(value.unwrap_or_default());
}

/// As many as `keyway.audit_chain` makes.
const CHAINS: i32 = 32;
/// Each column by name: a statement that is prepared outlives a column that a later schema adds.
const BY_NUMBER: &str = "SELECT chain, number, at, person, client, replica, event, outcome, cause,
        profile, name, generation, tool, entries, hash FROM keyway.audit
    WHERE tenant = $1 AND chain = $2 AND number > $3 ORDER BY number LIMIT 1000";
const BY_TIME: &str = "SELECT chain, number, at, person, client, replica, event, outcome, cause,
        profile, name, generation, tool, entries, hash FROM keyway.audit
    WHERE tenant = $1 AND (at, chain, number) > ($2::bigint, $3::integer, $4::bigint)
    ORDER BY at, chain, number LIMIT 1000";
const ENDS: &str = "SELECT chain, number, hash FROM keyway.audit_chains WHERE tenant = $1";
