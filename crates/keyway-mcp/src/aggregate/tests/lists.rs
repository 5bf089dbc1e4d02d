//! Merged lists, names, and servers that fail or are slow.

use keyway_code::Code;

use super::*;

#[tokio::test(start_paused = true)]
async fn initialize_is_answered_before_any_server_is_opened() {
    let server = Fake::new("docs").attempt(3600, Ok(()));
    let mut client = Client::of(&[&server]);
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}});
    let answer = client.request("initialize", params).await;
    let result = &answer["result"];
    assert_eq!(result["protocolVersion"], "2025-06-18");
    assert_eq!(result["capabilities"]["tools"]["listChanged"], true);
    let instructions = result["instructions"].as_str().unwrap();
    assert!(
        instructions.contains("- docs (`docs__…`): pending"),
        "{instructions}"
    );
    assert_eq!(client.request("ping", json!({})).await["result"], json!({}));
    assert_eq!(server.connects(), 0);
    let unknown = client.request("tasks/list", json!({})).await;
    assert_eq!(unknown["error"]["code"], -32601);
}

#[tokio::test(start_paused = true)]
async fn lists_are_merged_and_each_item_stays_as_written_but_for_its_name() {
    let tool = r#"{ "z" : 12345678901234567890123, "name":"a.b", "inputSchema":{"b":1,"a":1.50}}"#;
    let one = Fake::new("one").on("tools/list", &format!(r#"{{"tools":[{tool}]}}"#));
    let two = Fake::new("t w o").tools(&["x", "y"]);
    let mut client = Client::of(&[&one, &two]);
    let id = client.start("tools/list", json!({})).await;
    let expected = tool.replace("a.b", "one__a_b");
    let text = client.answer_text(id).await;
    let whole = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{expected},{{"name":"t_w_o__x"}},{{"name":"t_w_o__y"}}]}}}}"#
    );
    assert_eq!(text, whole);
    assert_eq!(client.arrived().await, Vec::<Value>::new());
}

#[tokio::test(start_paused = true)]
async fn all_pages_of_a_server_come_in_one() {
    let pages = [
        r#"{"tools":[{"name":"a"}],"nextCursor":"1"}"#,
        r#"{"tools":[{"name":"b"}],"nextCursor":"2"}"#,
        r#"{"tools":[{"name":"c"}]}"#,
    ];
    let pages = Reply::Pages(pages.map(str::to_owned).to_vec());
    let server = Fake::new("s").reply("tools/list", pages);
    let mut client = Client::of(&[&server]);
    assert_eq!(client.tools().await, ["s__a", "s__b", "s__c"]);
}

#[tokio::test(start_paused = true)]
async fn server_that_says_when_to_come_back_is_not_asked_before() {
    let limited = TransportError::Status {
        status: 429,
        retry_after: Some(120),
    };
    let server = Fake::new("s").tools(&["t"]);
    server.attempt(0, Err(ServerProblem::from(&limited)));
    let mut client = Client::of(&[&server]);
    assert_eq!(client.tools().await, ["s__status"]);
    assert_eq!(server.connects(), 1);
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_secs(38)).await;
        assert_eq!(client.tools().await, ["s__status"]);
        assert_eq!(server.connects(), 1, "it is left alone");
    }
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(client.tools().await, ["s__t"]);
    assert_eq!(server.connects(), 2);
}

