//! Settings that are one of a few words.

/// Makes an enum together with the words that stand for it in the file.
macro_rules! words {
    (
        $(#[$about:meta])*
        $name:ident { $( $(#[$doc:meta])* $variant:ident = $word:literal, )+ }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $name { $( $(#[$doc])* $variant, )+ }

        impl $name {
            /// Every word, in the order of the reference.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// Returns the word that stands for it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $word, )+ }
            }

            /// Reads a word.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $( $word => Some(Self::$variant), )+ _ => None }
            }
        }
    };
}

words! {
    /// When to use colour.
    ColorChoice {
        /// On a terminal.
        Auto = "auto",
        /// Always.
        Always = "always",
        /// Never.
        Never = "never",
    }
}

words! {
    /// What becomes of a client's call of a tool.
    ToolRule {
        /// It is made.
        Allow = "allow",
        /// A person is asked first.
        Ask = "ask",
        /// It is refused, and the tool is not listed.
        Deny = "deny",
    }
}

words! {
    /// How a token is obtained.
    Grant {
        /// By a person in a browser.
        AuthorizationCode = "authorization-code",
        /// By the client alone.
        ClientCredentials = "client-credentials",
        /// By an identity assertion of the organisation's identity provider.
        IdJag = "id-jag",
        /// By a token that the platform gives to the workload.
        WorkloadIdentity = "workload-identity",
        /// By a person in a browser on another machine (RFC 8628).
        Device = "device",
    }
}

words! {
    /// How a client authenticates to an authorization server.
    AuthMethod {
        /// It does not.
        None = "none",
        /// Its secret as a password.
        ClientSecretBasic = "client_secret_basic",
        /// Its secret in the body.
        ClientSecretPost = "client_secret_post",
        /// An assertion signed with its key.
        PrivateKeyJwt = "private_key_jwt",
    }
}

words! {
    /// How assertions are signed.
    Algorithm {
        /// ECDSA on P-256.
        Es256 = "ES256",
        /// ECDSA on P-384.
        Es384 = "ES384",
        /// RSA with PKCS#1 padding.
        Rs256 = "RS256",
        /// RSA with PSS padding.
        Ps256 = "PS256",
        /// Ed25519.
        EdDsa = "EdDSA",
    }
}

words! {
    /// Whether tokens are bound to a key.
    #[derive(Default)]
    Dpop {
        /// Where the authorization server offers it.
        #[default]
        Auto = "auto",
        /// Always; a token that is not bound is refused.
        Always = "always",
        /// Never.
        Never = "never",
    }
}
