//! The name or structure around a value decides.

use super::*;

#[test]
fn a_literal_in_a_variable_with_a_credential_name_is_found() {
    let mut checks = Cases::default();
    let cases = [
        ("API_TOKEN", "plain-words-of-mine"),
        ("ODOO_PASSWORD", "Mk7/vv&Tt"),
        ("DB_PASSWORD", "postgres"),
        ("N8N_BASIC_AUTH_PASSWORD", "admin"),
        ("DB_PASSWORD", "password123"),
        ("TELEGRAM_API_HASH", "9d0c4be1a277883f9d0c4be1a277883f"),
        ("MYSQL_ROOT_PASSWORD", "root"),
        ("MQTT_PASSWORD", "271828"),
        ("NEO4J_PASSWORD", "graphs4ever"),
        ("EMAIL_PASSWORD", "kfvd wqpt lmxz yrbn"),
        ("WP_APP_PASSWORD", "pa$$w0rt7"),
        ("EXA_API_KEY", "5b0c9f1e-77aa-4e21-b3d4-0c9d8e7f6a51"),
        ("DATADOG_APP_KEY", "9c41fe02b7d84a3d9c41ab77e0315d62"),
        ("MISTRAL_API_KEY", "q8Rw2LzT5vKp9XnB4cYh7MdJ1sFgA3eU"),
        ("SUPABASE_ANON_KEY", "zz9.Pq-literal-value-77"),
        ("JWT_SECRET", "my-super-secret-key-2024"),
        ("GITHUB_PAT", "old0style1token2of3forty4characters5long"),
        (
            "AWS_SECRET_ACCESS_KEY",
            "wJ4rXUt9FEMI/K7MDE9G/bPxRfiCYq8wUuLLw2Zz",
        ),
        ("apiKey", "77fe-not-public-01"),
        ("GITHUBTOKEN", "4a4b4c4d4e4f40414243"),
        ("SESSION_STRING", "1BVtsOHkBu3q9zP0aa77"),
        (
            "WALLET_PRIVATE_KEY",
            "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
        ),
        ("LINKEDIN_COOKIE", "AQk8s7d6f5g4h3j2"),
        ("API_KEY_PROD", "zx81-spectrum-48k"),
        ("SECRET_KEY_BASE", "3f9d0c4be1a27788"),
        ("TRELLO_KEY", "0a9b8c7d6e5f40312213f4e5d6c7b8a9"),
    ];
    for (name, value) in cases {
        checks.same(env(name, value), vec![value], name);
    }
    checks.done();
}

#[test]
fn where_a_secret_is_kept_and_what_a_feature_is_called_is_left_alone() {
    for (name, value) in [
        ("VAULT_KEY", "secret/data/app#token"),
        ("DB_PASSWORD", "projects/app/db-password"),
        ("FEATURE_KEY", "hT7Yk2LmP9qRsV3wXzA1bC"),
    ] {
        assert!(env(name, value).is_empty(), "{name}={value}");
    }
}

#[test]
fn a_key_in_hexadecimal_is_found_by_itself_and_a_commit_or_digest_is_not() {
    let key = hex(64);
    assert_eq!(last(&["bridge", "wss://b.example", &key]), [&key]);
    let commit = hex(40);
    let digest = format!("image@sha256:{key}");
    for word in [&commit, &digest] {
        assert!(
            last(&["bridge", "wss://b.example", word]).is_empty(),
            "{word}"
        );
    }
}

#[test]
fn a_seed_phrase_is_found_although_it_is_made_of_words() {
    let phrase = "olive crane velvet tunnel maple orbit candle river stone glove paper wheat";
    assert_eq!(env("WALLET_MNEMONIC", phrase), [phrase]);
}

