//! The vectors of the seed: each table row and each numbered rule of its sections 2, 5 and 7.
//!
//! The seed is the short description that the contract grew from. A test carries the number of its
//! row or rule and shows the half that configuration decides: what is read, what is filled in,
//! which method is chosen, what is reported. The other half needs a server:
//!
//! | row or rule | arrives with |
//! |---|---|
//! | 5.1.3 the flow runs and tokens are refreshed without the plugin | OAuth |
//! | 5.1.5 new scopes: the person authorizes again | OAuth |
//! | 5.5.2 the script writes one JSON object to standard output | connecting |
//! | 7 HTTP 401: expired, or lacking permission | connecting |
//! | 7 HTTP 403: permission, scope, approval by an administrator | connecting |
//! | 7 authentication loop: signing out and in | OAuth |
//! | 7 scope problem | OAuth |
//! | 7 refresh failure | OAuth |

#[path = "seed/dynamic_headers.rs"]
mod dynamic_headers;
#[path = "seed/entry_fields.rs"]
mod entry_fields;
#[path = "seed/errors.rs"]
mod errors;
#[path = "seed/examples.rs"]
mod examples;
#[path = "seed/header_names.rs"]
mod header_names;
#[path = "seed/local_processes.rs"]
mod local_processes;
#[path = "seed/oauth.rs"]
mod oauth;
#[path = "seed/rules.rs"]
mod rules;
#[path = "seed/tenants.rs"]
mod tenants;
#[path = "seed/token_headers.rs"]
mod token_headers;
#[path = "seed/trial.rs"]
mod trial;
#[path = "seed/variables.rs"]
mod variables;
