//! Tokens, a new server, variables and clients' files, by forms.

use std::fs;
use std::io::Write as _;

use super::*;

impl House {
    /// Sends a form of our own page.
    async fn form(&self, path: &str, pass: &Pass, body: &str) -> Answer {
        let mark = self.mark(pass).await;
        let origin = self.origin();
        let headers = [
            ("Cookie", pass.cookie.as_str()),
            ("Origin", origin.as_str()),
        ];
        let body = format!("_mark={mark}&{body}");
        self.post(&pass.at(path), &headers, &body).await
    }

    fn tokens(&self) -> Vec<String> {
        let all = TokenStore::new(&self.vault).unwrap().list().unwrap();
        let scopes = |servers: Option<Vec<_>>| format!("{:?}", servers.map(|it| it.len()));
        let all = all.into_iter();
        all.map(|it| format!("{} {}", it.name, scopes(it.servers)))
            .collect()
    }
}

#[tokio::test]
async fn no_form_of_these_pages_counts_without_the_mark_of_its_session() {
    let house = House::start();
    let pass = house.enter().await;
    let origin = house.origin();
    for (path, body) in [
        ("/tokens", "do=new&name=a&scope=all"),
        ("/tokens", "do=revoke&name=a"),
        ("/add", "do=probe&url=http://127.0.0.1:1/mcp"),
        ("/add", "do=save"),
        ("/add", "do=program&command=touch"),
        ("/clients/codex", "do=write&server=p:s"),
        ("/clients/codex", "do=undo&entry=s"),
        ("/s/p/s/variable", "name=A&value=b"),
        ("/s/p/s/record", ""),
        ("/s/p/s/forget", ""),
    ] {
        let headers = [
            ("Cookie", pass.cookie.as_str()),
            ("Origin", origin.as_str()),
        ];
        for body in [body.to_owned(), format!("_mark=x&{body}")] {
            let answer = house.post(&pass.at(path), &headers, &body).await;
            assert_eq!(answer.status, 403, "{path} {body}");
        }
        let mark = house.mark(&pass).await;
        let foreign = [
            ("Cookie", pass.cookie.as_str()),
            ("Origin", "http://evil.test"),
        ];
        let body = format!("_mark={mark}&{body}");
        let answer = house.post(&pass.at(path), &foreign, &body).await;
        assert_eq!(answer.status, 403, "{path} {body}");
    }
    assert_eq!(house.done(), [""; 0]);
    assert_eq!(house.tokens(), [""; 0]);
}

#[tokio::test]
async fn a_token_is_in_the_one_answer_to_its_form_and_on_no_page_after_it() {
    let house = House::start();
    let pass = house.enter().await;
    let made = house
        .form("/tokens", &pass, "do=new&name=ci&scope=some&server=p:s")
        .await;
    assert_eq!(made.status, 200);
    let (_, token) = made.body.split_once("<code class=\"copy\">kwgt_").unwrap();
    let token = token.split_once('<').unwrap().0.to_owned();
    assert!(made.body.contains("/mcp/p/s</code>"), "{}", made.body);
    assert_eq!(house.tokens(), ["ci Some(1)"]);
    for path in PAGES {
        let page = house.get(path, &pass).await.body;
        assert!(!page.contains(&token), "{path}");
    }
    let page = house.get("/tokens", &pass).await.body;
    assert!(
        page.contains("<strong>ci</strong>") && page.contains("never"),
        "{page}"
    );
    // Neither a name that is taken, nor none, nor a token that opens nothing.
    for body in [
        "do=new&name=ci&scope=all",
        "do=new&name=a%20b&scope=all",
        "do=new&name=other&scope=some",
    ] {
        let refused = house.form("/tokens", &pass, body).await;
        assert!(refused.body.contains("notice bad"), "{body}");
        assert!(!refused.body.contains("kwgt_"), "{body}");
    }
    assert_eq!(house.tokens(), ["ci Some(1)"]);
    house.form("/tokens", &pass, "do=revoke&name=ci").await;
    assert_eq!(house.tokens(), [""; 0]);
}