#[test]
fn a_variable_that_only_speaks_about_credentials_is_left_alone() {
    let mut checks = Cases::default();
    let cases = [
        (
            "GOOGLE_APPLICATION_CREDENTIALS",
            "/home/ada/keys/service-account.json",
        ),
        ("GMAIL_TOKEN_PATH", "/Users/ada/.config/gmail/token.json"),
        ("SSH_PRIVATE_KEY", "~/.ssh/id_ed25519"),
        ("TLS_KEY", "C:\\certs\\server.key"),
        ("PRIVATE_KEY_FILE", "keys/app.2024.private-key.pem"),
        ("TOKEN_URL", "https://login.example.com/oauth2/token"),
        ("AUTH_TYPE", "bearer"),
        ("AUTH_METHOD", "client_credentials"),
        ("MAX_TOKENS", "64000"),
        ("TOKEN_LIMIT", "8192"),
        (
            "GOOGLE_CLIENT_ID",
            "998877-abcdefghij0123.apps.googleusercontent.com",
        ),
        ("JIRA_PROJECT_KEY", "PLAT"),
        ("CONFLUENCE_SPACE_KEY", "ENG2024DOCS"),
        ("FIGMA_FILE_KEY", "hT7Yk2LmP9qRsV3wXzA1bC"),
        ("AZURE_TENANT_ID", "1f0d3b52-2c43-4e0b-9b68-0f4d5a7c9e11"),
        ("AWS_REGION", "eu-central-1"),
        ("AWS_PROFILE", "default"),
        ("KEYBOARD_LAYOUT", "dvorak-2024x9y8z7"),
        ("DB_USER", "readonly_user_2024"),
        ("ODOO_USERNAME", "ada@firm.example"),
        ("MODEL", "claude-3-7-sonnet-20250219"),
        ("PROJECT_REF", "zbysxxtwzoqlyygtexdr"),
        ("SUPABASE_URL", "https://zbysxxtwzoqlyygtexdr.supabase.co"),
        ("LOG_LEVEL", "debug"),
        ("PORT", "8080"),
        ("NODE_OPTIONS", "--max-old-space-size=2048"),
        ("RUST_LOG", "my_crate=debug,tower=info"),
        ("MCP_ALLOWED_TOOLS", "get_token,list_keys,rotate_secret"),
        ("TOKENIZERS_PARALLELISM", "false"),
        ("USE_API_KEY", "true"),
        ("GITHUB_TOKEN", ""),
        ("API_KEY", "none"),
        ("API_KEY", "not-needed"),
        ("OPENAI_API_KEY", "ollama"),
        ("API_KEY", "lm-studio"),
        ("AUTH", "oauth2"),
        ("key", "Ctrl+Shift+K"),
        ("ACCESS_TOKEN", "@/run/secrets/t"),
        ("DB_PASSWORD", "your-db-password"),
        ("DB_PASSWORD", "mysecretpassword"),
        ("SSH_AUTH_SOCK", "/run/user/1000/keyring/ssh"),
        ("PWD", "/srv/app"),
        (
            "SENTRY_DSN",
            "https://0a1b2c3d4e5f60718293a4b5c6d7e8f9@o11.ingest.sentry.io/42",
        ),
        ("POSTHOG_HOST", "https://eu.posthog.com"),
        ("API_KEY_HEADER", "X-API-Key"),
        (
            "COMMENT",
            "Create a token under settings and put it into the variable API_KEY",
        ),
        (
            "description",
            "API key: get one at https://console.example.com/keys",
        ),
        ("version", "2024.11.05-beta3"),
        (
            "image",
            "ghcr.io/org/server@sha256:3f9d0c4be1a277883f9d0c4be1a277883f9d0c4be1a277883f9d0c4be1a27788",
        ),
    ];
    for (name, value) in cases {
        checks.same(
            env(name, value),
            Vec::<&str>::new(),
            &format!("{name}={value}"),
        );
    }
    checks.done();
}

