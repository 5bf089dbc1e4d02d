//! What is found beyond names and shapes, and what is left alone in spite of a name.

use super::super::{Position, Reason, find};

fn reasons(value: &str, position: Position<'_>) -> Vec<Reason> {
    let found = find(value, position);
    found.into_iter().map(|finding| finding.reason).collect()
}

#[test]
fn a_number_in_an_address_that_is_a_secret_as_a_whole_is_found() {
    let number = super::uuid();
    let url = |host: &str| format!("https://{host}/{number}/google_sheets");
    let secret = url("mcp.pipedream.net");
    assert_eq!(reasons(&secret, Position::Url), [Reason::UrlPath]);
    assert!(reasons(&url("api.h.example"), Position::Url).is_empty());
}

#[test]
fn a_key_that_is_part_of_a_path_is_found() {
    let key = ["Zk9Qw3", "Tb7Lm2", "Xc8Rv5", "Np1Hd6"].concat();
    for url in [
        format!("https://h.example/api/s/{key}/mcp"),
        format!("https://h.example/{key}"),
    ] {
        assert_eq!(reasons(&url, Position::Url), [Reason::UrlPath], "{url}");
    }
    let commit = "0123456789abcdef0123456789abcdef01234567";
    for url in [
        format!("https://raw.github.example/o/r/{commit}/x.json"),
        format!("https://h.example/o/r/{commit}/x.json"),
        "https://h.example/a-long-name-of-a-page-about-something/mcp".to_owned(),
        "https://h.example/3f2504e0-4f89-11d3-9a0c-0305e82c3301/mcp".to_owned(),
    ] {
        assert!(reasons(&url, Position::Url).is_empty(), "{url}");
    }
}

#[test]
fn a_password_attached_to_its_flag_is_found_beside_a_user() {
    let args = ["-h", "db", "-uroot", "-pHorse7Battery", "shop"];
    let position = Position::Argument {
        args: &args,
        index: 3,
    };
    assert_eq!(reasons(args[3], position), [Reason::Flag]);
    let args = ["-p8080", "-uroot"];
    let position = Position::Argument {
        args: &args,
        index: 0,
    };
    assert!(reasons(args[0], position).is_empty());
}

#[test]
fn words_are_not_tokens_whatever_the_name_says() {
    for (name, value) in [
        ("FLAG_KEY", "checkout-redesign"),
        ("API_KEY", "${API_KEY:-production}"),
        ("CACHE_KEY", "user_profile"),
    ] {
        assert!(reasons(value, Position::Env { name }).is_empty(), "{name}");
    }
}

#[test]
fn a_long_token_of_a_vendor_may_hold_a_word_that_marks_placeholders() {
    let body = ["q7Zt9Lw2pXc4VbN8mKj5", "Hg3Fd6Rs1Ty0Ue8Wo2"].concat();
    let token = format!("sk-proj-test-{body}");
    assert_eq!(find(&token, Position::Command).len(), 1);
    let crossed = "sk-proj-test-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
    assert!(find(crossed, Position::Command).is_empty());
}