#[tokio::test]
async fn a_token_for_an_account_opens_one_server_with_that_sign_in_alone() {
    let house = House::start();
    let pass = house.enter().await;
    for body in [
        "do=new&name=job&scope=all&account=bot",
        "do=new&name=job&scope=some&account=bot",
        "do=new&name=job&scope=some&server=p:s&server=p:t&account=bot",
        "do=new&name=job&scope=some&server=p:*&account=bot",
    ] {
        let refused = house.form("/tokens", &pass, body).await;
        assert!(refused.body.contains("notice bad"), "{body}");
        assert_eq!(house.tokens(), [""; 0], "{body}");
    }
    let body = "do=new&name=job&scope=some&server=p:s&account=bot";
    let made = house.form("/tokens", &pass, body).await;
    assert!(made.body.contains("/mcp/p/s</code>"), "{}", made.body);
    let tokens = TokenStore::new(&house.vault).unwrap().list().unwrap();
    assert_eq!(tokens[0].account(), Some("bot"));
    assert!(tokens[0].opens("p", "s") && !tokens[0].opens("p", "t"));
    let page = house.get("/tokens", &pass).await.body;
    assert!(page.contains("p:s as bot"), "{page}");
    // Without an account it is a client's.
    let body = "do=new&name=person&scope=some&server=p:s&account=%20";
    house.form("/tokens", &pass, body).await;
    let tokens = TokenStore::new(&house.vault).unwrap().list().unwrap();
    assert_eq!(tokens[1].account(), None);
}

#[tokio::test]
async fn a_program_is_added_word_by_word_and_nothing_of_it_runs() {
    let house = House::start();
    let pass = house.enter().await;
    let witness = house.home.path().join("ran");
    for body in ["do=program&command=", "do=program&command=%0D%0A%0D%0A"] {
        house.form("/add", &pass, body).await;
        let page = house.get("/add", &pass).await.body;
        assert!(page.contains("that is not a command"), "{page}");
    }
    let words = format!(
        "do=program&name=mine&command=touch%0D%0Aa%20b;%20$(c)%0D%0A{}%0D%0A",
        witness.display(),
    );
    let added = house.form("/add", &pass, &words);
    // The servers of this backend never change: the wait for the new one is cut short.
    tokio::time::pause();
    let added = added.await;
    tokio::time::resume();
    assert_eq!(added.status, 303);
    let file = house.home.path().join("keyway/data/own/.mcp.json");
    let entries: serde_json::Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let entry = &entries["mcpServers"]["mine"];
    assert_eq!(entry["command"], "touch");
    let args = serde_json::json!(["a b; $(c)", witness.display().to_string()]);
    assert_eq!(entry["args"], args);
    assert_eq!(house.done(), [""; 0]);
    assert!(!witness.exists());
}

#[tokio::test]
async fn a_key_of_a_new_server_and_of_a_variable_is_stored_and_never_shown() {
    let house = House::start();
    let pass = house.enter().await;
    let query = "do=probe&url=https://mcp.example.com/mcp?token%3DCANARY1";
    let looked = house.form("/add", &pass, query).await;
    assert_eq!(looked.status, 303);
    assert_eq!(
        house.done(),
        ["probe https://mcp.example.com/mcp?token=CANARY1"]
    );
    let page = house.get("/add", &pass).await.body;
    assert!(page.contains("https://mcp.example.com</h2>"), "{page}");
    assert!(
        !page.contains("CANARY") && !page.contains("<img src=x>"),
        "{page}"
    );
    // The other session knows nothing of it.
    let other = house.enter().await;
    assert!(
        !house
            .get("/add", &other)
            .await
            .body
            .contains("example.com<")
    );
    let body = "do=save&name=&header=X-Key&value=CANARY2";
    let added = house.form("/add", &pass, body);
    // The servers of this backend never change: the wait for the new one is cut short.
    tokio::time::pause();
    let added = added.await;
    tokio::time::resume();
    assert_eq!(added.status, 303);
    let file = house.home.path().join("keyway/data/own/.mcp.json");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("X-Key") && !text.contains("CANARY"), "{text}");
    let kept = keyway::variables::KeptVariables::new(&house.vault).unwrap();
    assert_eq!(kept.list().unwrap().len(), 2);
    house
        .form("/s/p/s/variable", &pass, "name=API_KEY&value=CANARY3")
        .await;
    assert_eq!(house.done(), ["set API_KEY of s to CANARY3"]);
    for path in PAGES {
        let page = house.get(path, &pass).await.body;
        assert!(!page.contains("CANARY"), "{path}");
    }
    let refused = house
        .form("/add", &pass, "do=probe&url=file:///etc/passwd")
        .await;
    assert_eq!(refused.status, 303);
    assert_eq!(house.done(), [""; 0]);
}