#[test]
#[rustfmt::skip]
fn a_credential_header_is_found_without_its_scheme() {
    let mut checks = Cases::default();
    let cases = [
        ("Authorization", "Bearer 8f14e45fceea167a5a36dedd4bea2543", "8f14e45fceea167a5a36dedd4bea2543"),
        ("authorization", "bearer  q7-Own-Token-1", "q7-Own-Token-1"),
        ("Authorization", "Bearer Bearer tok7en8value9", "tok7en8value9"),
        ("Authorization", "Basic YWRhOmFuYWx5dGljYWw3", "YWRhOmFuYWx5dGljYWw3"),
        ("Authorization", "Token 1f2e3d4c5b6a", "1f2e3d4c5b6a"),
        ("Authorization", "9d8c7b6a5f4e3d2c", "9d8c7b6a5f4e3d2c"),
        ("X-API-Key", "k-4471-99ab", "k-4471-99ab"),
        ("x-auth-token", "77aa88bb99cc", "77aa88bb99cc"),
        ("api_key", "live4711secretpart", "live4711secretpart"),
        ("Cookie", "sid=7d9f1c2b3a4e5d6f", "sid=7d9f1c2b3a4e5d6f"),
        ("X-Goog-Api-Key", "own.value-1234x", "own.value-1234x"),
        ("CONTEXT7_API_KEY", "c7-88zz-77yy", "c7-88zz-77yy"),
        ("DD-APPLICATION-KEY", "e5f6a7b8c9d0e1f2a3b4", "e5f6a7b8c9d0e1f2a3b4"),
        ("X-Auth", "n0tARealOneButLong77", "n0tARealOneButLong77"),
    ];
    for (name, value, expected) in cases {
        checks.same(
            header(name, value),
            vec![expected],
            &format!("{name}: {value}"),
        );
    }
    checks.done();
}

#[test]
fn other_headers_and_references_in_headers_are_left_alone() {
    let mut checks = Cases::default();
    let cases = [
        ("X-Tenant-ID", "5b0c9f1e-77aa-4e21-b3d4-0c9d8e7f6a51"),
        ("Content-Type", "application/json"),
        ("User-Agent", "my-client/1.0 (linux)"),
        ("Accept", "application/json, text/event-stream"),
        ("Notion-Version", "2022-06-28"),
        ("X-Workspace-Id", "w0rksp4ce12345678"),
        ("Authorization", "Bearer ${TOKEN}"),
        ("Authorization", "Bearer $TOKEN"),
        ("Authorization", "Bearer ${env:TOKEN}"),
        ("Authorization", "Bearer ${input:my-token}"),
        ("Authorization", "Basic ${input:jenkins}"),
        ("Authorization", "Bearer {{token}}"),
        ("Authorization", "Bearer {env:MY_TOKEN}"),
        ("Authorization", "Bearer %TOKEN%"),
        ("Authorization", "Bearer <token>"),
        ("Authorization", "Basic dXNlcjpwYXNzd29yZA=="),
        ("Cookie", "theme=dark; lang=en"),
        ("Authorization", "Bearer YOUR_TOKEN"),
        ("Authorization", "Bearer your_api_key"),
        ("Authorization", "Bearer {token}"),
        ("Authorization", "Bearer sk-..."),
        ("Authorization", "Bearer TOKEN"),
        ("Authorization", "Bearer"),
        ("Authorization", "Basic base64(email:api_token)"),
        ("X-API-Key", "${user_config.api_key}"),
        ("X-API-Key", "op://Private/item/credential"),
    ];
    for (name, value) in cases {
        checks.same(
            header(name, value),
            Vec::<&str>::new(),
            &format!("{name}: {value}"),
        );
    }
    checks.done();
}

#[test]
fn an_argument_after_a_secret_looking_flag_is_found() {
    let mut checks = Cases::default();
    let own = "own-token-4711";
    let cases: &[&[&str]] = &[
        &["--api-key", own],
        &["-y", "some-server", "--access-token", own],
        &["--token", own],
        &["--figma-api-key", own],
        &["--apiKey", own],
        &["--password", own],
        &["--secret", own],
        &["--fb-token", own],
        &["--key", "5b0c9f1e-77aa-4e21-b3d4-0c9d8e7f6a51"],
        &["-t", "4f7c2a9e1b8d4f7c2a9e1b8d"],
        &["railway-mcp", "Zx9Yw8Vu7Ts6Rq5Po4Nm3Lk2Ji1Hg0FeDcBa"],
    ];
    for args in cases {
        checks.same(
            last(args),
            vec![*args.last().unwrap()],
            &format!("{args:?}"),
        );
    }
    checks.done();
}

