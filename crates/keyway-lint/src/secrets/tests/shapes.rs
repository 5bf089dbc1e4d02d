//! Vendors' tokens, assembled here so that no scanner takes this file for a leak.

use super::*;

/// The vendor of the only finding in `value`, at a place that says nothing.
fn vendor_of(value: &str) -> Option<&'static str> {
    let found = find(value, Position::Env { name: "SOMETHING" });
    assert!(found.len() <= 1, "{} findings", found.len());
    let finding = found.first()?;
    assert_eq!(&value[finding.range.clone()], value);
    finding.vendor.map(|vendor| vendor.id)
}

#[test]
#[rustfmt::skip]
fn tokens_are_named_by_their_shape() {
    let mut checks = Cases::default();
    let cases = [
        ("anthropic", format!("sk-ant-{}{}", "api03-", alnum(90))),
        ("openai", format!("sk-{}{}", "proj-", alnum(60))),
        ("openai", format!("sk-{}", alnum(48))),
        ("deepseek", format!("sk-{}", hex(32))),
        ("openrouter", format!("sk-{}{}", "or-v1-", hex(64))),
        ("google", format!("AI{}{}", "za", alnum(35))),
        ("google", format!("AQ.{}", alnum(50))),
        ("google-oauth", format!("GOC{}{}", "SPX-", alnum(28))),
        ("google-oauth", format!("ya{}{}", "29.", alnum(80))),
        ("groq", format!("gsk{}{}", "_", alnum(52))),
        ("perplexity", format!("pplx{}{}", "-", alnum(48))),
        ("hugging-face", format!("hf{}{}", "_", alnum(34))),
        ("replicate", format!("r8{}{}", "_", alnum(37))),
        ("elevenlabs", format!("sk{}{}", "_", hex(48))),
        ("tavily", format!("tvly{}{}", "-dev-", alnum(32))),
        ("firecrawl", format!("fc{}{}", "-", hex(32))),
        ("brave", format!("BS{}{}", "A", alnum(28))),
        ("apify", format!("apify{}{}", "_api_", alnum(36))),
        ("langfuse", format!("sk{}{}", "-lf-", uuid())),
        ("langsmith", format!("lsv2{}{}_{}", "_pt_", hex(32), hex(10))),
        ("pinecone", format!("pcsk{}{}", "_", alnum(70))),
        ("github", format!("gh{}{}", "p_", alnum(36))),
        ("github", format!("github{}{}_{}", "_pat_", alnum(22), alnum(59))),
        ("gitlab", format!("gl{}{}", "pat-", alnum(20))),
        ("atlassian", format!("ATA{}{}", "TT3xFfGF0", alnum(180))),
        ("npm", format!("npm{}{}", "_", alnum(36))),
        ("pypi", format!("py{}{}", "pi-AgEIcHlwaS5vcmc", alnum(120))),
        ("docker", format!("dckr{}{}", "_pat_", alnum(27))),
        ("terraform", format!("{}.{}.{}", alnum(14), "atlasv1", alnum(67))),
        ("sonar", format!("sq{}{}", "u_", hex(40))),
        ("sentry", format!("sn{}{}", "tryu_", hex(64))),
        ("posthog", format!("ph{}{}", "x_", alnum(43))),
        ("grafana", format!("gl{}{}_{}", "sa_", alnum(32), hex(8))),
        ("launchdarkly", format!("ap{}{}", "i-", uuid())),
        ("postman", format!("PM{}{}-{}", "AK-", hex(24), hex(34))),
        ("figma", format!("fi{}{}", "gd_", alnum(40))),
        ("aws", format!("AK{}{}", "IA", noise("ABCDEFGHJKLMNPQRSTUVWY234567", 16, 3))),
        ("digitalocean", format!("do{}{}", "p_v1_", hex(64))),
        ("vercel", format!("vc{}{}", "p_", alnum(56))),
        ("netlify", format!("nf{}{}", "p_", alnum(36))),
        ("cloudflare", format!("cf{}{}", "ut_", alnum(48))),
        ("render", format!("rn{}{}", "d_", alnum(28))),
        ("vault", format!("hv{}{}", "s.", alnum(90))),
        ("doppler", format!("dp{}{}", ".pt.", alnum(43))),
        ("supabase", format!("sb{}{}", "p_", hex(40))),
        ("supabase", format!("sb{}{}", "_secret_", alnum(31))),
        ("neon", format!("na{}{}", "pi_", noise("abcdefghjkmnpqrstuvwyz23456789", 64, 5))),
        ("databricks", format!("da{}{}", "pi", hex(32))),
        ("airtable", format!("pa{}{}.{}", "t", alnum(14), hex(64))),
        ("stripe", format!("sk{}{}", "_live_", alnum(24))),
        ("shopify", format!("sh{}{}", "pat_", hex(32))),
        ("slack", format!("xo{}{}-{}-{}", "xb-", "250389120385", "250389120386", alnum(24))),
        ("discord", format!("M{}.{}.{}", alnum(25), alnum(6), alnum(38))),
        ("telegram", format!("{}:A{}{}", "7104859362", "A", alnum(33))),
        ("sendgrid", format!("S{}{}.{}", "G.", alnum(22), alnum(43))),
        ("mailchimp", format!("{}-{}", hex(32), "us14")),
        ("notion", format!("nt{}{}", "n_", alnum(46))),
        ("linear", format!("li{}{}", "n_api_", alnum(40))),
        ("hubspot", format!("pa{}{}", "t-na1-", uuid())),
        ("resend", format!("r{}{}_{}", "e_", alnum(8), alnum(24))),
        ("clickup", format!("p{}{}_{}", "k_", "48291057", noise("ABCDEFGHJKLMNPQRSTUVWY23456789", 32, 9))),
        ("jwt", format!("ey{}{}.ey{}{}.{}", "J", alnum(30), "J", alnum(60), alnum(43))),
        ("age", format!("AGE-{}-1{}", "SECRET-KEY", noise("ACDEFGHJKLMNPQRSTUVWY234567890", 58, 4))),
        ("okta", format!("0{}{}", "0", alnum(40))),
        ("zhipu", format!("{}.{}", hex(32), alnum(16))),
    ];
    for (id, token) in cases {
        checks.same(vendor_of(&token), Some(id), id);
    }
    checks.done();
}