#[tokio::test]
async fn an_entry_of_a_client_is_shown_written_and_taken_out_byte_by_byte() {
    let house = House::start();
    let pass = house.enter().await;
    let file = house.home.path().join(".codex/config.toml");
    fs::create_dir(file.parent().unwrap()).unwrap();
    let before = "# mine\n[mcp_servers.other]\ncommand = \"x\"\nargs = [\"CANARY\"]\n";
    let mut made = fs::File::create(&file).unwrap();
    made.write_all(before.as_bytes()).unwrap();
    let text = || fs::read_to_string(&file).unwrap();
    assert!(
        house
            .get("/clients", &pass)
            .await
            .body
            .contains("not connected")
    );
    let shown = house
        .form("/clients/codex", &pass, "do=show&server=p:s")
        .await;
    assert!(shown.body.contains("[mcp_servers.s]"), "{}", shown.body);
    assert!(shown.body.contains("/usr/bin/keyway"), "{}", shown.body);
    // Nothing else of the file is on the page.
    assert!(!shown.body.contains("CANARY"), "{}", shown.body);
    assert_eq!(text(), before);
    house
        .form("/clients/codex", &pass, "do=write&server=p:s")
        .await;
    assert!(
        text().starts_with(before) && text().contains("[mcp_servers.s]"),
        "{}",
        text()
    );
    let page = house.get("/clients/codex", &pass).await.body;
    assert!(page.contains("Remove"), "{page}");
    house.form("/clients/codex", &pass, "do=undo&entry=s").await;
    assert_eq!(text(), before);
    // A name that the client has already stays what it is.
    let refused = house
        .form("/clients/codex", &pass, "do=write&server=p:none")
        .await;
    assert_eq!(refused.status, 303);
    assert_eq!(text(), before);
    for name in ["none", "..", "%2e%2e"] {
        let answer = house.get(&format!("/clients/{name}"), &pass).await;
        assert_eq!(answer.status, 404, "{name}");
    }
}

#[tokio::test]
async fn messages_of_one_server_are_recorded_masked_and_only_while_a_person_wants_them() {
    let house = House::start_with(Some(ServerId::new("a", "one")));
    let pass = house.enter().await;
    let session = house.running.session("all", "/mcp/a/one").await;
    let other = house.running.session("all", "/mcp/b/two").await;
    let call = |session: &str, path: &'static str, text: &str| {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"{text}"}}}}"#
        );
        let client = house.running.client();
        let session = session.to_owned();
        async move {
            let client = client.await.token("all").with("Mcp-Session-Id", &session);
            client.post(path, &body).await
        }
    };
    call(&session, "/mcp/a/one", "before").await;
    let page = house.get("/s/a/one", &pass).await.body;
    assert!(page.contains("They are not recorded"), "{page}");
    let begun = house.form("/s/a/one/record", &pass, "").await;
    assert_eq!(begun.status, 303);
    call(&session, "/mcp/a/one", "CANARY<b>").await;
    call(&other, "/mcp/b/two", "elsewhere").await;
    let page = house.get("/s/a/one", &pass).await.body;
    let (_, messages) = page.split_once("<h2>Messages</h2>").unwrap();
    let messages = messages.split_once("</section>").unwrap().0;
    assert!(messages.contains("****&lt;b&gt;"), "{messages}");
    // The answer of the server is there too.
    assert!(messages.contains("&quot;result&quot;"), "{messages}");
    for absent in ["before", "elsewhere", "CANARY", "<b>"] {
        assert!(!messages.contains(absent), "{absent}: {messages}");
    }
    house.form("/s/a/one/forget", &pass, "").await;
    let page = house.get("/s/a/one", &pass).await.body;
    assert!(page.contains("They are not recorded") && !page.contains("****"));
    house.form("/s/a/one/record", &pass, "").await;
    let page = house.get("/s/a/one", &pass).await.body;
    assert!(
        page.contains("None yet") && !page.contains("****"),
        "{page}"
    );
}
