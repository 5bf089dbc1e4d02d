//! An agent of launchd, which starts with the session and again when it dies.

use super::{LABEL, MARK, Service, UnitFile};

pub(super) fn file(service: &Service) -> UnitFile {
    let arguments: String = service
        .command()
        .chain(["--listen", &service.listen.to_string()])
        .map(|argument| format!("        <string>{}</string>\n", escaped(argument)))
        .collect();
    let environment: String = service
        .environment
        .iter()
        .map(|(name, value)| {
            let (name, value) = (escaped(name), escaped(value));
            format!("        <key>{name}</key>\n        <string>{value}</string>\n")
        })
        .collect();
    let content = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!-- {MARK} -->\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \
         \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <plist version=\"1.0\">\n\
         <dict>\n\
         \x20   <key>Label</key>\n\
         \x20   <string>{LABEL}</string>\n\
         \x20   <key>ProgramArguments</key>\n\
         \x20   <array>\n\
         {arguments}\
         \x20   </array>\n\
         \x20   <key>EnvironmentVariables</key>\n\
         \x20   <dict>\n\
         {environment}\
         \x20   </dict>\n\
         \x20   <key>RunAtLoad</key>\n\
         \x20   <true/>\n\
         \x20   <key>KeepAlive</key>\n\
         \x20   <dict>\n\
         \x20       <key>SuccessfulExit</key>\n\
         \x20       <false/>\n\
         \x20   </dict>\n\
         \x20   <key>Umask</key>\n\
         \x20   <integer>63</integer>\n\
         </dict>\n\
         </plist>\n"
    );
    UnitFile {
        name: "dev.keyway.gateway.plist",
        content,
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
