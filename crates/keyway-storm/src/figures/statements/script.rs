//! Scripts for `pgbench`, made of the statements that the store sends.

use std::collections::HashMap;

use keyway_store::{Generation, GrantStore as _};

use super::{CONNECTIONS, PEOPLE_EACH};
use crate::figures::team::{Pattern, Team};
use crate::timeouts::{CLAIM_LIFETIME, LONG};

/// What `pgbench` runs, as the store sent it.
pub(super) struct Scripts {
    /// Makes the rows of its own people.
    pub(super) people: String,
    pub(super) claim: Script,
    pub(super) read: Script,
}

/// A script, and its variables that stay the same, as `name=value`.
pub(super) struct Script {
    pub(super) text: String,
    pub(super) constants: Vec<String>,
}

impl Script {
    /// Returns the same script, which waits for each statement before it sends the next.
    pub(super) fn one_by_one(&self) -> Self {
        let lines = self.text.lines().filter(|line| !line.ends_with("pipeline"));
        Self {
            text: lines.map(|line| format!("{line}\n")).collect(),
            constants: self.constants.clone(),
        }
    }
}

impl Scripts {
    /// Uses the store once on one sign-in while the server logs each statement.
    pub(super) fn learn(team: &Team, pattern: &Pattern) -> Self {
        let owner = |order| {
            let sql = "SELECT owner FROM keyway.replicas ORDER BY since";
            team.sql(&format!("{sql} {order} LIMIT 1"))
        };
        team.sql("ALTER DATABASE team SET log_statement = 'all'");
        // It connects at its first statement.
        let store = team.store(1);
        let grants = store.grants(team.person(0));
        let place = team.database.folder().join("log");
        let logged = |work: &dyn Fn()| {
            let length = std::fs::metadata(&place).expect("a log").len();
            work();
            let text = std::fs::read_to_string(&place).expect("a log");
            let new = usize::try_from(length).ok().and_then(|at| text.get(at..));
            statements(new.unwrap_or_default())
        };
        let key = &pattern.key;
        let read_once = || {
            let found = grants.read(key).expect("a read");
            found.expect("a sign-in").generation
        };
        let generation = read_once();
        let tokens = pattern.tokens((0, 1)).with_lifetime(LONG);
        let read = logged(&|| {
            read_once();
        });
        let claim = logged(&|| {
            grants
                .claim(key, generation, CLAIM_LIFETIME)
                .expect("a claim");
        });
        let commit = logged(&|| {
            grants.commit(key, generation, &tokens).expect("a commit");
        });
        team.sql("ALTER DATABASE team RESET log_statement");
        let claim = Transaction::of(claim);
        let person = claim.statement.value(2);
        let known = Known {
            generation,
            person: &person,
            // The store ends with this function; its owner's lock would be free.
            owners: (owner("DESC"), owner("ASC")),
        };
        let mut both = claim.script(&known, "a");
        let commit = Transaction::of(commit).script(&known, "b");
        both.text += commit.text.trim_start_matches(VARIABLES);
        both.constants.extend(commit.constants);
        Self {
            people: people(&person),
            claim: both,
            read: Transaction::of(read).script(&known, "a"),
        }
    }
}

/// Copies the sign-in of a person for each of `pgbench`'s.
fn people(person: &str) -> String {
    let last = PEOPLE_EACH * CONNECTIONS - 1;
    format!(
        "INSERT INTO keyway.grants (tenant, person, grant_id, profile, name, generation, key_id,
            access, refresh, details, fingerprint, expires_at)
         SELECT tenant, ({FIRST} + row)::text, grant_id, profile, name, (row + 1)::bigint << 32,
            key_id, access, refresh, details, fingerprint, expires_at
         FROM keyway.grants, generate_series(0, {last}) row WHERE person = '{person}'"
    )
}

/// What is different for each row, as it was when the statements were logged.
struct Known<'a> {
    generation: Generation,
    person: &'a str,
    /// The owner that was logged, and the one whose lock is held while `pgbench` runs.
    owners: (String, String),
}

/// One statement that the server ran, and its values.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Statement {
    sql: String,
    values: HashMap<usize, String>,
}

impl Statement {
    fn value(&self, number: usize) -> String {
        self.values.get(&number).cloned().unwrap_or_default()
    }
}

/// Reads the statements of a log, which continues them on lines that begin with a tab.
fn statements(log: &str) -> Vec<Statement> {
    let whole = log.replace("\n\t", "\n ");
    let entries = whole.split("LOG:  execute ").skip(1);
    let read = entries.filter_map(|entry| {
        let (_, rest) = entry.split_once(": ")?;
        // Up to the line that the next message begins, with the year.
        let end = rest.find("\n20").unwrap_or(rest.len());
        let values = entry.find("DETAIL:  ").map(|at| values(&entry[at..]));
        Some(Statement {
            sql: rest[..end].trim().to_owned(),
            values: values.unwrap_or_default(),
        })
    });
    read.collect()
}

/// Reads `parameters: $1 = 'a', $2 = 'b'`; quotes in a value are doubled.
fn values(detail: &str) -> HashMap<usize, String> {
    let mut found = HashMap::new();
    let mut rest = detail;
    for number in 1.. {
        let name = format!("${number} = '");
        let Some((_, value)) = rest.split_once(&name) else {
            break;
        };
        let mut text = String::new();
        let mut characters = value.char_indices().peekable();
        while let Some((at, character)) = characters.next() {
            if character == '\'' && characters.next_if(|(_, next)| *next == '\'').is_none() {
                rest = &value[at..];
                break;
            }
            text.push(character);
        }
        found.insert(number, text);
    }
    found
}