#[test]
#[rustfmt::skip]
fn the_value_inside_one_argument_is_found() {
    let mut checks = Cases::default();
    let cases: &[(&[&str], &str)] = &[
        (&["--api-key=own-token-4711"], "own-token-4711"),
        (&["--clarity_api_token=own-token-4711"], "own-token-4711"),
        (&["--access-token=\"own-token-4711\""], "own-token-4711"),
        (&["-e", "API_KEY=own-token-4711"], "own-token-4711"),
        (&["--env", "DB_PASSWORD=tiger7"], "tiger7"),
        (&["-eAPI_KEY=own-token-4711"], "own-token-4711"),
        (&["--env=API_KEY=own-token-4711"], "own-token-4711"),
        (&["API_KEY=own-token-4711"], "own-token-4711"),
        (&["--header", "Authorization: Bearer own-token-4711"], "own-token-4711"),
        (&["--header", "Authorization:Bearer own-token-4711"], "own-token-4711"),
        (&["--header=X-Api-Key: own-token-4711"], "own-token-4711"),
        (&["-H", "X-Api-Key:own-token-4711"], "own-token-4711"),
        (&["-HAuthorization: Bearer own-token-4711"], "own-token-4711"),
        (&["-u", "ada:tiger7lily"], "tiger7lily"),
        (&["mysql", "-ptiger7lily"], "tiger7lily"),
        (&["Driver={ODBC Driver 18};Server=x;UID=sa;PWD=tiger7lily"], "tiger7lily"),
        (&["--config", "{\"braveApiKey\":\"own-token-4711\"}"], "own-token-4711"),
        (&["--config", "\"{\\\"apiKey\\\":\\\"own-token-4711\\\"}\""], "own-token-4711"),
        (&["--config", "{'apiKey': 'own-token-4711', 'x': 'y'}"], "own-token-4711"),
        (&[ "--config", "{\"a\":{\"b\":\"c\",\"clientSecret\" : \"own-token-4711\"}}", ], "own-token-4711"),
        (&["-c", "export API_KEY=own-token-4711 && npx -y server"], "own-token-4711"),
        (&["-c", "npx -y server --api-key own-token-4711"], "own-token-4711"),
        (&[ "-lc", "curl -H 'Authorization: Bearer own-token-4711' https://h.example", ], "own-token-4711"),
        (&["https://mcp.example.com/sse?api_key=own-token-4711&x=1"], "own-token-4711"),
        (&["postgresql://app:s3cr-et!9@db.firm.io:5432/app"], "s3cr-et!9"),
        (&["--dsn=mysql://app:tiger7@10.0.0.4/app"], "tiger7"),
        (&[ "--connection-string", "Server=db.firm.io;User Id=sa;Password=Str0ng!Pw;Encrypt=true", ], "Str0ng!Pw"),
    ];
    for (args, expected) in cases {
        checks.same(last(args), vec![*expected], &format!("{args:?}"));
    }
    checks.done();
}

