//! A server that drops its stream while a client uses it without a gateway.

use keyway_testkit::Client;

use crate::unsigned::signed_out::desk_over_sse;

#[test]
fn over_sse_a_dropped_stream_costs_no_more_than_what_waits() {
    let desk = desk_over_sse();
    let mut client = Client::start(&desk.keyway(&["run", "--server", "s"]));
    assert_eq!(client.tools(), ["echo"]);
    for opened in 2..4 {
        desk.rig.drop_streams();
        let mut answer = client.call("echo");
        if answer["error"].is_object() {
            // It was on its way when the end was noticed.
            answer = client.call("echo");
        }
        assert_eq!(
            answer["result"]["content"][0]["text"], "Echo: hello",
            "{answer}"
        );
        assert_eq!(desk.rig.streams().len(), opened);
    }
    assert_eq!(desk.windows().len(), 1, "the person was not asked again");
    assert_eq!(client.leave(), "");
}
