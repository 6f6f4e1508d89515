//! The thread that asks the program and passes slices on.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use crossbeam_channel::{Receiver, Sender, bounded};
use rustc_hash::FxBuildHasher;
use zeolite_policy::{
    PluginDesk, PluginEffect, PluginFault, PluginSettings, Ruling, push_question,
};
use zeolite_proto::Kind;

use super::child::{Child, FromChild};
use crate::clock;
use crate::inbox::AdmitterIn;
use crate::ingest::{Checked, CheckedSlice, Verdict};
use crate::limits::PLUGIN_ANSWERS_WAITING;
use crate::metrics::Metrics;

/// How often the program's file is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What the thread owns.
pub(crate) struct PluginThread {
    command: String,
    pending_max: usize,
    desk: PluginDesk,
    child: Option<Child>,
    generation: u64,
    file: Option<WatchedFile>,
    start: Instant,
    /// The questions under way, by token.
    asked: HashMap<u64, Asked, FxBuildHasher>,
    next_token: u64,
    /// Slices that are not decided yet, by ticket.
    slices: HashMap<u64, Held, FxBuildHasher>,
    from_child: (Sender<FromChild>, Receiver<FromChild>),
    admitter: Sender<AdmitterIn>,
    metrics: Arc<Metrics>,
}

struct Asked {
    ticket: u64,
    at: usize,
    since: Instant,
}

struct Held {
    slice: CheckedSlice,
    undecided: usize,
}

impl PluginThread {
    /// A thread for this shell command.
    pub(crate) fn new(
        command: &str,
        settings: PluginSettings,
        admitter: Sender<AdmitterIn>,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self {
            command: command.to_owned(),
            pending_max: settings.pending_max,
            desk: PluginDesk::new(settings),
            child: None,
            generation: 0,
            file: WatchedFile::of(command),
            start: Instant::now(),
            asked: HashMap::default(),
            next_token: 0,
            slices: HashMap::default(),
            from_child: bounded(PLUGIN_ANSWERS_WAITING),
            admitter,
            metrics,
        }
    }

    /// Runs until every verifier is gone and everything is decided.
    pub(crate) fn run(mut self, inbox: &Receiver<CheckedSlice>) {
        let never = crossbeam_channel::never();
        let mut inbox = inbox;
        while !(std::ptr::eq(inbox, &never) && self.slices.is_empty()) {
            let answers = self.from_child.1.clone();
            crossbeam_channel::select! {
                recv(inbox) -> slice => match slice {
                    Ok(slice) => self.take(slice),
                    Err(_) => inbox = &never,
                },
                recv(answers) -> said => {
                    for said in said.into_iter().chain(answers.try_iter()) {
                        self.hear(&said);
                    }
                }
                default(self.patience()) => {}
            }
            self.desk.tick(self.start.elapsed());
            self.look_at_file();
            self.carry_out();
        }
    }

    fn patience(&self) -> Duration {
        let deadline = self.desk.deadline().unwrap_or(Duration::MAX);
        deadline.saturating_sub(self.start.elapsed()).min(LOOK_EVERY)
    }

    /// Asks about every event of a slice that the relay itself would take. Requests to vanish are
    /// no matter of policy (R62-06).
    fn take(&mut self, slice: CheckedSlice) {
        let now = self.start.elapsed();
        let (ticket, first_token) = (slice.ticket, self.next_token);
        for (at, (origin, checked)) in slice.events.iter().enumerate() {
            let Checked::Good(event) = checked else { continue };
            if event.view().kind() == Kind::VANISH {
                continue;
            }
            let mut line = Vec::new();
            let login = origin.login(&event.view().pubkey());
            let source = origin.plugin_source();
            push_question(&mut line, event, clock::now(), source, login.as_ref());
            let token = self.next_token;
            self.next_token += 1;
            self.asked.insert(token, Asked { ticket, at, since: Instant::now() });
            self.desk.ask(now, token, event.view().id(), line);
        }
        let undecided = usize::try_from(self.next_token - first_token).expect("one slice's events");
        if undecided == 0 {
            self.pass_on(slice);
        } else {
            self.slices.insert(ticket, Held { slice, undecided });
        }
    }

