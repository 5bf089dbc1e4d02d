//! Placeholders, references and names, by themselves.

use super::*;

#[test]
#[rustfmt::skip]
fn placeholders_in_many_languages_are_recognised() {
    let mut checks = Cases::default();
    let cases = [
        "YOUR_API_KEY", "your-api-key", "your_api_key_here", "yourApiKey", "<your token>",
        "<API_KEY>", "...", "…", "xxx", "XXXXXXXX", "sk-xxxxxxxxxxxxxxxx", "ntn_****", "ghp_...",
        "sk-ant-...", "changeme", "CHANGE_ME", "change-this", "[REDACTED]", "[REDACTED_API_KEY]",
        "{API_KEY}", "__API_KEY__", "REPLACE_ME", "replace-with-your-token", "INSERT_TOKEN_HERE",
        "paste-key-here", "REMPLACEZ_PAR_VOTRE_TOKEN_VERCEL", "votre_cle_api", "VOTRE-CLE",
        "tu_token", "tu-api-key", "SU_CLAVE_AQUI", "sua_chave_api", "SEU_TOKEN_AQUI",
        "dein-api-key", "IHR_TOKEN_HIER", "hier-token-einfügen", "inserisci_qui_token",
        "la_tua_chiave_api", "twoj-klucz-api", "ваш_токен", "你的API密钥", "您的token", "填写你的key",
        "ここにAPIキー", "여기에_API_키", "buraya_api_anahtarı", "nhập_api_key", "masukkan-api-key-anda",
        "example-key", "AKIAIOSFODNN7EXAMPLE", "dummy-token", "placeholder", "my-api-key",
        "my_secret_token", "test-token", "api-key", "access_token", "github-access-token",
        "monday_api_token", "TODO", "tbd", "none", "null", "N/A", "password", "secret",
        "00000000-0000-0000-0000-000000000000", "sk-1234567890abcdef", "abc123", "API_KEY",
        "GITHUB_PERSONAL_ACCESS_TOKEN", "CONTEXT7_API_KEY", "enter_your_key", "no-key-required",
        "", "mysecretpassword", "myapikey", "put-token-here",
    ];
    for value in cases {
        checks.same(is_placeholder(value), true, value);
    }
    checks.done();
}

#[test]
fn real_looking_values_are_not_placeholders() {
    let mut checks = Cases::default();
    let cases = [
        "literal-words-of-value",
        "Ab7kQ9zL2m",
        "tiger7lily",
        "hello-world-4711",
        "9f8e7d6c5b4a39281706",
        "correct-horse-battery",
        "5b0c9f1e-77aa-4e21-b3d4-0c9d8e7f6a51",
        "Sommer2024!",
        "sk-live4Value8Of2Mine",
    ];
    for value in cases {
        checks.same(is_placeholder(value), false, value);
    }
    checks.done();
}

#[test]
#[rustfmt::skip]
fn references_of_all_dialects_are_recognised() {
    let mut checks = Cases::default();
    let cases = [
        "${X}", "${env:X}", "${input:x-y}", "${user_config.key}", "$X", "$env:X", "%X%",
        "{env:X}", "{{X}}", "{{ secrets.x }}", "${{ secrets.X }}", "$(pass show x)",
        "`pass show x`", "op://vault/item/field", "vault:secret/data/x#key",
        "file:/run/secrets/x", "{file:~/.x}", "keychain:x", "${A}${B}", "${A}:${B}",
        "process.env.X", "os.environ['X']", "arn:aws:secretsmanager:eu-west-1:1:secret:x",
        "!secret x", "${X:-}", "${X:-${Y}}", " ${X} ", "env:X",
        "projects/p/secrets/s/versions/latest",
    ];
    for value in cases {
        checks.same(is_reference(value), true, value);
    }
    for value in [
        "",
        "X",
        "Bearer ${X}",
        "${X:-literal}",
        "$",
        "50%",
        "a${",
        "price is $5",
        "{x}",
    ] {
        checks.same(is_reference(value), false, value);
    }
    checks.done();
}

#[test]
#[rustfmt::skip]
fn credential_names_are_told_from_names_about_credentials() {
    let mut checks = Cases::default();
    let yes = [
        "API_KEY", "apiKey", "X-API-Key", "--api-key", "TOKEN", "GITHUB_TOKEN", "github.token",
        "authToken", "Authorization", "Proxy-Authorization", "Cookie", "DB_PASSWORD", "dbPass",
        "PGPASSWORD", "MYSQL_PWD", "CLIENT_SECRET", "clientSecret", "AWS_SECRET_ACCESS_KEY",
        "ACCESS_KEY", "PRIVATE_KEY", "GITHUB_PAT", "SUPABASE_ANON_KEY", "SERVICE_ROLE_KEY",
        "ENCRYPTION_KEY", "JWT", "X-Auth-Token", "X-Signature", "ATOM_API_KEYS", "AccountKey",
        "SharedAccessKey", "passphrase", "credentials", "KEY", "TOKEN_2", "API_KEY_DEV",
        "OPENAI_APIKEY", "MNEMONIC", "SEED_PHRASE", "BASIC_AUTH", "SENHA",
    ];
    for name in yes {
        checks.same(is_credential_name(name), true, name);
    }
    let no = [
        "KEY_FILE", "TOKEN_PATH", "TOKEN_URL", "AUTH_TYPE", "PUBLIC_KEY", "KEYBOARD",
        "MAX_TOKENS", "TOKENS", "TOKEN_LIMIT", "CLIENT_ID", "ACCESS_KEY_ID", "KEYCLOAK_URL",
        "AUTHOR", "PROJECT_KEY", "PWD", "MONKEY", "PASSTHROUGH", "COMPASS", "SECRETARY",
        "X-Tenant-ID", "USERNAME", "REGION", "API_URL", "API_VERSION", "PUBLISHABLE_KEY",
        "CACHE_KEY", "SECRET_NAME", "PASSWORD_FILE", "TOKENIZER", "bearer_token_env_var", "",
        "SharedAccessKeyName", "OAUTH_SCOPES", "AUTH_ENABLED", "KEY_VAULT", "TOKEN_ADDRESS",
        "X-User-ID",
    ];
    for name in no {
        checks.same(is_credential_name(name), false, name);
    }
    checks.done();
}
