//! One connection on which sets are reconciled.

use std::time::{Duration, Instant};

use negentropy::{Id, Negentropy, NegentropyStorageVector};
use zeolite_proto::{EventId, Timestamp};

use crate::drivers::error::DriveError;
use crate::limits::RECONCILE_ROUNDS_MAX;
use crate::socket::{Message, Socket, SocketError};
use crate::target::Target;

/// A connection.
pub(super) struct Session {
    socket: Socket,
    filter: String,
    frame_bytes: u64,
    silence: Duration,
    serial: u32,
}

/// What a reconciliation found.
#[derive(Default)]
pub(super) struct Found {
    pub(super) need: Vec<EventId>,
    pub(super) have: Vec<EventId>,
    pub(super) rounds: u32,
    pub(super) sent_bytes: u64,
    pub(super) received_bytes: u64,
    /// From the first message to the last.
    pub(super) elapsed: Duration,
    /// The part of it in which the relay was waited for.
    pub(super) waited: Duration,
}

impl Session {
    pub(super) async fn connect(
        target: &Target,
        filter: &str,
        frame_bytes: u64,
        silence: Duration,
    ) -> Result<Self, DriveError> {
        let socket = Socket::connect(&target.address, 0).await?;
        Ok(Self { socket, filter: filter.into(), frame_bytes, silence, serial: 0 })
    }

    /// Reconciles the client's set with the relay's.
    pub(super) async fn reconcile(
        &mut self,
        client: &[(Timestamp, EventId)],
    ) -> Result<Found, DriveError> {
        let storage = storage(client).map_err(protocol)?;
        let mut peer = Negentropy::owned(storage, self.frame_bytes).map_err(protocol)?;
        self.serial += 1;
        let sub = format!("n{}", self.serial);
        let (mut found, mut need, mut have) = (Found::default(), Vec::new(), Vec::new());
        let begin = Instant::now();
        let first = faster_hex::hex_string(&peer.initiate().map_err(protocol)?);
        let mut text = format!("[\"NEG-OPEN\",\"{sub}\",{},\"{first}\"]", self.filter);
        loop {
            found.sent_bytes += text.len() as u64;
            let asked = Instant::now();
            let answer = self.exchange(&sub, &text).await?;
            found.waited += asked.elapsed();
            found.rounds += 1;
            found.received_bytes += answer.len() as u64;
            let bytes = decode(&answer)?;
            let next = peer.reconcile_with_ids(&bytes, &mut have, &mut need).map_err(protocol)?;
            let Some(next) = next else { break };
            if found.rounds >= RECONCILE_ROUNDS_MAX {
                return Err(DriveError::Unsupported("with an end to the reconciliation"));
            }
            text = format!("[\"NEG-MSG\",\"{sub}\",\"{}\"]", faster_hex::hex_string(&next));
        }
        found.elapsed = begin.elapsed();
        self.socket.sender().send(format!("[\"NEG-CLOSE\",\"{sub}\"]").as_bytes()).await?;
        found.need = need.into_iter().map(event_id).collect();
        found.have = have.into_iter().map(event_id).collect();
        Ok(found)
    }

    /// Sends one message and waits for the answer to it.
    async fn exchange(&mut self, sub: &str, text: &str) -> Result<String, DriveError> {
        self.socket.sender().send(text.as_bytes()).await?;
        let (mut answer, mut refusal) = (None, None);
        let reading = self.socket.read_until(self.silence, |message, _| match message {
            Message::NegMsg(of, hex) if of == sub => {
                answer = Some(hex.to_owned());
                true
            }
            Message::NegErr(of, text) if of == sub => {
                refusal = Some(text);
                true
            }
            Message::Notice(text) => {
                refusal = Some(text);
                true
            }
            _ => false,
        });
        match reading.await {
            Err(SocketError::Silent(_)) => return Err(DriveError::Unsupported("NEG-OPEN")),
            other => other?,
        }
        let what = || "NEG-OPEN or NEG-MSG".to_owned();
        answer
            .ok_or_else(|| DriveError::Refused { what: what(), text: refusal.unwrap_or_default() })
    }
}

fn storage(client: &[(Timestamp, EventId)]) -> Result<NegentropyStorageVector, negentropy::Error> {
    let mut storage = NegentropyStorageVector::with_capacity(client.len());
    for (time, id) in client {
        storage.insert(time.0, Id::from_byte_array(id.0))?;
    }
    storage.seal()?;
    Ok(storage)
}

fn event_id(id: Id) -> EventId {
    EventId(id.to_bytes())
}

fn decode(hex: &str) -> Result<Vec<u8>, DriveError> {
    let mut bytes = vec![0; hex.len() / 2];
    faster_hex::hex_decode(hex.as_bytes(), &mut bytes)
        .map_err(|_| DriveError::Spec("the relay's message is not hex".into()))?;
    Ok(bytes)
}

fn protocol(error: negentropy::Error) -> DriveError {
    DriveError::Spec(format!("negentropy: {error}"))
}