    fn hear(&mut self, said: &FromChild) {
        let now = self.start.elapsed();
        let generation = self.generation;
        match said {
            FromChild::Line(from, line) if *from == generation => self.desk.answered(now, line),
            FromChild::Gone(from) if *from == generation => self.desk.died(now),
            FromChild::Line(..) | FromChild::Gone(_) => {}
        }
        self.carry_out();
    }

    fn carry_out(&mut self) {
        while let Some(effect) = self.desk.poll() {
            match effect {
                PluginEffect::Start => self.start_child(),
                PluginEffect::Write(lines) => {
                    if !self.child.as_ref().is_some_and(|child| child.write(lines)) {
                        self.desk.died(self.start.elapsed());
                    }
                }
                PluginEffect::Kill => self.child = None,
                PluginEffect::Ruled { token, ruling } => self.rule(token, ruling),
                PluginEffect::Fault(fault) => self.complain(fault),
            }
        }
    }

    fn start_child(&mut self) {
        self.generation += 1;
        let to_thread = self.from_child.0.clone();
        match Child::start(&self.command, self.generation, self.pending_max, to_thread) {
            Ok(child) => self.child = Some(child),
            Err(error) => {
                tracing::error!(%error, command = self.command, "the policy cannot be started");
                self.desk.died(self.start.elapsed());
            }
        }
    }

    fn rule(&mut self, token: u64, ruling: Ruling) {
        let Some(Asked { ticket, at, since }) = self.asked.remove(&token) else { return };
        self.metrics.policy_seconds.record(since.elapsed().as_secs_f64());
        let Some(held) = self.slices.get_mut(&ticket) else { return };
        let checked = &mut held.slice.events[at].1;
        match ruling {
            Ruling::Accept => {}
            Ruling::Reject(reason) => *checked = Checked::Refused(Verdict::Unwanted(reason)),
            Ruling::ShadowReject => *checked = Checked::Refused(Verdict::Shadowed),
        }
        held.undecided -= 1;
        if held.undecided == 0
            && let Some(Held { slice, .. }) = self.slices.remove(&ticket)
        {
            self.pass_on(slice);
        }
    }

    fn pass_on(&self, slice: CheckedSlice) {
        let _stopping = self.admitter.send(AdmitterIn::Checked(slice));
    }

    fn complain(&self, fault: PluginFault) {
        self.metrics.policy_fault(fault).increment(1);
        let what = match fault {
            PluginFault::Late => "gave no answer in time and is started anew",
            PluginFault::Died => "ended and is started anew",
            PluginFault::Garbage => "wrote a line that is no answer and is started anew",
            PluginFault::Unasked => "answered what it was not asked",
        };
        tracing::warn!(command = self.command, "the policy {what}");
    }

    fn look_at_file(&mut self) {
        if self.file.as_mut().is_some_and(WatchedFile::has_changed) {
            tracing::info!(command = self.command, "the policy has changed and is started anew");
            self.desk.reload(self.start.elapsed());
        }
    }
}

/// The program's file, when the command is nothing but its path: strfry's policies are reloaded when
/// they are edited.
struct WatchedFile {
    path: PathBuf,
    modified: Option<SystemTime>,
    looked: Instant,
}

impl WatchedFile {
    fn of(command: &str) -> Option<Self> {
        let path = Path::new(command);
        let is_path = !command.contains(char::is_whitespace) && path.is_file();
        let looked = Instant::now();
        is_path.then(|| Self { path: path.into(), modified: modified(path), looked })
    }

    fn has_changed(&mut self) -> bool {
        if self.looked.elapsed() < LOOK_EVERY {
            return false;
        }
        self.looked = Instant::now();
        // A file that is not there for a moment is being replaced.
        let Some(modified) = modified(&self.path) else { return false };
        self.modified.replace(modified) != Some(modified)
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|file| file.modified()).ok()
}