/// A statement as the store sends it: in a transaction that names the person, all at once.
struct Transaction {
    /// What names the person.
    naming: String,
    statement: Statement,
}

impl Transaction {
    fn of(mut logged: Vec<Statement>) -> Self {
        let is_naming = |it: &Statement| it.sql.starts_with("SELECT set_config(");
        let at = logged.iter().position(is_naming);
        let naming = logged.remove(at.expect("the name of a person")).sql;
        logged.retain(|it| it.sql.contains("keyway.grants"));
        let [statement] = logged.as_slice() else {
            panic!("not one statement: {logged:?}");
        };
        Self {
            naming,
            statement: statement.clone(),
        }
    }

    /// Writes the transaction with variables in place of values; constants have names with a prefix.
    fn script(&self, known: &Known<'_>, prefix: &str) -> Script {
        let mut constants = vec!["tenant=default".to_owned()];
        let mut sql = self.statement.sql.clone();
        let mut numbers: Vec<usize> = self.statement.values.keys().copied().collect();
        // From the last on: `$1` is in `$12`, too.
        numbers.sort_unstable_by(|one, other| other.cmp(one));
        let claims = sql.split("SET claim = $").nth(1);
        let claim = claims.and_then(|rest| rest.split(',').next()?.parse::<usize>().ok());
        let (logged, held) = &known.owners;
        let generation = known.generation.get();
        for number in numbers {
            let value = self.statement.value(number);
            let name = if claim == Some(number) {
                "claim".to_owned()
            } else if value == known.person {
                "person".to_owned()
            } else if value == generation.to_string() {
                "generation".to_owned()
            } else if value == (generation + 1).to_string() {
                "next".to_owned()
            } else if value.is_empty() {
                // `pgbench` has no empty variables.
                sql = sql.replace(&format!("${number}"), "''");
                continue;
            } else {
                let name = format!("{prefix}{number}");
                let value = if value == *logged { held } else { &value };
                constants.push(format!("{name}={value}"));
                name
            };
            sql = sql.replace(&format!("${number}"), &format!(":{name}"));
        }
        assert!(!sql.contains('$'), "a value is not known: {sql}");
        let naming = self
            .naming
            .replace("$1", ":tenant")
            .replace("$2", ":person");
        let text = format!(
            "{VARIABLES}\\startpipeline\nBEGIN;\n{naming};\n{sql};\nCOMMIT;\n\\endpipeline\n"
        );
        Script { text, constants }
    }
}

/// The person of `pgbench`'s first row: as long as names of people are.
pub(super) const FIRST: u64 = 100_000_000_000_000_000;
/// Each client has rows of its own, and renews them in turn.
const VARIABLES: &str = "\\set n :n + 1
\\set row :client_id * 100 + :n % 100
\\set person 100000000000000000 + :row
\\set generation ((:row + 1) << 32) + :n / 100
\\set next :generation + 1
\\set claim random(1, 9000000000000000000)
";
const _: () = assert!(PEOPLE_EACH == 100, "the script says so");

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "2026-11-19 01:00:00.000 UTC [7] LOG:  statement: BEGIN
2026-11-19 01:00:00.000 UTC [7] LOG:  execute s1: SELECT set_config('keyway.tenant', $1, true), set_config('keyway.person', $2, true)
2026-11-19 01:00:00.000 UTC [7] DETAIL:  parameters: $1 = 'default', $2 = 'it''s p0'
2026-11-19 01:00:00.000 UTC [7] LOG:  execute s2: UPDATE keyway.grants
\t    SET claim = $5, claim_owner = $6
\t    WHERE tenant = $1 AND person = $2 AND grant_id = $3 AND generation = $4
2026-11-19 01:00:00.000 UTC [7] DETAIL:  parameters: $1 = 'default', $2 = 'it''s p0', $3 = '\\x00', $4 = '4294967296', $5 = '77', $6 = '12'
2026-11-19 01:00:00.000 UTC [7] LOG:  statement: COMMIT
";

    #[test]
    fn script_has_the_logged_statement_with_variables_in_place_of_values() {
        let transaction = Transaction::of(statements(LOG));
        assert_eq!(transaction.statement.value(2), "it's p0");
        let known = Known {
            generation: Generation::new(1 << 32),
            person: "it's p0",
            owners: ("12".to_owned(), "34".to_owned()),
        };
        let script = transaction.script(&known, "a");
        for part in [
            "set_config('keyway.person', :person, true);",
            "SET claim = :claim, claim_owner = :a6\n",
            "tenant = :a1 AND person = :person AND grant_id = :a3 AND generation = :generation;",
        ] {
            assert!(script.text.contains(part), "{part} in {}", script.text);
        }
        let waiting = script.one_by_one().text;
        assert!(script.text.contains("\\startpipeline\nBEGIN;"));
        assert!(waiting.contains("\nBEGIN;\n") && !waiting.contains("pipeline"));
        for constant in ["a6=34", "a3=\\x00", "a1=default", "tenant=default"] {
            assert!(
                script.constants.iter().any(|it| it == constant),
                "{constant}"
            );
        }
    }
}