#[test]
fn arguments_without_a_credential_are_left_alone() {
    let mut checks = Cases::default();
    let cases: &[&[&str]] = &[
        &["-e", "GITHUB_PERSONAL_ACCESS_TOKEN"],
        &["-e", "API_KEY=${API_KEY}"],
        &["-e", "API_KEY=$API_KEY"],
        &["-e", "LOG_LEVEL=debug"],
        &["--api-key", "${API_KEY}"],
        &["--api-key", "YOUR_API_KEY"],
        &["--api-key", "<key>"],
        &["--api-key", "api-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"],
        &["--token-file", "/run/secrets/token"],
        &["--key", "/etc/ssl/private/server.key"],
        &["--auth", "none"],
        &["--auth", "basic"],
        &["--no-auth"],
        &["--token", "--verbose"],
        &["--profile", "brave-otter-7x9k2m"],
        &["--project-ref=gzzrthvxcmwjieqdtoxf"],
        &["--project-ref", "gzzrthvxcmwjieqdtoxf"],
        &["--bearer-token-env-var", "GITHUB_TOKEN"],
        &["-p", "8080:8080"],
        &["docker", "-p8080:80"],
        &["-u", "1000:1000"],
        &["-v", "/home/ada/.secrets/token:/app/token:ro"],
        &["-y", "@modelcontextprotocol/server-filesystem@2025.1.14"],
        &["--package=task-master-ai"],
        &["git+https://github.com/org/repo@4f7c2a9e1b8d4f7c2a9e1b8d4f7c2a9e1b8d4f7c"],
        &["ghcr.io/org/server:1.2.3"],
        &["npm:some-package@1.2.3"],
        &["https://mcp.example.com/sse"],
        &["https://mcp.example.com/mcp?project_ref=abcdefghijklmnop&read_only=true"],
        &["--header", "Authorization: Bearer ${AUTH}"],
        &["--header", "Authorization:${AUTH_HEADER}"],
        &["--header", "X-Tenant: firm-42"],
        &["{\"port\": 8080, \"mode\": \"token\", \"apiKey\": \"\"}"],
        &["--config", "{\"apiKey\":\"YOUR_KEY\"}"],
        &["--tools=get_token,rotate_key"],
        &[
            "require 'json'; puts JSON.generate({tools: [{name: 'secret_audit', description: 'Audit'}]})",
        ],
        &["secret-scanner-mcp"],
        &["auth0-mcp-server"],
        &[
            "--folder-id",
            "1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms",
        ],
        &["4f7c2a9e1b8d4f7c2a9e1b8d4f7c2a9e1b8d4f7c"],
        &["C:\\Users\\Ada\\keys\\Token2024\\server.js"],
        &["--allow-sensitive-data-access"],
    ];
    for args in cases {
        checks.same(last(args), Vec::<&str>::new(), &format!("{args:?}"));
    }
    checks.done();
}

#[test]
#[rustfmt::skip]
fn passwords_in_connection_strings_are_found_under_any_name() {
    let mut checks = Cases::default();
    let cases = [
        ("postgres://app:hunter7two@db.firm.io/app", "hunter7two"),
        ("postgresql://postgres.refref:R4%40nd0m@aws-0.pooler.supabase.com:6543/postgres", "R4%40nd0m"),
        ("postgres://postgres:postgres@db.firm.io:5432/app", "postgres"),
        ("mongodb+srv://ada:Lov3lace@cluster0.ab1cd.mongodb.net/?retryWrites=true", "Lov3lace"),
        ("redis://:longpass99@cache.firm.io:6379/0", "longpass99"),
        ("rediss://default:AbC9xY8z@eu1-fit.upstash.io:6379", "AbC9xY8z"),
        ("mysql://root:kjh&#/1@localhost:3306/app", "kjh&#/1"),
        ("amqp://svc:qu3ue@mq.firm.io/vh", "qu3ue"),
        ("app:tiger7@tcp(10.1.2.3:3306)/app?parseTime=true", "tiger7"),
        ("root:tiger7@127.0.0.1:3306/app", "tiger7"),
        ("jdbc:postgresql://db.firm.io/app?user=app&password=tiger7", "tiger7"),
        ("jdbc:sqlserver://db.firm.io:1433;databaseName=app;user=sa;password=tiger7", "tiger7"),
        ("host=db.firm.io user=app password=tiger7 dbname=app", "tiger7"),
        ("Host=db.firm.io;Username=app;Password=tiger7;Database=app", "tiger7"),
        ("Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=aG9sZCBvbiB0aGVyZSE0Mg==", "aG9sZCBvbiB0aGVyZSE0Mg=="),
        ("DefaultEndpointsProtocol=https;AccountName=firm;AccountKey=bm90IHJlYWwgYXQgYWxsIDQyNDI=;EndpointSuffix=core.windows.net", "bm90IHJlYWwgYXQgYWxsIDQyNDI="),
        ("https://ada:tiger7lily@git.firm.io/repo.git", "tiger7lily"),
        ("http://svc:tiger7@proxy.firm.io:3128", "tiger7"),
        ("https://api.firm.io/v1?key=own-token-4711", "own-token-4711"),
        ("https://api.firm.io/mcp?apiKey=5b0c9f1e-77aa-4e21-b3d4-0c9d8e7f6a51&profile=x", "5b0c9f1e-77aa-4e21-b3d4-0c9d8e7f6a51"),
        ("https://f.azurewebsites.net/mcp?code=Zk9-aB3dE7fG1hJ5kL9mN3pQ7rS1tU5v", "Zk9-aB3dE7fG1hJ5kL9mN3pQ7rS1tU5v"),
        ("{\"Authorization\": \"Bearer own-token-4711\", \"Version\": \"2022-06-28\"}", "own-token-4711"),
        ("Authorization=Bearer own-token-4711", "own-token-4711"),
    ];
    for (value, expected) in cases {
        checks.same(env("SOME_SETTING", value), vec![expected], value);
        checks.same(
            found(value, Position::Url),
            vec![expected],
            &format!("{value} as a URL"),
        );
    }
    checks.done();
}

