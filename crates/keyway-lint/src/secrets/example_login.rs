//! Logins that stand in documentation as examples, such as `user:password@localhost`.

/// `user:password@localhost` and the like, which every manual uses.
pub(super) fn is_example(user: &str, password: &str, host: &str) -> bool {
    let stock = |word: &str| {
        STOCK_LOGINS
            .iter()
            .any(|known| word.eq_ignore_ascii_case(known))
    };
    let host = host
        .split(':')
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    let local = !host.contains('.')
        || host.starts_with("127.")
        || host == "0.0.0.0"
        || host.ends_with(".internal")
        || host.ends_with(".local")
        || host.contains("example");
    stock(user) && stock(password) && local
}

#[rustfmt::skip]
const STOCK_LOGINS: &[&str] = &[
    "", "user", "username", "pass", "password", "passwd", "secret", "postgres", "postgresql",
    "root", "admin", "administrator", "test", "guest", "example", "dev", "app", "mysql", "mongo",
    "mongodb", "redis", "neo4j", "rabbitmq", "sa", "dbuser", "db_user", "myuser", "mypassword",
    "mypass", "changeme", "default", "minioadmin", "elastic", "demo", "local", "db", "database",
];
