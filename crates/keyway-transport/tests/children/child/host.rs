//! A host that starts a child of its own and then does nothing: somebody will kill it.

use keyway_transport::{ChildEnv, Isolation, Launcher, Program, StdioServer};

/// Prints a message once the child runs.
pub(crate) fn run() {
    let script = "echo \"{\\\"id\\\":$$,\\\"result\\\":$$}\"; exec sleep 1000";
    let server = StdioServer {
        label: "sleep".to_owned(),
        program: Program {
            command: "/bin/sh".to_owned().into(),
            args: ["-c", script].map(|arg| arg.to_owned().into()).to_vec(),
            env: ChildEnv::default(),
            folder: "/".into(),
            isolation: Isolation::default(),
        },
        secrets: Vec::new(),
        log: None,
        verify: None,
    };
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
        std::future::pending::<()>().await;
    });
}
