//! Connections that are open while the sign-in of their person goes away.

use keyway::sign_in::Stores;
use keyway::store::{Deleted, GrantStore as _, StoreError, Tokens, ValueStore};
use keyway::vault::{Folders, KeySources, Vault};
use keyway_database::{TeamStores, VaultStores};
use keyway_people::Person;
use keyway_secret::SystemClock;
use keyway_testkit::Folder;
use serde_json::json;

use super::own_values::House;
use super::*;

/// Keeps sign-ins apart from the vault of the gateway, as a database does: no file that the gateway
/// watches shows what becomes of them.
#[derive(Debug)]
struct Apart {
    shared: VaultStores,
    sign_ins: Folders,
}

impl Apart {
    fn open(sign_ins: &Folders) -> Arc<Vault> {
        Arc::new(Vault::open(sign_ins, KeySources::default()).unwrap())
    }
}

impl TeamStores for Apart {
    fn sign_ins(&self, _: &Person) -> Result<Option<Stores>, StoreError> {
        let stores = Stores::new(Self::open(&self.sign_ins), Arc::new(SystemClock));
        Ok(Some(stores))
    }

    fn keeps_sign_ins_apart(&self) -> bool {
        true
    }

    fn variables(&self, person: Option<&Person>) -> Result<Arc<dyn ValueStore>, StoreError> {
        self.shared.variables(person)
    }

    fn approvals(
        &self,
        person: Option<&Person>,
    ) -> Result<Option<Arc<dyn ValueStore>>, StoreError> {
        self.shared.approvals(person)
    }
}

fn sign_ins(folder: &Folder) -> Folders {
    Folders::below(folder.at("sign-ins"))
}

/// One that is signed out elsewhere, or forgotten, must not be served on by the token in memory.
#[tokio::test]
async fn an_open_connection_does_not_outlive_the_sign_in_of_its_person() {
    let house = House::keeping(Some(|folder, shared| {
        let sign_ins = sign_ins(folder);
        Box::new(Apart { shared, sign_ins })
    }));
    let store = Apart::open(&sign_ins(&house.folder));
    let stores = Stores::new(Arc::clone(&store) as _, Arc::new(SystemClock));
    let host = house.host.with_sign_in_stores(stores);
    let plugin = host.load(house.folder.at("p")).unwrap();
    let planned = plugin.plan("signed").unwrap().approved_before().unwrap();
    let grant = planned.oauth().unwrap().grant().clone();
    let details = json!({
        "issuer": house.service.url(""), "token_endpoint": house.service.url("/token"),
        "client_id": "c", "method": "none", "scopes": [], "kind": "Bearer", "signed_in_at": 0,
    });
    let tokens = Tokens::new(Secret::new("token-of-ada".to_owned()))
        .with_lifetime(Duration::from_secs(3600))
        .with_details(Secret::new(details.to_string().into_bytes()));
    store.put(&grant, &tokens).unwrap();

    let token = house.idp.token("ada", json!({}));
    let ask = async |session: Option<&str>, message: &str| {
        let client = Client::connect(house.replica.0).await;
        let mut client = client.host("gateway.example").token(&token);
        if let Some(session) = session {
            client = client.with("Mcp-Session-Id", session);
        }
        client.post("/mcp/p/signed", message).await
    };
    let begun = ask(None, HELLO).await;
    let session = begun.header("mcp-session-id").unwrap();
    let called = ask(Some(&session), CALL).await;
    assert!(called.body.contains("called with"), "{called:?}");

    assert_ne!(store.delete(&grant).unwrap(), Deleted::Absent);
    let started = std::time::Instant::now();
    while ask(Some(&session), CALL).await.status != 404 {
        assert!(started.elapsed() < PATIENCE, "the session goes on");
    }
    let before = house.service.seen().len();
    // A client begins another session, in which the next call says where to sign in.
    let begun = ask(None, HELLO).await;
    let session = begun.header("mcp-session-id").unwrap();
    let answer = ask(Some(&session), CALL).await;
    assert!(answer.body.contains("/oauth/start/"), "{answer:?}");
    let sent = house.service.seen();
    // The session at the server may just be ending: that is said with the token that it had.
    let later = sent.iter().skip(before).filter(|it| it.method != "DELETE");
    let later: Vec<_> = later
        .filter(|it| it.header("authorization").is_some())
        .map(|it| (&it.method, &it.body))
        .collect();
    assert!(later.is_empty(), "{later:?}");
}

const CALL: &str =
    r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"whoami","arguments":{}}}"#;
