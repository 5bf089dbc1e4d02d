//! A host that runs a script as a server of its own, and then does nothing or ends.

use keyway_transport::{
    ChildEnv, IsolationMechanism, IsolationProfile, Launcher, Program, StdioServer,
};

/// Prints the first message of the script; stays until it is killed, unless `end` says otherwise.
pub(crate) fn run(profile: &str, end: &str, script: &str) {
    let (profile, mechanism) = match profile {
        "off" => (IsolationProfile::None, IsolationMechanism::Best),
        "landlock" => (IsolationProfile::Hide, IsolationMechanism::Landlock),
        "confine" => (IsolationProfile::Confine, IsolationMechanism::Best),
        _ => (IsolationProfile::Hide, IsolationMechanism::Best),
    };
    let mut program = Program::new("/bin/sh".to_owned().into(), ChildEnv::default(), "/");
    program.args = ["-c", script].map(|arg| arg.to_owned().into()).to_vec();
    program.isolation.profile = profile;
    program.isolation.mechanism = mechanism;
    let server = StdioServer::new("script", program);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let launcher = Launcher::current().unwrap();
        let (mut connection, _) = server.open(&launcher).await.unwrap();
        if let Some(keyway_transport::Event::Frame(frame)) = connection.events.recv().await {
            println!("{}", String::from_utf8_lossy(frame.bytes()));
        }
        if end == "stay" {
            std::future::pending::<()>().await;
        }
    });
}
