//! One child process, its pipes, and the two threads that serve them.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};
use parking_lot::Mutex;

use crate::limits::PLUGIN_LINE_BYTES_MAX;

/// What a child says. A later child has a greater generation, so what a dead one still said can be
/// told apart.
#[derive(Debug)]
pub(super) enum FromChild {
    /// A line, without its end.
    Line(u64, Vec<u8>),
    /// It will say nothing more.
    Gone(u64),
}

/// A running child. Dropping it kills it, and whatever it started.
pub(super) struct Child {
    to_writer: Sender<Vec<u8>>,
    group: Arc<Group>,
}

/// The process group of a child, until the child is reaped: its number may then be another's.
struct Group(Mutex<Option<i32>>);

impl Group {
    fn kill(&self) {
        if let Some(leader) = *self.0.lock() {
            // SAFETY: a plain system call. The leader is not reaped while the lock is held, so the
            // number is the child's.
            #[allow(unsafe_code, reason = "std can kill a process but not its group")]
            unsafe {
                libc::kill(-leader, libc::SIGKILL);
            }
        }
    }
}

impl Child {
    /// Starts `command` with the shell, as strfry does, so that it may have arguments and variables. `writes_max`
    /// is how many writes can be waiting; there are never more than questions pending.
    pub(super) fn start(
        command: &str,
        generation: u64,
        writes_max: usize,
        to_thread: Sender<FromChild>,
    ) -> io::Result<Self> {
        let mut process = Command::new("/bin/sh")
            .args(["-c", command])
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let leader = i32::try_from(process.id()).expect("a process id fits its C type");
        let group = Arc::new(Group(Mutex::new(Some(leader))));
        let (to_writer, writes) = bounded(writes_max);
        let (stdin, stdout) = (process.stdin.take(), process.stdout.take());
        let pipes = stdin.zip(stdout).ok_or_else(|| io::Error::other("no pipes"))?;
        let child = Self { to_writer, group: Arc::clone(&group) };
        named("plugin-writer").spawn(move || write(pipes.0, &writes))?;
        named("plugin-reader").spawn(move || {
            read(pipes.1, generation, &to_thread);
            // It may have closed its output and live on.
            group.kill();
            let _reaped = process.wait();
            *group.0.lock() = None;
        })?;
        Ok(child)
    }

    /// Hands lines to the writer. False if it is gone, or has more to write than can be.
    pub(super) fn write(&self, lines: Vec<u8>) -> bool {
        self.to_writer.try_send(lines).is_ok()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.group.kill();
    }
}

fn named(name: &str) -> thread::Builder {
    thread::Builder::new().name(name.to_owned())
}

/// Writes until the child is gone or dropped. A child that reads nothing blocks this thread and
/// no other, until it is killed.
fn write(mut stdin: ChildStdin, writes: &Receiver<Vec<u8>>) {
    for lines in writes {
        // The reader sees the end of the child and tells it.
        if stdin.write_all(&lines).is_err() {
            return;
        }
    }
}

fn read(stdout: ChildStdout, generation: u64, to_thread: &Sender<FromChild>) {
    let mut stdout = BufReader::new(stdout);
    loop {
        let mut line = Vec::new();
        let limited = (&mut stdout).take(PLUGIN_LINE_BYTES_MAX).read_until(b'\n', &mut line);
        if !matches!(limited, Ok(1..)) {
            break;
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        if to_thread.send(FromChild::Line(generation, line)).is_err() {
            return;
        }
    }
    let _stopping = to_thread.send(FromChild::Gone(generation));
}