#[test]
fn a_token_is_found_inside_a_sentence_and_a_path() {
    let token = format!("gh{}{}", "p_", alnum(36));
    for value in [
        format!("use {token} for now."),
        format!("https://h.example/{token}/sse"),
        format!("x=\"{token}\""),
    ] {
        assert_eq!(found(&value, Position::Prose), [token.as_str()]);
    }
    let hook = [
        "https://hooks.slack.com/services/",
        "T0K7Q2V9X4/",
        "B0M3R8W1Z6/",
        &alnum(24),
    ]
    .concat();
    assert_eq!(find(&hook, Position::Url)[0].vendor.unwrap().id, "slack");
}

#[test]
fn publishable_keys_are_not_credentials_even_under_a_credential_name() {
    let cases = [
        format!("pk{}{}", "_live_", alnum(24)),
        format!("ph{}{}", "c_", alnum(43)),
        format!("sb{}{}", "_publishable_", alnum(31)),
        format!("pk{}{}", "-lf-", uuid()),
        format!("pk.ey{}{}.{}", "J", alnum(60), alnum(22)),
    ];
    for value in cases {
        assert_eq!(env("SERVICE_API_KEY", &value), [""; 0]);
        assert_eq!(env("SOMETHING", &value), [""; 0]);
    }
}

#[test]
fn masked_and_wordy_tokens_are_not_taken_for_real_ones() {
    let mut checks = Cases::default();
    let cases = [
        format!("gh{}{}", "p_", "x".repeat(36)),
        format!("sk{}", "-ant-api03-your-key-goes-right-here-please"),
        format!("sk{}", "-proj-1234567890abcdef1234567890"),
        "re_indexing_of_all_documents_v2_done".to_owned(),
        "app-service-frontend-2024".to_owned(),
        "secret_management_for_the_whole_of_our_team".to_owned(),
        "key-value-store-for-sessions-and-more-v2".to_owned(),
        "sk-learn-based-classification-server-v2".to_owned(),
    ];
    for value in cases {
        checks.same(env("SOMETHING", &value), Vec::<&str>::new(), &value);
    }
    checks.done();
}

#[test]
fn a_private_key_is_found_whole_and_a_public_one_is_not() {
    let armour = |title: &str| {
        format!(
            "-----BEGIN {title}-----\n{}\n-----END {title}-----",
            alnum(64)
        )
    };
    let key = armour(&format!("RSA {} KEY", "PRIVATE"));
    assert_eq!(env("SOMETHING", &key), [key.as_str()]);
    assert_eq!(env("SOMETHING", &armour("CERTIFICATE")), [""; 0]);
    assert_eq!(env("SOMETHING", &armour("PUBLIC KEY")), [""; 0]);
}

#[test]
fn a_checksum_is_reported_and_decides_nothing() {
    // The example of the format's description; it was never valid anywhere.
    let fits = format!("gh{}{}{}", "p_", "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ", "0mLq17");
    let position = Position::Env {
        name: "GITHUB_TOKEN",
    };
    assert_eq!(find(&fits, position)[0].checksum, Some(true));
    let made_up = format!("gh{}{}", "p_", alnum(36));
    assert_eq!(find(&made_up, position)[0].checksum, Some(false));
    assert_eq!(find("own-token-4711", position)[0].checksum, None);
}

#[test]
fn a_shared_shape_is_named_after_the_variable_that_holds_it() {
    let token = format!("sk-{}", hex(32));
    for (name, id) in [
        ("DASHSCOPE_API_KEY", "dashscope"),
        ("OPENAI_API_KEY", "openai"),
    ] {
        let vendor = find(&token, Position::Env { name })[0].vendor.unwrap();
        assert_eq!(vendor.id, id);
    }
}

#[test]
fn vendors_are_many_and_their_ids_differ() {
    let mut ids: Vec<_> = vendors().iter().map(|vendor| vendor.id).collect();
    ids.sort_unstable();
    let count = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), count);
    let shaped = vendors().iter().filter(|vendor| vendor.has_shape()).count();
    assert!(shaped >= 90, "{shaped} vendors have a shape");
}