#[test]
fn example_logins_and_plain_addresses_are_left_alone() {
    let mut checks = Cases::default();
    let cases = [
        "postgresql://user:password@localhost:5432/dbname",
        "postgres://postgres:postgres@localhost:5432/app",
        "postgres://postgres:postgres@db:5432/app",
        "mysql://root:root@127.0.0.1:3306/app",
        "mongodb://admin:admin@host.docker.internal:27017",
        "user:pass@tcp(host)/db",
        "root:root@tcp(127.0.0.1:3306)/app",
        "postgresql://user:pass@host/db",
        "postgres://app:[YOUR-PASSWORD]@db.firm.io/app",
        "postgres://app:<password>@db.firm.io/app",
        "postgres://app:${DB_PASSWORD}@db.firm.io/app",
        "postgres://${USER}:${PASS}@${HOST}/app",
        "postgres://username:password@your-host.com/app",
        "postgresql://USER:PASSWORD@HOST:PORT/DATABASE",
        "mongodb://localhost:27017/app",
        "redis://localhost:6379",
        "bolt://localhost:7687",
        "https://api.firm.io/v1",
        "https://api.firm.io/mcp?token=${TOKEN}",
        "https://api.firm.io/mcp?token=YOUR_TOKEN&pro=1",
        "https://api.firm.io/mcp?apiKey={{key}}",
        "https://api.firm.io/mcp?key=<key>",
        "https://api.firm.io/mcp?sort=key&max_tokens=4096",
        "git@github.com:org/repo.git",
        "ada@firm.io",
        "Server=localhost;Database=app;Trusted_Connection=true",
        "https://learn.example.com/api/mcp#token",
    ];
    for value in cases {
        checks.same(env("SOME_SETTING", value), Vec::<&str>::new(), value);
        checks.same(
            found(value, Position::Url),
            Vec::<&str>::new(),
            &format!("{value} as a URL"),
        );
    }
    checks.done();
}

#[test]
fn the_literal_default_of_a_reference_is_found_whole() {
    let mut checks = Cases::default();
    let cases = [
        ("API_KEY", "${API_KEY:-own-token-4711}", "own-token-4711"),
        (
            "API_KEY",
            "${env:API_KEY:-own-token-4711}",
            "own-token-4711",
        ),
        (
            "DATABASE_URL",
            "${DATABASE_URL:-postgres://app:tiger7@db.firm.io/app}",
            "postgres://app:tiger7@db.firm.io/app",
        ),
        (
            "SERVICE_URL",
            "https://api.firm.io/mcp?token=${T:-own-token-4711}",
            "own-token-4711",
        ),
        (
            "SERVICE_URL",
            "postgres://app:${P:-tiger7}@db.firm.io/app",
            "tiger7",
        ),
    ];
    for (name, value, expected) in cases {
        checks.same(env(name, value), vec![expected], value);
        assert_eq!(
            find(value, Position::Env { name })[0].reason,
            Reason::Default,
            "{value}"
        );
    }
    let args = ["--token", "${T:-own-token-4711}"];
    assert_eq!(last(&args), ["own-token-4711"]);
    assert_eq!(
        header("Authorization", "Bearer ${T:-own-token-4711}"),
        ["own-token-4711"]
    );
    checks.done();
}

