//! The first thing in every process that the harness starts: it ties the process to the harness,
//! then becomes the program that was asked for.
//!
//! A killed harness cannot clean up, so the kernel does: the parent-death signal survives `exec`.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, bail};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, getppid, getrlimit, set_parent_process_death_signal, setrlimit,
};

/// Becomes `command`, which dies with the process `parent`.
pub fn become_guarded(parent: u32, command: &[OsString]) -> anyhow::Result<()> {
    let Some((program, arguments)) = command.split_first() else {
        bail!("no command to run");
    };
    die_with_parent()?;
    // The parent may have died before the line above.
    if getppid().map(Pid::as_raw_pid) != i32::try_from(parent).ok() {
        bail!("the parent is gone");
    }
    raise_descriptors();
    let error = Command::new(program).args(arguments).exec();
    Err(error).with_context(|| format!("cannot run {}", program.display()))
}

/// Ties this process to the one that started it.
pub fn die_with_parent() -> anyhow::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL)).context("cannot tie to the parent")
}

/// Lets every relay have as many sockets as the system allows: some only take what they are given.
fn raise_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    // Without the right to raise it, the relay runs with what there is.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}
