//! `soak`: publishing, listening, asking and churning for minutes; memory must not grow.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::task::JoinSet;

use super::ask::Asker;
use super::churn::Churn;
use super::crowd::Crowd;
use super::error::DriveError;
use super::ledger::Audience;
use super::live::Live;
use super::memory::Memory;
use super::notes::{Notes, authors};
use super::pace::Schedule;
use super::publish::Publisher;
use super::runtime::{SETTLE, block_on, wait_for};
use super::spec::positive;
use crate::latency::Recorder;
use crate::report::Report;
use crate::row::Row;
use crate::target::Target;

/// Events of an answer at most.
const ANSWER_EVENTS: usize = 20;

/// How much of it.
#[derive(Args, Clone, Debug)]
pub struct Spec {
    /// Seconds of load
    #[arg(long, value_name = "S", default_value_t = 120.0)]
    pub seconds: f64,
    /// Events a second
    #[arg(long, value_name = "N", default_value_t = 500.0)]
    pub rate: f64,
    /// Subscribers, each with a filter of its own
    #[arg(long, value_name = "N", default_value_t = 500)]
    pub subscribers: usize,
    /// Sockets that ask for stored events without pause
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub askers: usize,
    /// Sockets that open and close subscriptions without pause
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub churners: usize,
    /// Seconds without any progress after which the row ends
    #[arg(long, value_name = "S", default_value_t = 20)]
    pub silence_s: u64,
}

/// One row: `120 s`.
pub fn run(target: &Target, spec: &Spec, emit: &mut dyn FnMut(Report)) {
    let mut row = Row::new("soak", format!("{} s", spec.seconds), target);
    row.param("seconds", spec.seconds)
        .param("rate_per_s", spec.rate)
        .param("subscribers", spec.subscribers)
        .param("askers", spec.askers)
        .param("churners", spec.churners);
    let outcome = block_on(measure(target, spec, &mut row));
    emit(row.close(outcome));
}

async fn measure(target: &Target, spec: &Spec, row: &mut Row) -> Result<(), DriveError> {
    positive(&[("subscribers", spec.subscribers as f64), ("rate", spec.rate)])?;
    let silence = Duration::from_secs(spec.silence_s);
    let subscribers = spec.subscribers;
    let authors = authors(subscribers);
    let reader_of = move |place: usize| place.wrapping_mul(7_919) % subscribers;
    let events = (spec.seconds * spec.rate) as usize;
    let notes = Arc::new(Notes::new(&authors, events, 300, reader_of));
    let filter_of =
        |number: usize| format!(r#"{{"authors":["{}"],"kinds":[1]}}"#, authors[number].pubkey());
    let first = 1 + spec.churners + spec.askers;
    let crowd = Crowd::gather(target, first, subscribers, silence, filter_of).await?;
    let publisher = Publisher::connect(target, 0).await?;
    let churn = Churn::connect(target, 1, spec.churners, silence).await?;
    let questions = (0..subscribers.min(64)).map(|number| {
        format!(r#"{{"authors":["{}"],"limit":{ANSWER_EVENTS}}}"#, authors[number].pubkey())
    });
    let asking = Asking::connect(target, spec, silence, questions.collect()).await?;

    let begin = row.begin();
    let schedule = Schedule::new(begin + Duration::from_millis(20), spec.rate);
    let live = Live::start(crowd, notes.clone(), schedule, Audience::One(Box::new(reader_of)));
    let memory = Memory::watch(target, begin);
    let turning = churn.start();
    let asking = asking.start();
    let published = publisher.publish(notes, schedule);
    let all = live.expected() + events as u64;
    wait_for(all, silence, || live.arrived() + published.answered()).await;
    turning.stop();
    let elapsed_s = row.end(live.arrived());
    asking.report(row).await;
    tokio::time::sleep(SETTLE).await;
    live.report(row);
    memory.report(row, spec.seconds);
    turning.report(elapsed_s, row).await;
    published.finish(row)
}

/// Sockets that ask without pause.
struct Asking {
    askers: Vec<Asker>,
    state: Rc<Asked>,
}

struct Asked {
    questions: Vec<String>,
    stopped: Cell<bool>,
    eose: RefCell<Recorder>,
    too_long: Cell<u64>,
    refusals: RefCell<Vec<String>>,
}

/// Sockets that do.
struct Answering {
    lanes: JoinSet<Result<(), DriveError>>,
    state: Rc<Asked>,
}

impl Asking {
    async fn connect(
        target: &Target,
        spec: &Spec,
        silence: Duration,
        questions: Vec<String>,
    ) -> Result<Self, DriveError> {
        let mut askers = Vec::new();
        for number in 0..spec.askers {
            askers.push(Asker::connect(target, 1 + spec.churners + number, silence).await?);
        }
        let state = Rc::new(Asked {
            questions,
            stopped: Cell::new(false),
            eose: RefCell::new(Recorder::new()),
            too_long: Cell::new(0),
            refusals: RefCell::default(),
        });
        Ok(Self { askers, state })
    }

    fn start(self) -> Answering {
        let mut lanes = JoinSet::new();
        for (number, mut asker) in self.askers.into_iter().enumerate() {
            let state = self.state.clone();
            lanes.spawn_local(async move {
                let mut next = number;
                while !state.stopped.get() {
                    next += 1;
                    let question = &state.questions[next % state.questions.len()];
                    let answer = asker.ask(question).await?;
                    state.eose.borrow_mut().record(answer.done);
                    let is_long = answer.ids.len() > ANSWER_EVENTS;
                    state.too_long.set(state.too_long.get() + u64::from(is_long));
                    state.refusals.borrow_mut().extend(answer.refusal);
                }
                Ok(())
            });
        }
        Answering { lanes, state: self.state }
    }
}

impl Answering {
    async fn report(mut self, row: &mut Row) {
        self.state.stopped.set(true);
        let mut lost = 0_u64;
        while let Some(lane) = self.lanes.join_next().await {
            if let Ok(Err(error)) = lane {
                lost += 1;
                row.warn(format!("an asking socket: {error}"));
            }
        }
        let (state, refusals) = (&self.state, self.state.refusals.borrow());
        row.latency("eose", &state.eose.borrow())
            .check("asking_lost_sockets", 0, lost)
            .check("answers_too_long", 0, state.too_long.get())
            .check("answers_refused", 0, refusals.len());
        if let Some(text) = refusals.first() {
            row.warn(format!("an answer was refused: {text}"));
        }
    }
}
