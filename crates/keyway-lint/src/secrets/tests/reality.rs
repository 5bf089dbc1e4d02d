//! What files of public repositories hold: keys in base 64, ids in the paths of documents, tokens
//! of manuals, placeholders in languages without a list.

use super::*;

/// The digits of base 64, as a program writes a key file into a variable.
fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let bits = (0..3).fold(0_u32, |bits, at| {
            bits << 8 | u32::from(chunk.get(at).copied().unwrap_or(0))
        });
        for at in 0..4 {
            let digit = usize::try_from(bits >> (18 - 6 * at) & 63).unwrap();
            let is_there = at <= chunk.len();
            encoded.push(if is_there {
                char::from(DIGITS[digit])
            } else {
                '='
            });
        }
    }
    encoded
}

#[test]
fn a_credential_in_base_64_is_found_whole() {
    let key = alnum(300);
    let armour = ["-----BEGIN ", "PRIVATE KEY-----"].concat();
    let account = format!(
        r#"{{"type": "service_account", "private_key": "{armour}\n{key}\n-----END PRIVATE KEY-----\n"}}"#
    );
    let settings = format!(r#"{{"exaApiKey": "{}"}}"#, uuid());
    for (content, before, after) in [
        (account.as_str(), "", ""),
        (
            settings.as_str(),
            "https://h.example/mcp?config=",
            "&profile=x",
        ),
        (settings.as_str(), "--config=", ""),
    ] {
        let encoded = base64(content);
        let value = format!("{before}{encoded}{after}");
        assert_eq!(env("SERVICE_ACCOUNT_BASE64", &value), [encoded], "{before}");
    }
    let certificate = format!("-----BEGIN CERTIFICATE-----\n{key}\n-----END CERTIFICATE-----");
    for harmless in [
        certificate.as_str(),
        r#"{"theme": "dark", "project": "orders", "limit": 100}"#,
    ] {
        assert!(env("KUBE_CA", &base64(harmless)).is_empty(), "{harmless}");
    }
}

#[test]
fn a_text_full_of_beginnings_of_base_64_is_searched_once() {
    let text = "eyJ LS0tLS1CRUdJTi ".repeat(20_000);
    assert!(env("NOTE", &text).is_empty());
}

#[test]
fn the_number_of_a_document_in_its_address_is_left_alone() {
    let mut checks = Cases::default();
    let (id, number) = (alnum(44), hex(32));
    for url in [
        format!("https://docs.google.com/spreadsheets/d/{id}/edit"),
        format!("https://www.notion.so/acme/Roadmap-{number}"),
        format!("https://acme.notion.site/Road-Map-{number}"),
        format!("https://view.h.example/viewer/{number}"),
        format!("https://h.example/api/2.0/mcp/genie/{number}"),
        format!("https://h.example/projects/{id}/mcp"),
    ] {
        checks.same(env("PAGE", &url).len(), 0, &url);
        checks.same(found(&url, Position::Url).len(), 0, &url);
    }
    for url in [
        format!("https://h.example/v2/{id}"),
        format!("https://h.example/services/{id}"),
        format!("https://h.example/mcp/{number}/sse"),
    ] {
        checks.same(env("RPC_URL", &url).len(), 1, &url);
    }
    checks.done();
}

#[test]
fn tokens_of_manuals_are_left_alone() {
    let header = base64(r#"{"alg":"HS256","typ":"JWT"}"#);
    let token = |claims: &str| {
        let claims = base64(claims);
        format!("{header}.{}.{}", claims.trim_end_matches('='), alnum(43))
    };
    let manual = token(r#"{"sub":"1234567890","name":"John Doe","iat":1516239022}"#);
    let demo = token(r#"{"iss":"supabase-demo","role":"anon","exp":1983812996}"#);
    let real = token(r#"{"iss":"supabase","ref":"abcdefghijklmnop","role":"service_role"}"#);
    for (value, count) in [(manual, 0), (demo, 0), (real, 1)] {
        assert_eq!(header_value(&value).len(), count, "{value}");
        assert_eq!(env("SERVICE_ROLE_KEY", &value).len(), count, "{value}");
    }
    let bot = [
        "MTIzNDU2Nzg5MDEyMzQ1Njc4",
        ".AbCdEf.",
        "GhIjKlMnOpQrStUvWxYz0123456",
    ]
    .concat();
    assert!(found(&format!("set {bot}"), Position::Prose).is_empty());
}

fn header_value(token: &str) -> Vec<Finding> {
    let value = format!("Bearer {token}");
    find(
        &value,
        Position::Header {
            name: "Authorization",
        },
    )
}

#[test]
fn words_in_any_language_are_not_the_token_of_a_vendor() {
    let mut checks = Cases::default();
    for (name, value) in [
        ("NOTION_TOKEN", "nhap_token_cua_ban"),
        ("GITHUB_TOKEN", "az_on_tokene"),
        ("SLACK_BOT_TOKEN", "AINA_AVAIN_TÄHÄN"),
        ("API_KEY", "clé-à-mettre-là"),
        ("FEATURE_FLAG_KEY", "checkout-redesign-v2"),
        ("NEXT_PUBLIC_POSTHOG_KEY", "acme-7QzP3xLw9sTb"),
        ("API_TOKEN", "ssm:/prod/github"),
        ("API_TOKEN", "@secret:github"),
    ] {
        checks.same(env(name, value).len(), 0, value);
    }
    // A secret that people choose themselves may be of words.
    for (name, value) in [
        ("JWT_SECRET", "quite-a-secret-phrase"),
        ("ADMIN_TOKEN", "our-admin-token-please"),
        ("WP_APP_PASSWORD", "iytR diac aQl9 e2OJ mQew IZmB"),
    ] {
        checks.same(env(name, value).len(), 1, value);
    }
    checks.same(
        env("DB_PASSWORD", "they will give it when asked").len(),
        0,
        "a sentence",
    );
    checks.done();
}

#[test]
fn prose_takes_words_with_a_number_for_words() {
    for (line, count) in [
        ("password: 'securePassword123'", 0),
        ("password: 'SecurePassword2024'", 0),
        (
            "signed with `X-Signature-256: sha256={signature}` in a header",
            0,
        ),
        (
            "untrusted comment: minisign public key: 19AF42B1B6971703",
            0,
        ),
        (
            r#"`Authorization: Bearer x.<base64url({"role":"admin","exp":9999999999})>.x`"#,
            0,
        ),
        (
            "BOT_TOKEN=MTA5NDU2Nzg5MDEyMzQ1Njc4.AbCdEf.GhIjKlMnOpQrStUvWxYz",
            0,
        ),
        ("password: 'q8Rw2LzT5vKp9XnB'", 1),
        (
            r#"http_headers = { "Authorization" = "Bearer q8Rw2LzT5vKp9XnB4cYh7MdJ" }"#,
            1,
        ),
    ] {
        assert_eq!(found(line, Position::Prose).len(), count, "{line}");
    }
}

#[test]
fn names_and_flags_that_people_abbreviate_are_understood() {
    let mut checks = Cases::default();
    let key = alnum(32);
    for name in ["DBPASS", "PSWD", "db_pwd"] {
        checks.same(env(name, "Blue#sCW9f4").len(), 1, name);
    }
    checks.same(
        header("X-Vercel-Protection-Bypass", &key).len(),
        1,
        "bypass",
    );
    checks.same(env("BYPASS", "true").len(), 0, "a switch");
    for args in [["-P", "Str0ng!Pass7Gn"], ["-w", "Gr33n#vqhemH"]] {
        checks.same(last(&args).len(), 1, args[0]);
    }
    for args in [["-P", "8080"], ["-w", "/work/folder-1"], ["-w", "120"]] {
        checks.same(last(&args).len(), 0, args[1]);
    }
    let program = format!("import os; os.environ['API_KEY']='{key}'; import x");
    checks.same(last(&["-c", &program]), vec![key.as_str()], &program);
    let url = format!("https://{key}:@h.example/mcp");
    checks.same(found(&url, Position::Url), vec![key.as_str()], &url);
    checks.same(
        found("https://user:@h.example/mcp", Position::Url).len(),
        0,
        "no key",
    );
    checks.done();
}
