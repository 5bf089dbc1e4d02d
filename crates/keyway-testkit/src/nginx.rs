//! A real nginx on loopback, and authorities whose certificates it and its clients show.

use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use crate::{Folder, eventually};

/// A certificate authority. Every method panics on failure: it is for tests.
#[derive(Debug)]
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

#[expect(
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "a test without its certificates must stop"
)]
impl Authority {
    /// Makes an authority that signs for itself.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("a certificate"))
    }

    /// Returns the certificate of the authority itself.
    #[must_use]
    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// Issues a certificate for `name` at `hosts` to `FILE.pem`, then its key to `FILE.key`.
    pub fn issue(&self, folder: &Folder, file: &str, name: &str, hosts: &[&str]) {
        let key = KeyPair::generate().expect("a key");
        let hosts: Vec<String> = hosts.iter().map(|&host| host.to_owned()).collect();
        let mut params = CertificateParams::new(hosts).expect("names");
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        folder.put(&format!("{file}.pem"), certificate.pem());
        // The time between the two files is what is tested: half a pair is on the disk for a while.
        std::thread::sleep(Duration::from_millis(50));
        folder.put(&format!("{file}.key"), key.serialize_pem());
    }
}

/// nginx as a process; it ends with this value.
#[derive(Debug)]
pub struct Nginx(Child);

#[expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::print_stdout,
    reason = "a test says why it was skipped, and stops where its server does not start"
)]
impl Nginx {
    /// Starts nginx with `servers` inside its `http` block, and waits until it listens on `port`.
    ///
    /// All its files are in `folder`. Without nginx on the machine a test is skipped, which is said.
    #[must_use]
    pub fn start(folder: &Folder, port: u16, servers: &str) -> Option<Self> {
        let programs = ["/usr/sbin/nginx", "/usr/bin/nginx"];
        let Some(program) = programs.into_iter().find(|path| Path::new(path).is_file()) else {
            println!("skipped: no nginx; `cargo xtask tools --setup` installs it");
            return None;
        };
        let at = folder.path().display();
        let settings = format!(
            "daemon off;\nuser root;\npid {at}/nginx.pid;\nerror_log {at}/error.log;\nevents {{}}\nhttp {{\n\
             access_log off;\nclient_body_temp_path {at}/t1;\nproxy_temp_path {at}/t2;\n\
             fastcgi_temp_path {at}/t3;\nuwsgi_temp_path {at}/t4;\nscgi_temp_path {at}/t5;\n{servers}\n}}\n"
        );
        folder.put("nginx.conf", settings);
        let child = Command::new(program)
            .args(["-p", &at.to_string(), "-e", "error.log", "-c", "nginx.conf"])
            .stderr(Stdio::null())
            .spawn()
            .expect("nginx");
        let nginx = Self(child);
        eventually("nginx listens", || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        Some(nginx)
    }

    /// Has nginx read its files again.
    pub fn reload(&self) {
        assert!(self.signal("-HUP"), "nginx does not run");
    }

    fn signal(&self, signal: &str) -> bool {
        let id = self.0.id().to_string();
        let status = Command::new("kill").args([signal, &id]).status();
        status.is_ok_and(|status| status.success())
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // Its workers end with it only if it is asked.
        self.signal("-TERM");
        drop(self.0.wait());
    }
}
