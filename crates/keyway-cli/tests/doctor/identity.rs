//! Signing in through an organisation's identity provider: once for all servers, kept fresh, and never
//! replaced by a consent of the person's own.

use keyway_testkit::rig::{Assertions, Confidential, Rig, SecretMethod, Seen, Settings};
use keyway_testkit::{Desk, Outcome};

use super::{KEYWAY, assert_fault};

const SECRET: &str = "CANARY-provider-0a1b2c3d4e5f";

/// A server that takes assertions, and a provider that has a client for us.
fn desk() -> (Desk, Rig) {
    let mut settings = Settings::default();
    settings.assertions = Assertions::Granted;
    let desk = Desk::new(KEYWAY, settings.clone());
    settings.account = Some("person@org.example".to_owned());
    let client = Confidential::new(SECRET, SecretMethod::ClientSecretBasic);
    settings.clients.insert("ours".to_owned(), client);
    let provider = Rig::start(settings);
    let issuer = provider.origin();
    let plugin = desk.folder.path().file_name().unwrap().to_str().unwrap();
    let text = format!(
        "[oauth.issuers.\"{issuer}\"]\nclient_id = \"ours\"\nclient_secret_env = \"PROVIDER_SECRET\"\n\
         [servers.\"{plugin}:s\".oauth]\nsource = \"{}\"\nclient_id = \"c\"\ngrant = \"id-jag\"\nidp_issuer = \"{issuer}\"\n",
        desk.folder.path().display(),
    );
    desk.folder.put("home/keyway/config/config.toml", text);
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(desk.folder.at("home/keyway/config"), private).unwrap();
    (desk, provider)
}

fn run(desk: &Desk, arguments: &[&str]) -> Outcome {
    let call = desk.keyway(arguments).env("PROVIDER_SECRET", SECRET);
    call.run()
}

fn call(desk: &Desk) -> Outcome {
    run(desk, &["call", "s", "echo", "message=hello"])
}

fn grants(rig: &Rig) -> Vec<String> {
    let kind = |seen: &Seen| seen.field("grant_type").unwrap_or_default();
    let asked = rig.seen("/token");
    let short = |kind: String| kind.rsplit(':').next().unwrap_or_default().to_owned();
    asked.iter().map(kind).map(short).collect()
}

#[test]
fn a_sign_in_at_the_provider_is_made_once_kept_fresh_and_ended() {
    let (desk, provider) = desk();
    let outcome = desk.without_browser(&["call", "s", "echo", "message=hello"]);
    let outcome = outcome.env("PROVIDER_SECRET", SECRET).run();
    assert_eq!(outcome.code, 3, "{}", outcome.everything());
    let said = outcome.everything();
    assert!(
        said.contains("not signed in at the identity provider"),
        "{said}"
    );
    assert!(said.contains("keyway login s"), "{said}");

    let person = desk.person();
    let login = run(&desk, &["login", "s"]);
    assert_eq!(login.code, 0, "{}", login.everything());
    drop(person);
    // The page that was opened is the provider's, and the notice said so.
    let host = provider.origin().replace("http://", "");
    assert!(login.stderr.contains(&host), "{}", login.everything());
    let windows = desk.windows();
    assert_eq!(windows.len(), 1, "{windows:?}");
    assert!(windows[0].starts_with(&provider.origin()), "{windows:?}");
    assert_eq!(call(&desk).stdout, "Echo: hello\n");
    assert_eq!(grants(&provider), ["authorization_code", "token-exchange"]);

    // Another token for the server: another assertion, and no window.
    let again = run(&desk, &["login", "s", "--force"]);
    assert_eq!(again.code, 0, "{}", again.everything());
    assert_eq!(call(&desk).stdout, "Echo: hello\n");
    assert_eq!(desk.windows().len(), 1);
    assert_eq!(grants(&desk.rig), ["jwt-bearer", "jwt-bearer"]);
    assert!(desk.rig.seen("/authorize").is_empty());

    let logout = run(&desk, &["logout", "s"]);
    assert_eq!(logout.code, 0, "{}", logout.everything());
    assert_eq!(provider.live_refresh_tokens(), 0);
    let secrets: Vec<String> = provider.secrets();
    let secrets: Vec<&str> = secrets.iter().map(String::as_str).collect();
    assert!(desk.leaks(&login.everything(), &secrets).is_empty());
}

#[test]
fn an_id_token_that_ends_is_renewed_without_a_window() {
    let (desk, provider) = desk();
    // An ID token that has ended when it is looked at again.
    provider.set(|settings| settings.expires_in = Some(1));
    let person = desk.person();
    let login = run(&desk, &["login", "s"]);
    assert_eq!(login.code, 0, "{}", login.everything());
    drop(person);
    let renewed = || {
        let again = run(&desk, &["login", "s", "--force"]);
        assert_eq!(again.code, 0, "{}", again.everything());
        provider.refreshes() > 0
    };
    keyway_testkit::eventually("a renewal at the provider", renewed);
    assert_eq!(desk.windows().len(), 1);
    assert!(provider.families()[0].is_chain());
}

/// The administrator says no, at the provider or at the server's issuer; `--device` is no way around.
#[test]
fn a_refusal_of_the_organisation_is_told_and_no_person_is_asked_instead() {
    for at_provider in [true, false] {
        let (desk, provider) = desk();
        let refusing = if at_provider { &provider } else { &desk.rig };
        refusing.set(|settings| settings.assertions = Assertions::Refused);
        refusing.set(|settings| settings.device = Some(1));
        let person = desk.person();
        for arguments in [&["login", "s"][..], &["call", "s", "echo", "message=hello"]] {
            let outcome = run(&desk, arguments);
            assert_eq!(outcome.code, 1, "{}", outcome.everything());
            let refused = format!("`{}` does not grant this access", refusing.origin());
            assert!(
                outcome.stderr.contains(&refused),
                "{}",
                outcome.everything()
            );
        }
        let found = run(&desk, &["doctor", "--format", "json"]);
        let found = assert_fault(&found, "identity-refused", 1, "give its administrator");
        assert_eq!(found["stage"], "token");
        drop(person);
        // The one window was that of the provider; the server's own consent page was never asked for.
        assert_eq!(desk.windows().len(), 1);
        assert!(desk.rig.seen("/authorize").is_empty());
        let device = run(&desk, &["login", "s", "--device"]);
        assert_ne!(device.code, 0, "{}", device.everything());
        assert!(desk.rig.seen("/device_authorization").is_empty());
    }
}
