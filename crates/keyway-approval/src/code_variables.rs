//! Variables that decide which code a program loads, or where what it sends goes.

/// Says whether a variable of a process decides which code it loads, or where what it sends goes.
#[must_use]
pub fn decides_about_code(name: &str) -> bool {
    is_code_variable(name) || is_route_variable(name)
}

/// Says whether a variable decides which code a program loads (threat E7).
pub(crate) fn is_code_variable(name: &str) -> bool {
    is_among(CODE_VARIABLES, name)
}

/// Says whether a variable decides where requests of a program go, whom it believes there, or who else
/// can read them.
pub(crate) fn is_route_variable(name: &str) -> bool {
    is_among(ROUTE_VARIABLES, name)
}

fn is_among(variables: &[&str], name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    variables.iter().any(|known| match known.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == *known,
    })
}

/// Proxies, certificates that are believed, and files into which keys of connections are written.
const ROUTE_VARIABLES: &[&str] = &[
    "ALL_PROXY",
    "AWS_CA_BUNDLE",
    "AWS_ENDPOINT_URL*",
    "CURL_CA_BUNDLE",
    "FTP_PROXY",
    "GLOBAL_AGENT_*",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NODE_EXTRA_CA_CERTS",
    "NODE_TLS_REJECT_UNAUTHORIZED",
    "NODE_USE_ENV_PROXY",
    "NO_PROXY",
    "REQUESTS_CA_BUNDLE",
    "SOCKS_PROXY",
    "SSLKEYLOGFILE",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "WSS_PROXY",
    "WS_PROXY",
];

/// Names of variables, `*` for any end of one.
const CODE_VARIABLES: &[&str] = &[
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "BASHOPTS",
    "BASH_ENV",
    "BASH_FUNC_*",
    "BASH_LOADABLES_PATH",
    "BROWSER",
    "BUNDLE_*",
    "BUN_*",
    "CARGO_*",
    "CC",
    "CDPATH",
    "CLASSPATH",
    "COMPLUS_*",
    "COMPOSER_*",
    "CONDA_*",
    "CORECLR_*",
    "COREPACK_*",
    "COR_*",
    "CURL_HOME",
    "CXX",
    "DENO_*",
    "DOCKER_CONFIG",
    "DOCKER_CONTEXT",
    "DOCKER_HOST",
    "DOTNET_*",
    "DYLD_*",
    "EDITOR",
    "ELECTRON_*",
    "ELIXIR_*",
    "EMACSLOADPATH",
    "ENV",
    "ERL_*",
    "EXINIT",
    "FCEDIT",
    "FIGNORE",
    "FPATH",
    "GCONV_PATH",
    "GEM_*",
    "GIO_*",
    "GIT_*",
    "GNUMAKEFLAGS",
    "GNUPGHOME",
    "GOENV",
    "GOFLAGS",
    "GOPATH",
    "GOPROXY",
    "GOROOT",
    "GRADLE_*",
    "GTK_*",
    "GUILE_*",
    "HOME",
    "IFS",
    "INPUTRC",
    "JAVA_HOME",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "JULIA_*",
    "KUBECONFIG",
    "LD_*",
    "LESS",
    "LESSCLOSE",
    "LESSOPEN",
    "LOCPATH",
    "LUA_*",
    "MAKEFILES",
    "MAKEFLAGS",
    "MANPAGER",
    "MAVEN_*",
    "NODE_COMPILE_CACHE",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_REPL_*",
    "NPM_CONFIG_*",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "OPENSSL_MODULES",
    "PAGER",
    "PATH",
    "PERL5*",
    "PERLLIB",
    "PERL_*",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "PIPX_*",
    "PIP_*",
    "PKCS11_*",
    "PNPM_*",
    "POETRY_*",
    "PROMPT_COMMAND",
    "PS4",
    "PYTHON*",
    "QT_*",
    "RIPGREP_CONFIG_PATH",
    "RSYNC_*",
    "RUBY*",
    "RUSTC",
    "RUSTC_*",
    "RUSTFLAGS",
    "RUSTUP_*",
    "R_ENVIRON*",
    "R_PROFILE*",
    "SHELL",
    "SHELLOPTS",
    "SSH_ASKPASS",
    "SSH_ASKPASS_REQUIRE",
    "SUDO_ASKPASS",
    "SUDO_EDITOR",
    "TAR_OPTIONS",
    "TCLLIBPATH",
    "TSX_*",
    "TS_NODE_*",
    "UV_*",
    "VIMINIT",
    "VIRTUAL_ENV",
    "VISUAL",
    "WGETRC",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_*",
    "XDG_DATA_*",
    "YARN_*",
    "ZDOTDIR",
    "_JAVA_OPTIONS",
];

#[cfg(test)]
mod tests {
    use super::decides_about_code;

    #[test]
    fn e07_what_leads_code_or_requests_elsewhere_is_told_from_other_variables() {
        for name in [
            "NODE_OPTIONS",
            "ld_preload",
            "PATH",
            "HTTPS_PROXY",
            "SSLKEYLOGFILE",
        ] {
            assert!(decides_about_code(name), "{name}");
        }
        for name in ["MODE", "MY_PATH", "PATHS", "API_TOKEN"] {
            assert!(!decides_about_code(name), "{name}");
        }
    }
}
