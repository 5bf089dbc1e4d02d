//! What it costs to open the vault and read a token, in milliseconds:
//! `cargo run --release -p keyway-vault --example cost`.
//!
//! `cost make HOME` makes a vault, and `cost read HOME` opens it in a process of its own, reads and
//! prints how many microseconds that took: `cargo xtask bench vault` compares them with others.
//!
//! `cost scale` fills vaults with 10, 1,000 and 10,000 sign-ins and prints what single operations and
//! lists take in each.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement prints, and starts itself to measure a whole process"
)]

use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use keyway_secret::Secret;
use keyway_store::{Claim, GrantKey, GrantStore as _, Tokens};
use keyway_vault::{Folders, KeySources, Namespace, Vault};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    if std::env::args_os().nth(1).is_some_and(|it| it == "scale") {
        return [10, 1_000, 10_000].into_iter().try_for_each(scale);
    }
    if let (Some(what), Some(home)) = (arguments.next(), arguments.next()) {
        let home = Path::new(&home);
        if what == "make" {
            return make(home).map(drop);
        }
        let start = Instant::now();
        read(home)?;
        println!("{}", start.elapsed().as_micros());
        return Ok(());
    }
    let home = tempfile::tempdir()?;
    let home = home.path().join("keyway");
    let making = make(&home)?;
    println!("{:<34}{:>8.3}", "make a vault", milliseconds(making));
    println!(
        "{:<34}{:>8}{:>8}{:>8}",
        "milliseconds", "best", "median", "p95"
    );
    measure("open", || open(&home).map(drop))?;
    measure("open and read a token", || read(&home))?;
    let vault = open(&home)?;
    measure("open and read, another has it open", || read(&home))?;
    measure("read a token", || found(&vault))?;
    drop(vault);
    let program = std::env::current_exe()?;
    measure("a process that opens and reads", || {
        let mut child = Command::new(&program);
        let status = child
            .arg("read")
            .arg(&home)
            .stdout(Stdio::null())
            .status()?;
        Ok(if status.success() {
            Ok(())
        } else {
            Err("it failed")
        }?)
    })?;
    measure("a process that does nothing", || {
        Command::new("/bin/true").status()?;
        Ok(())
    })
}

/// Makes a vault with some sign-ins; returns how long the vault itself took.
fn make(home: &Path) -> Result<Duration, Box<dyn Error>> {
    let start = Instant::now();
    let vault = open(home)?;
    let making = start.elapsed();
    for number in 0..SIGN_INS {
        vault.put(&grant().account(number.to_string()), &tokens(number))?;
    }
    Ok(making)
}

/// Measures one vault with `many` sign-ins and as many sealed rows.
fn scale(many: usize) -> Result<(), Box<dyn Error>> {
    let home = tempfile::tempdir()?;
    let vault = open(&home.path().join("keyway"))?;
    let rows = vault.sealed(Namespace::new("scale")?);
    for number in 0..many {
        vault.put(&grant().account(number.to_string()), &tokens(number))?;
        rows.put(&format!("row {number}"), b"value")?;
    }
    println!(
        "\n{:<34}{:>8}{:>8}{:>8}",
        format!("{many} sign-ins: milliseconds"),
        "best",
        "median",
        "p95"
    );
    measure("read a token", || found(&vault))?;
    measure("claim and commit", || {
        let one = grant().account("7");
        let seen = vault.read(&one)?.ok_or("it is not there")?.generation;
        let claim = vault.claim(&one, seen, Duration::from_secs(600))?;
        if !matches!(claim, Claim::Claimed(_)) {
            return Err("it is claimed".into());
        }
        vault.commit(&one, seen, &tokens(7))?;
        Ok(())
    })?;
    measure("get a row", || Ok(rows.get("row 7").map(drop)?))?;
    measure("put a row", || Ok(rows.put("row 7", b"value").map(drop)?))?;
    let start = Instant::now();
    vault.list("default")?;
    println!(
        "{:<34}{:>8.3}",
        "list sign-ins",
        milliseconds(start.elapsed())
    );
    let start = Instant::now();
    rows.read_all()?;
    println!(
        "{:<34}{:>8.3}",
        "read all rows",
        milliseconds(start.elapsed())
    );
    Ok(())
}

fn tokens(number: usize) -> Tokens {
    let token = Secret::new(format!("{number:0>1200}"));
    Tokens::new(token.clone()).with_refresh(token)
}

fn open(home: &Path) -> Result<Vault, Box<dyn Error>> {
    Ok(Vault::open(&Folders::below(home), KeySources::default())?)
}

fn read(home: &Path) -> Result<(), Box<dyn Error>> {
    found(&open(home)?)
}

fn found(vault: &Vault) -> Result<(), Box<dyn Error>> {
    let found = vault.read(&grant().account("7"))?;
    found.map(drop).ok_or_else(|| "it is not there".into())
}

fn grant() -> GrantKey {
    GrantKey::new("default").plugin("demo").server("search")
}

fn measure(
    what: &str,
    work: impl Fn() -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        work()?;
        times.push(start.elapsed());
    }
    times.sort();
    let at = |share: usize| times.get(times.len() * share / 100).copied();
    let [best, median, p95] = [0, 50, 95].map(|share| milliseconds(at(share).unwrap_or_default()));
    println!("{what:<34}{best:>8.3}{median:>8.3}{p95:>8.3}");
    Ok(())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

const SIGN_INS: usize = 20;
const ROUNDS: usize = 200;
