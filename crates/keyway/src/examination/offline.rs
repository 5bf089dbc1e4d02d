//! The stages that need no network: file, rules, variables, approval.

use keyway_code::{Reason, Stage, State};

use super::survey::Survey;
use super::{REPORT, rules};
use crate::diagnosis::Diagnosis;
use crate::host::{Approved, Error, Plan, Plugin};

/// A server that was examined as far as nothing is run or sent.
#[derive(Debug)]
#[non_exhaustive]
pub struct Candidate {
    /// What was found out.
    pub diagnosis: Diagnosis,
    /// The server, if nothing keeps it from being connected to.
    pub ready: Option<Box<Approved<Plan>>>,
}

/// Examines every server of a plugin as far as nothing is run or sent. Where files give no server,
/// the first thing that is wrong with them is told of [`NO_SERVER`].
///
/// # Errors
///
/// Returns [`Error::Load`] if the env file cannot be read.
pub fn candidates(plugin: &Plugin) -> Result<Vec<Candidate>, Error> {
    let survey = Survey::of(&[plugin.loaded().as_ref()], plugin.host())?;
    let Survey { servers, findings } = survey;
    let mut found: Vec<Candidate> = servers
        .into_iter()
        .map(|server| candidate(server.diagnosis, plugin))
        .collect();
    if found.is_empty() {
        found.extend(findings.first().map(|finding| Candidate {
            diagnosis: rules::with_finding(
                Diagnosis::new(plugin.name(), NO_SERVER),
                Stage::File,
                finding,
            ),
            ready: None,
        }));
    }
    Ok(found)
}

fn candidate(mut diagnosis: Diagnosis, plugin: &Plugin) -> Candidate {
    let is_stopped = matches!(diagnosis.state.state, State::Disabled | State::Failed)
        || diagnosis.state.reason == Some(Reason::NotConfigured);
    if is_stopped {
        return Candidate {
            diagnosis,
            ready: None,
        };
    }
    let plan = plugin.plan(&diagnosis.server);
    match plan.and_then(|plan| plan.approved_before()) {
        Ok(ready) => {
            diagnosis.clear_approval();
            diagnosis.stage = Stage::Trust;
            Candidate {
                diagnosis,
                ready: Some(Box::new(ready)),
            }
        }
        Err(error) => {
            let mut diagnosis = error.diagnosis_of(diagnosis, Stage::Trust);
            diagnosis.hint.get_or_insert_with(|| REPORT.to_owned());
            Candidate {
                diagnosis,
                ready: None,
            }
        }
    }
}

/// Stands for the name of a server where a whole file is meant.
pub const NO_SERVER: &str = "-";