#[test]
fn harmless_defaults_are_left_alone() {
    let mut checks = Cases::default();
    let cases = [
        ("API_KEY", "${API_KEY:-}"),
        ("API_KEY", "${API_KEY:-YOUR_KEY}"),
        ("API_KEY", "${API_KEY:-${OTHER_KEY}}"),
        ("VERIFY_SSL", "${VERIFY_SSL:-true}"),
        ("BASE_URL", "${BASE_URL:-https://api.firm.io}"),
        ("LOG_LEVEL", "${LOG_LEVEL:-INFO}"),
        (
            "DATABASE_URL",
            "${DATABASE_URL:-postgres://postgres:postgres@localhost/app}",
        ),
    ];
    for (name, value) in cases {
        checks.same(env(name, value), Vec::<&str>::new(), value);
    }
    checks.done();
}

#[test]
fn commands_and_oauth_fields_are_searched() {
    let line = "npx -y server --api-key own-token-4711";
    assert_eq!(found(line, Position::Command), ["own-token-4711"]);
    assert_eq!(
        found("npx -y server --api-key $API_KEY", Position::Command),
        [""; 0]
    );
    assert_eq!(found("node", Position::Command), [""; 0]);
    let secret = Position::OAuthField {
        name: "clientSecret",
    };
    assert_eq!(
        found("own-client-secret-4711", secret),
        ["own-client-secret-4711"]
    );
    assert_eq!(found("${CLIENT_SECRET}", secret), [""; 0]);
    assert_eq!(
        header("Cookie", "sid=9f8e7d6c5b4a39; theme=dark"),
        ["9f8e7d6c5b4a39"]
    );
    let id = Position::OAuthField { name: "clientId" };
    assert_eq!(found("5b0c9f1e-77aa-4e21-b3d4-0c9d8e7f6a51", id), [""; 0]);
}

#[test]
fn prose_counts_only_what_is_very_clear() {
    let mut checks = Cases::default();
    let quiet = [
        "Set API_KEY=your-key in your shell, then run the server.",
        "The token: a string that the server sends with each call.",
        "export GITHUB_TOKEN=my-token",
        "Password: the one you chose when signing up",
        "curl -H 'Authorization: Bearer $TOKEN' https://api.firm.io",
        "postgres://user:password@localhost:5432/db",
        "Use `--api-key <key>` or set `API_KEY`.",
        "| `API_TOKEN` | required | token of the service |",
    ];
    for line in quiet {
        checks.same(found(line, Position::Prose), Vec::<&str>::new(), line);
    }
    let loud = [
        (
            "export SERVICE_TOKEN=9f8e7d6c5b4a39281706f5e4d3c2b1a0",
            "9f8e7d6c5b4a39281706f5e4d3c2b1a0",
        ),
        (
            "curl -H 'Authorization: Bearer q8Rw2LzT5vKp9XnB4cYh7MdJ' https://x",
            "q8Rw2LzT5vKp9XnB4cYh7MdJ",
        ),
    ];
    for (line, expected) in loud {
        checks.same(found(line, Position::Prose), vec![expected], line);
    }
    checks.done();
}

#[test]
fn a_finding_says_why_and_suggests_a_variable() {
    let args = ["--figma-api-key", "own-token-4711"];
    let finding = &find(
        args[1],
        Position::Argument {
            args: &args,
            index: 1,
        },
    )[0];
    assert_eq!(finding.reason, Reason::Flag);
    assert_eq!(finding.suggested_variable.as_deref(), Some("FIGMA_API_KEY"));
    assert_eq!(finding.vendor.map(|vendor| vendor.id), Some("figma"));
    let value = "postgres://app:tiger7@db.firm.io/app";
    let finding = &find(
        value,
        Position::Env {
            name: "DATABASE_URL",
        },
    )[0];
    assert_eq!(finding.reason, Reason::ConnectionString);
    assert_eq!(
        finding.suggested_variable.as_deref(),
        Some("POSTGRES_PASSWORD")
    );
}
