//! One question after the other on one socket.

use std::time::{Duration, Instant};

use zeolite_proto::EventId;

use super::error::DriveError;
use crate::socket::{Message, Socket, SocketError};
use crate::target::Target;

/// A connection that asks and waits for the end of the answer.
pub(crate) struct Asker {
    socket: Socket,
    serial: u64,
    silence: Duration,
}

/// The stored events of one REQ.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Their ids, in the order in which they came.
    pub(crate) ids: Vec<EventId>,
    /// From the request to the first event.
    pub(crate) first: Option<Duration>,
    /// From the request to EOSE or CLOSED.
    pub(crate) done: Duration,
    /// The words of a CLOSED, if the answer ended with one.
    pub(crate) refusal: Option<String>,
}

impl Asker {
    /// Connects; an answer may pause for `silence` at most.
    pub(crate) async fn connect(
        target: &Target,
        number: usize,
        silence: Duration,
    ) -> Result<Self, SocketError> {
        let socket = Socket::connect(&target.address, number).await?;
        Ok(Self { socket, serial: 0, silence })
    }

    /// Asks for the stored events of `filters`, JSON objects separated by commas.
    pub(crate) async fn ask(&mut self, filters: &str) -> Result<Answer, DriveError> {
        self.ask_with(filters, |_, _| {}).await
    }

    /// Like [`Self::ask`], and shows each event's JSON to `on_event`.
    pub(crate) async fn ask_with(
        &mut self,
        filters: &str,
        mut on_event: impl FnMut(EventId, &[u8]),
    ) -> Result<Answer, DriveError> {
        let sub = self.next_sub();
        let mut answer = Answer { ids: vec![], first: None, done: Duration::ZERO, refusal: None };
        let mut notice = None;
        let begin = Instant::now();
        self.socket.sender().send(format!("[\"REQ\",\"{sub}\",{filters}]").as_bytes()).await?;
        let reading = self.socket.read_until(self.silence, |message, now| match message {
            Message::Event(of, id, json) if of == sub => {
                answer.first.get_or_insert(now - begin);
                answer.ids.push(id);
                on_event(id, json);
                false
            }
            Message::Eose(of) if of == sub => {
                answer.done = now - begin;
                true
            }
            Message::Closed(of, text) if of == sub => {
                answer.done = now - begin;
                answer.refusal = Some(text);
                true
            }
            Message::Notice(text) => {
                notice = Some(text);
                false
            }
            _ => false,
        });
        explain(reading.await, notice, filters)?;
        if answer.refusal.is_none() {
            self.socket.sender().send(format!("[\"CLOSE\",\"{sub}\"]").as_bytes()).await?;
        }
        Ok(answer)
    }

    /// Asks for a COUNT (NIP-45) and how long it took.
    pub(crate) async fn count(&mut self, filters: &str) -> Result<(u64, Duration), DriveError> {
        let sub = self.next_sub();
        let (mut found, mut refusal, mut notice) = (None, None, None);
        let begin = Instant::now();
        self.socket.sender().send(format!("[\"COUNT\",\"{sub}\",{filters}]").as_bytes()).await?;
        let reading = self.socket.read_until(self.silence, |message, now| match message {
            Message::Count(of, count) if of == sub => {
                found = Some((count, now - begin));
                true
            }
            Message::Closed(of, text) if of == sub => {
                refusal = Some(text);
                true
            }
            // Relays without NIP-45 answer an unknown verb with a NOTICE.
            Message::Notice(text) => {
                notice = Some(text);
                true
            }
            _ => false,
        });
        reading.await?;
        let text = refusal.or(notice).unwrap_or_default();
        found.ok_or_else(|| DriveError::Refused { what: "COUNT".into(), text })
    }

    fn next_sub(&mut self) -> String {
        self.serial += 1;
        format!("q{}", self.serial)
    }
}

/// A relay that refuses with a NOTICE never ends its answer: its words are the reason.
fn explain(
    reading: Result<(), SocketError>,
    notice: Option<String>,
    filters: &str,
) -> Result<(), DriveError> {
    match (reading, notice) {
        (Err(SocketError::Silent(_)), Some(text)) => {
            Err(DriveError::Refused { what: filters.chars().take(80).collect(), text })
        }
        (reading, _) => Ok(reading?),
    }
}
