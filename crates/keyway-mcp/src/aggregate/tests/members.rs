//! Members that come and go.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_member_that_stays_keeps_its_connection_and_the_client_is_told_of_the_others() {
    let (stays, goes) = (Fake::new("s").tools(&["t"]), Fake::new("g").tools(&["t"]));
    let (mut client, members) = Client::with_members(&[&goes, &stays]);
    assert_eq!(client.tools().await, ["g__t", "s__t"]);
    let comes = Fake::new("c").tools(&["t"]);
    members.replace(as_members(&[&stays, &comes]));
    let told = client.arrived().await;
    assert_eq!(told.len(), 1, "of tools alone, for only they were listed");
    assert_eq!(told[0]["method"], "notifications/tools/list_changed");
    assert_eq!(client.tools().await, ["s__t", "c__t"]);
    assert_eq!(client.call("s__t").await["result"]["from"], "s");
    assert_eq!(client.call("c__t").await["result"]["from"], "c");
    assert!(client.call("g__t").await["error"].is_object());
    assert_eq!((stays.connects(), goes.connects()), (1, 1));
    members.replace(as_members(&[&stays, &comes]));
    assert!(client.arrived().await.is_empty(), "nothing has changed");
}

#[tokio::test(start_paused = true)]
async fn a_call_under_way_at_a_member_that_goes_gets_its_answer() {
    let slow = Reply::Late(Duration::from_secs(3), r#"{"from":"g"}"#.to_owned());
    let goes = Fake::new("g").tools(&["t"]).reply("tools/call", slow);
    let (mut client, members) = Client::with_members(&[&goes]);
    client.tools().await;
    let id = client.start("tools/call", json!({"name": "g__t"})).await;
    settle().await;
    members.replace(Vec::new());
    assert_eq!(client.answer(id).await["result"]["from"], "g");
    assert!(client.tools().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_member_that_goes_does_not_wait_for_a_call_forever() {
    let goes = Fake::new("g")
        .tools(&["t"])
        .reply("tools/call", Reply::Silence);
    let (mut client, members) = Client::with_members(&[&goes]);
    client.tools().await;
    let id = client.start("tools/call", json!({"name": "g__t"})).await;
    settle().await;
    members.replace(Vec::new());
    let answer = client.answer(id).await;
    assert!(answer["error"].is_object(), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn members_are_over_when_the_client_is_gone() {
    let server = Fake::new("s");
    let (client, members) = Client::with_members(&[&server]);
    assert!(!members.is_over());
    drop(client);
    settle().await;
    assert!(members.is_over());
    members.replace(Vec::new());
}
