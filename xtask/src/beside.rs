//! Steps that are done while others, which mostly wait or compile, are run.
//!
//! They follow each other. What one of them prints is shown whole when it has ended.

use std::env;
use std::fs::{self, File};
use std::panic;
use std::process::Stdio;
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;
use std::time::Instant;

use crate::child;
use crate::error::XtaskError;
use crate::metadata::Workspace;

/// A step, which is a task of this program.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) title: String,
    pub(crate) task: &'static [&'static str],
}

/// Does the `work`, and the steps beside it from when it says so on; after a failure of one of both
/// the other ends what it does. A failure of the work comes first.
pub(crate) fn with<T>(
    workspace: &Workspace,
    steps: &[Step],
    work: impl FnOnce(&mut dyn FnMut()) -> Result<T, XtaskError>,
) -> Result<T, XtaskError> {
    let one = |step: &Step| run(workspace, step);
    both(steps, &one, work)
}

fn both<T>(
    steps: &[Step],
    one: &(impl Fn(&Step) -> Result<(), XtaskError> + Sync),
    work: impl FnOnce(&mut dyn FnMut()) -> Result<T, XtaskError>,
) -> Result<T, XtaskError> {
    let (stop, stopped) = mpsc::channel();
    let mut stopped = Some(stopped);
    thread::scope(|scope| {
        let mut lane = None;
        let result = work(&mut || {
            if let Some(stopped) = stopped.take() {
                lane = Some(scope.spawn(move || all(steps, one, &stopped)));
            }
        });
        if result.is_err() {
            // Not received if the steps never began.
            stop.send(()).unwrap_or_default();
        }
        let beside = lane.map(|lane| {
            lane.join()
                .unwrap_or_else(|cause| panic::resume_unwind(cause))
        });
        let result = result?;
        // Work that never said so did not keep the steps after it from being done.
        beside.unwrap_or_else(|| steps.iter().try_for_each(one))?;
        Ok(result)
    })
}

/// Does one step after the other until it is stopped or one fails.
fn all(
    steps: &[Step],
    one: impl Fn(&Step) -> Result<(), XtaskError>,
    stopped: &Receiver<()>,
) -> Result<(), XtaskError> {
    for step in steps {
        if stopped.try_recv() != Err(TryRecvError::Empty) {
            return Ok(());
        }
        one(step)?;
    }
    Ok(())
}

/// Runs a step in a process of its own, and prints what it said and how it ended.
fn run(workspace: &Workspace, step: &Step) -> Result<(), XtaskError> {
    let begin = Instant::now();
    let own = env::current_exe().map_err(XtaskError::file(&workspace.root))?;
    let path = workspace.target.join("beside.log");
    let log = File::create(&path).map_err(XtaskError::file(&path))?;
    let same = log.try_clone().map_err(XtaskError::file(&path))?;
    let mut command = child::program(workspace, own);
    command
        .args(step.task)
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(same);
    let result = child::run(&mut command);
    let said = fs::read(&path).map_err(XtaskError::file(&path))?;
    let said = String::from_utf8_lossy(&said);
    let title = &step.title;
    let outcome = if result.is_ok() { "ok" } else { "FAILED" };
    let seconds = begin.elapsed().as_secs_f32();
    println!("\n{title}, beside other steps\n{said}{title}: {outcome} after {seconds:.1} s\n");
    result
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn steps() -> [Step; 2] {
        ["one", "two"].map(|title| Step {
            title: title.to_owned(),
            task: &[],
        })
    }

    fn failure(of: &str) -> XtaskError {
        XtaskError::Conformance {
            surprises: vec![of.to_owned()],
        }
    }

    #[test]
    fn steps_are_done_while_the_work_goes_on() {
        let (done, both_done) = mpsc::channel();
        let done = Mutex::new(done);
        let one = |step: &Step| {
            done.lock().unwrap().send(step.title.clone()).unwrap();
            Ok(())
        };
        let seen = both(&steps(), &one, |begin| {
            begin();
            // Would wait for ever if the steps came after it.
            Ok([both_done.recv().unwrap(), both_done.recv().unwrap()])
        });
        assert_eq!(seen.unwrap(), ["one", "two"]);
    }

    #[test]
    fn steps_that_the_work_did_not_let_begin_are_done_after_it() {
        let done = Mutex::new(Vec::new());
        let one = |step: &Step| {
            done.lock().unwrap().push(step.title.clone());
            Ok(())
        };
        both(&steps(), &one, |_| Ok(())).unwrap();
        assert_eq!(*done.lock().unwrap(), ["one", "two"]);
    }

    #[test]
    fn no_other_step_begins_after_it_was_stopped() {
        let (stop, stopped) = mpsc::channel();
        let done = Mutex::new(Vec::new());
        let one = |step: &Step| {
            done.lock().unwrap().push(step.title.clone());
            stop.send(()).unwrap();
            Ok(())
        };
        all(&steps(), one, &stopped).unwrap();
        assert_eq!(*done.lock().unwrap(), ["one"]);
    }

    #[test]
    fn a_failure_of_the_work_comes_before_one_of_a_step() {
        let one = |step: &Step| Err(failure(&step.title));
        let result = both(&steps(), &one, |begin| -> Result<(), _> {
            begin();
            Err(failure("the tests"))
        });
        assert!(result.unwrap_err().to_string().contains("the tests"));
    }

    #[test]
    fn a_step_that_fails_fails_the_work_that_succeeded() {
        let done = Mutex::new(Vec::new());
        let one = |step: &Step| {
            done.lock().unwrap().push(step.title.clone());
            Err(failure(&step.title))
        };
        let result = both(&steps(), &one, |begin| {
            begin();
            Ok(())
        });
        assert!(result.unwrap_err().to_string().contains("one"));
        assert_eq!(*done.lock().unwrap(), ["one"]);
    }
}
