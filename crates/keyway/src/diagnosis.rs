//! What is wrong with a server, more precisely than an error alone says.

mod credential;
mod next;
mod refine;
mod talk;

#[cfg(feature = "callback")]
use keyway_auth::AuthError;
#[cfg(feature = "callback")]
use keyway_auth::oauth::OAuthError;
#[cfg(feature = "callback")]
use keyway_auth::ports::Redirect;
#[cfg(feature = "callback")]
use keyway_transport::CallbackListener;

pub use self::credential::credential_variables;
pub use self::refine::{Diagnosis, Evidence, Speaks, explainer, refine, refine_session};

/// Finds out whether the browser could come back to a fixed port. Has to be called inside a Tokio
/// runtime.
///
/// # Errors
///
/// Returns that the port is taken.
#[cfg(feature = "callback")]
pub fn callback_port(port: u16) -> Result<(), AuthError> {
    let mut redirect = Redirect::default();
    redirect.port = Some(port);
    let bound = CallbackListener::bind(&redirect).map(drop);
    bound.map_err(|error| OAuthError::from(error).into())
}
