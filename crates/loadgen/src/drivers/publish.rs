//! A publisher on its own socket, in an open loop, and the answers to it.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use tokio::task::{AbortHandle, spawn_local};
use zeolite_proto::EventId;

use super::error::DriveError;
use super::notes::Notes;
use super::pace::{Pacer, Schedule};
use crate::latency::Recorder;
use crate::row::Row;
use crate::socket::{Message, Socket, SocketError};
use crate::target::Target;

/// Connections to publish on, in turn.
pub(crate) struct Publisher {
    sockets: Vec<Socket>,
}

/// What a publisher did, while it does it.
pub(crate) struct Published {
    pacer: Pacer,
    readers: Vec<AbortHandle>,
    answers: Rc<RefCell<Answers>>,
}

struct Answers {
    notes: Arc<Notes>,
    schedule: Schedule,
    answered: Vec<bool>,
    accepted: u64,
    refused: u64,
    first_refusal: Option<String>,
    doubled: u64,
    stray: u64,
    lost: Option<String>,
    times: Recorder,
}

impl Publisher {
    /// Connects from the source address of this number.
    pub(crate) async fn connect(target: &Target, number: usize) -> Result<Self, SocketError> {
        Self::connect_many(target, number, 1).await
    }

    /// Connects `count` times, numbered from `first`.
    pub(crate) async fn connect_many(
        target: &Target,
        first: usize,
        count: usize,
    ) -> Result<Self, SocketError> {
        Self::connect_from(target, first..first + count).await
    }

    /// Connects once with each of these numbers.
    pub(crate) async fn connect_from(
        target: &Target,
        numbers: impl IntoIterator<Item = usize>,
    ) -> Result<Self, SocketError> {
        let mut sockets = Vec::new();
        for number in numbers {
            sockets.push(Socket::connect(&target.address, number).await?);
        }
        Ok(Self { sockets })
    }

    /// Publishes the notes on schedule and collects the answers.
    pub(crate) fn publish(self, notes: Arc<Notes>, schedule: Schedule) -> Published {
        let senders = self.sockets.iter().map(|socket| socket.sender().clone()).collect();
        let pacer = Pacer::start(senders, notes.clone(), schedule);
        let answers = Rc::new(RefCell::new(Answers {
            answered: vec![false; notes.len()],
            notes,
            schedule,
            accepted: 0,
            refused: 0,
            first_refusal: None,
            doubled: 0,
            stray: 0,
            lost: None,
            times: Recorder::new(),
        }));
        let readers = self
            .sockets
            .into_iter()
            .map(|socket| spawn_local(read_answers(socket, answers.clone())).abort_handle());
        Published { pacer, readers: readers.collect(), answers }
    }
}

async fn read_answers(mut socket: Socket, answers: Rc<RefCell<Answers>>) {
    loop {
        let read = socket.read(|message, now| {
            if let Message::Ok(id, accepted, text) = message {
                answers.borrow_mut().take(&id, accepted, text, now);
            }
        });
        if let Err(error) = read.await {
            answers.borrow_mut().lost = Some(error.to_string());
            return;
        }
    }
}

impl Answers {
    fn take(&mut self, id: &EventId, accepted: bool, text: String, now: Instant) {
        let Some(place) = self.notes.place(id) else {
            self.stray += 1;
            return;
        };
        if std::mem::replace(&mut self.answered[place], true) {
            self.doubled += 1;
            return;
        }
        self.times.record(now.saturating_duration_since(self.schedule.due(place)));
        if accepted {
            self.accepted += 1;
        } else {
            self.refused += 1;
            self.first_refusal.get_or_insert(text);
        }
    }
}

impl Published {
    /// Events that were answered, whatever the answer.
    pub(crate) fn answered(&self) -> u64 {
        let answers = self.answers.borrow();
        answers.accepted + answers.refused
    }

    /// Each event accepted, exactly once, and nothing else answered.
    pub(crate) fn finish(self, row: &mut Row) -> Result<(), DriveError> {
        self.readers.iter().for_each(AbortHandle::abort);
        let answers = self.answers.borrow();
        row.latency("ok", &answers.times)
            .check("accepted", answers.notes.len() as u64, answers.accepted)
            .check("answered_twice", 0, answers.doubled)
            .check("stray_answers", 0, answers.stray);
        if let Some(text) = &answers.first_refusal {
            row.warn(format!("the first refusal: {text}"));
        }
        if let Some(text) = &answers.lost {
            row.warn(format!("the publisher's connection: {text}"));
        }
        drop(answers);
        self.pacer.finish()
    }
}