#[tokio::test(start_paused = true)]
async fn failing_server_contributes_one_tool_that_explains_and_takes_nothing_away() {
    let bad = Fake::new("bad").attempt(0, Err(ServerProblem::from(&refused())));
    bad.attempt(0, Err(ServerProblem::from(&refused())));
    let good = Fake::new("good").tools(&["t"]);
    let mut client = Client::of(&[&bad, &good]);
    assert_eq!(client.tools().await, ["bad__status", "good__t"]);
    assert_eq!(
        client.names("prompts/list", "prompts").await,
        Vec::<String>::new()
    );
    let told = client.call("bad__status").await;
    let facts = &told["result"]["structuredContent"];
    assert_eq!(facts["state"], "needs-auth");
    assert_eq!(facts["reason"], "auth-failed");
    assert_eq!(facts["code"], "auth-rejected");
    let text = told["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("hint: check that the variable"), "{text}");
    assert_eq!(client.call("good__t").await["result"]["from"], "good");
}

#[tokio::test(start_paused = true)]
async fn server_that_comes_back_is_announced_and_its_tools_replace_the_status() {
    let server = Fake::new("s").tools(&["t"]).attempt(0, Err(unreachable()));
    let mut client = Client::of(&[&server]);
    assert_eq!(client.tools().await, ["s__status"]);
    // A list leaves a server alone that has just failed.
    assert_eq!(client.tools().await, ["s__status"]);
    assert_eq!(server.connects(), 1);
    let told = client.call("s__status").await;
    assert_eq!(told["result"]["structuredContent"]["state"], "connected");
    let arrived = client.arrived().await;
    assert_eq!(arrived.len(), 1, "{arrived:?}");
    assert_eq!(arrived[0]["method"], "notifications/tools/list_changed");
    assert_eq!(client.tools().await, ["s__t"]);
}

#[tokio::test(start_paused = true)]
async fn slow_server_is_waited_for_only_so_long_and_announced_when_it_is_there() {
    let slow = Fake::new("slow").tools(&["t"]).attempt(25, Ok(()));
    let quick = Fake::new("quick").tools(&["t"]);
    let mut client = Client::of(&[&slow, &quick]);
    let before = tokio::time::Instant::now();
    assert_eq!(client.tools().await, ["slow__status", "quick__t"]);
    assert_eq!(before.elapsed(), LIST_TIMEOUT);
    let announced = client.next().await;
    assert_eq!(announced["method"], "notifications/tools/list_changed");
    assert!(before.elapsed() >= Duration::from_secs(25));
    assert_eq!(client.tools().await, ["slow__t", "quick__t"]);
    assert_eq!(client.arrived().await, Vec::<Value>::new());
    assert_eq!(slow.connects(), 1);
}

#[tokio::test(start_paused = true)]
async fn list_that_is_always_slow_is_announced_once_and_then_taken_from_before() {
    let late = Reply::Late(
        Duration::from_secs(15),
        r#"{"tools":[{"name":"t"}]}"#.to_owned(),
    );
    let slow = Fake::new("slow").reply("tools/list", late);
    let mut client = Client::of(&[&slow]);
    assert_eq!(client.tools().await, ["slow__status"]);
    let announced = client.next().await;
    assert_eq!(announced["method"], "notifications/tools/list_changed");
    assert_eq!(client.tools().await, ["slow__t"]);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(client.arrived().await, Vec::<Value>::new());
}

#[tokio::test(start_paused = true)]
async fn names_that_collide_or_are_long_lead_to_their_own_tools() {
    let long = "n".repeat(80);
    let one = Fake::new("a b").tools(&["x.y", "x_y", &long]);
    let two = Fake::new("a_b").tools(&["x_y"]);
    let mut client = Client::of(&[&one, &two]);
    let names = client.tools().await;
    assert_eq!(names.len(), 4);
    assert_eq!(names[1], "a_b__x_y");
    assert!(names.iter().all(|name| name.len() <= 64), "{names:?}");
    for (name, server, original) in [
        (&names[0], &one, "x.y"),
        (&names[1], &one, "x_y"),
        (&names[2], &one, long.as_str()),
        (&names[3], &two, "x_y"),
    ] {
        client.call(name).await;
        let calls = server.seen("tools/call");
        assert_eq!(calls.last().unwrap()["params"]["name"], original);
    }
}

#[tokio::test(start_paused = true)]
async fn change_of_a_list_is_passed_on() {
    let server = Fake::new("s").tools(&["t"]);
    let mut client = Client::of(&[&server]);
    client.tools().await;
    server
        .say(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#)
        .await;
    let arrived = client.arrived().await;
    assert_eq!(arrived.len(), 1);
    assert_eq!(arrived[0]["method"], "notifications/tools/list_changed");
}

#[tokio::test(start_paused = true)]
async fn server_whose_list_fails_says_so_in_its_status() {
    let error = json!({"code": -32603, "message": "broken"});
    let server = Fake::new("s").reply("tools/list", Reply::Error(error));
    let mut client = Client::of(&[&server]);
    assert_eq!(client.tools().await, ["s__status"]);
    let told = client.call("s__status").await;
    assert_eq!(told["result"]["structuredContent"]["code"], "server-error");
}

#[tokio::test(start_paused = true)]
async fn tool_of_a_server_that_is_called_status_is_its_own() {
    let server = Fake::new("s").tools(&["status"]);
    let mut client = Client::of(&[&server]);
    assert_eq!(client.call("s__status").await["result"]["from"], "s");
}

#[tokio::test(start_paused = true)]
async fn server_that_is_switched_off_contributes_nothing() {
    let off = ServerProblem {
        state: ServerState::new(
            crate::states::State::Disabled,
            crate::states::Reason::NotConfigured,
        ),
        code: Code::NotConfigured,
        message: "no address".to_owned(),
        hint: None,
        source: None,
        is_transient: false,
        wait: None,
    };
    let server = Fake::new("s").attempt(0, Err(off));
    let mut client = Client::of(&[&server]);
    assert_eq!(client.tools().await, Vec::<String>::new());
}
