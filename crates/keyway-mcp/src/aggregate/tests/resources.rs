//! Resources: owners, templates, unknown addresses, subscriptions.

use super::*;

fn with_resources(name: &str, uris: &[&str], templates: &[&str]) -> Arc<Fake> {
    let items: Vec<_> = uris
        .iter()
        .map(|uri| json!({"uri": uri, "name": "r"}))
        .collect();
    let templates: Vec<_> = templates
        .iter()
        .map(|t| json!({"uriTemplate": t, "name": "t"}))
        .collect();
    Fake::new(name)
        .on("resources/list", &json!({ "resources": items }).to_string())
        .on(
            "resources/templates/list",
            &json!({ "resourceTemplates": templates }).to_string(),
        )
        .on(
            "resources/read",
            &json!({"contents": [], "from": name}).to_string(),
        )
        .on("resources/subscribe", "{}")
        .on("resources/unsubscribe", "{}")
        .on(
            "completion/complete",
            &json!({"completion": {"values": [name]}}).to_string(),
        )
}

#[tokio::test(start_paused = true)]
async fn resource_is_read_from_its_owner_even_if_nothing_was_listed_before() {
    let one = with_resources("one", &["file:///a", "file:///both"], &[]);
    let two = with_resources("two", &["file:///b", "file:///both"], &["db://{table}"]);
    let mut client = Client::of(&[&one, &two]);
    for (uri, from) in [
        ("file:///a", "one"),
        ("file:///b", "two"),
        ("file:///both", "one"),
        ("db://users", "two"),
    ] {
        let read = client
            .request("resources/read", json!({ "uri": uri }))
            .await;
        assert_eq!(read["result"]["from"], from, "{uri}");
    }
    let listed = client.request("resources/list", json!({})).await;
    assert_eq!(listed["result"]["resources"].as_array().unwrap().len(), 3);
    let listed = client.request("resources/templates/list", json!({})).await;
    let templates = &listed["result"]["resourceTemplates"];
    assert_eq!(templates[0]["uriTemplate"], "db://{table}");
}

#[tokio::test(start_paused = true)]
async fn unknown_address_is_tried_at_each_server_and_then_remembered() {
    let missing = Reply::Error(json!({"code": -32002, "message": "no"}));
    let one = with_resources("one", &[], &[]).reply("resources/read", missing.clone());
    let two = with_resources("two", &[], &[]);
    let mut client = Client::of(&[&one, &two]);
    for _ in 0..2 {
        let read = client
            .request("resources/read", json!({"uri": "x://y"}))
            .await;
        assert_eq!(read["result"]["from"], "two");
    }
    assert_eq!(one.seen("resources/read").len(), 1);
    two.reply("resources/read", missing);
    let read = client
        .request("resources/read", json!({"uri": "x://z"}))
        .await;
    assert_eq!(read["error"]["code"], -32002);
    assert_eq!(read["error"]["data"]["uri"], "x://z");
}

#[tokio::test(start_paused = true)]
async fn completion_of_a_template_goes_to_its_server() {
    let one = with_resources("one", &[], &["a://{x}"]);
    let two = with_resources("two", &[], &["b://{x}"]);
    let mut client = Client::of(&[&one, &two]);
    let params = json!({"ref": {"type": "ref/resource", "uri": "b://{x}"}, "argument": {}});
    let completed = client.request("completion/complete", params).await;
    assert_eq!(completed["result"]["completion"]["values"], json!(["two"]));
    let params = json!({"ref": {"type": "ref/resource", "uri": "c://{x}"}, "argument": {}});
    let completed = client.request("completion/complete", params).await;
    assert_eq!(completed["result"]["completion"]["values"], json!([]));
}

#[tokio::test(start_paused = true)]
async fn subscription_goes_to_the_owner_and_only_subscribers_are_told() {
    let one = with_resources("one", &["x://a"], &[]);
    let two = with_resources("two", &["x://b"], &[]);
    let mut client = Client::of(&[&one, &two]);
    let updated = r#"{"method":"notifications/resources/updated","params":{"uri":"x://b"}}"#;
    let subscribed = client
        .request("resources/subscribe", json!({"uri": "x://b"}))
        .await;
    assert_eq!(subscribed["result"], json!({}));
    assert!(one.seen("resources/subscribe").is_empty());
    one.say(updated).await;
    assert_eq!(client.arrived().await, Vec::<Value>::new());
    two.say(updated).await;
    let arrived = client.arrived().await;
    assert_eq!(arrived[0]["params"]["uri"], "x://b");
    client
        .request("resources/unsubscribe", json!({"uri": "x://b"}))
        .await;
    assert_eq!(two.seen("resources/unsubscribe").len(), 1);
    two.say(updated).await;
    assert_eq!(client.arrived().await, Vec::<Value>::new());
}

#[tokio::test(start_paused = true)]
async fn subscription_outlives_the_connection() {
    let server = with_resources("s", &["x://a"], &[]).tools(&["t"]);
    let mut client = Client::of(&[&server]);
    client
        .request("resources/subscribe", json!({"uri": "x://a"}))
        .await;
    server.hang_up().await;
    client.call("s__t").await;
    settle().await;
    assert_eq!(server.seen("resources/subscribe").len(), 2);
}

pub(super) fn modern(name: &str) -> Arc<Fake> {
    let capabilities = json!({"tools": {"listChanged": true}, "resources": {"subscribe": true}});
    let found = json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capabilities});
    let probe = Duration::from_secs(1);
    Fake::of(name, OfferedEras::Both { probe })
        .on("server/discover", &found.to_string())
        .on(
            "resources/list",
            r#"{"resources":[{"uri":"x://a","name":"a"}]}"#,
        )
        .reply("subscriptions/listen", Reply::Silence)
}

#[tokio::test(start_paused = true)]
async fn modern_server_is_listened_to_for_what_changes_and_what_is_subscribed() {
    let server = modern("s").tools(&["t"]);
    let mut client = Client::of(&[&server]);
    client.call("s__t").await;
    settle().await;
    let first = server.seen("subscriptions/listen");
    assert_eq!(
        first[0]["params"]["notifications"],
        json!({"toolsListChanged": true})
    );
    client
        .request("resources/subscribe", json!({"uri": "x://a"}))
        .await;
    settle().await;
    let all = server.seen("subscriptions/listen");
    let wanted = &all[1]["params"]["notifications"];
    assert_eq!(wanted["resourceSubscriptions"], json!(["x://a"]));
    let ended = server.seen("notifications/cancelled");
    assert_eq!(ended[0]["params"]["requestId"], first[0]["id"]);
    server
        .say(r#"{"method":"notifications/resources/updated","params":{"uri":"x://a"}}"#)
        .await;
    assert_eq!(client.arrived().await[0]["params"], json!({"uri": "x://a"}));
}

#[tokio::test(start_paused = true)]
async fn modern_server_gets_the_log_level_with_each_request() {
    let server = modern("s").tools(&["t"]);
    let mut client = Client::of(&[&server]);
    client
        .request("logging/setLevel", json!({"level": "info"}))
        .await;
    client.call("s__t").await;
    let meta = server.seen("tools/call")[0]["params"]["_meta"].clone();
    assert_eq!(meta["io.modelcontextprotocol/logLevel"], "info");
    assert!(server.seen("logging/setLevel").is_empty());
}
