//! From the socket to the session.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fastwebsockets::{Frame, Role, WebSocketError, WebSocketRead, after_handshake_split};
use hyper::body::Bytes;
use rustc_hash::FxBuildHasher;
use tokio::io::AsyncReadExt;
use tokio::net::tcp::OwnedReadHalf;
use tokio::time::timeout;
use zeolite_policy::{RECONCILE_COST, count_cost, query_cost};
use zeolite_proto::{Blame, Event, Filter, Prefix, Reason, RelayMsg, SubId};
use zeolite_session::{Effect, Input, NegKey, Session, SubKey};

use super::Conn;
use super::message::{
    Assembler, BAD_FRAME, Incoming, NOT_UTF8, TOO_BIG, TOO_SLOW, Violation, head_bytes,
};
use super::meter::Meter;
use super::purse::{Purse, Spending, names_event};
use crate::clock;
use crate::hub::Hub;
use crate::inbox::FanoutIn;
use crate::ingest::SubmissionBatch;
use crate::limits::{CLOSE_DRAIN_BYTES_MAX, MESSAGE_REST_MAX};
use crate::neg::{Reconciliation, Turn};
use crate::query::Job;
use crate::subscription::Subscription;

/// How the reading of a connection ended.
enum End {
    /// The client sent a close frame, with or without a code.
    Closed(Option<u16>),
    /// The peer is gone.
    Gone,
    /// The client broke a rule.
    Violation(Violation),
    /// The relay closes; the outbox knows why.
    Ours,
}

/// Reads until the connection ends. A task of its own: a frame that is half read when its future
/// is dropped would be lost, so nothing else may be awaited beside it (case 52).
pub(super) async fn run(hub: Arc<Hub>, conn: Arc<Conn>, socket: OwnedReadHalf, early: Bytes) {
    let _closes = CloseOnDrop(Arc::clone(&conn));
    let given = AtomicU64::new(0);
    let mut meter = Meter::new(early, socket, &given);
    let batch = SubmissionBatch::default();
    let mut reader = Reader::new(&hub, &conn, &batch);
    let end = reader.read_all(&mut meter).await;
    drop(reader);
    match end {
        End::Gone => return conn.outbox.abandon(),
        End::Closed(Some(code)) => conn.outbox.close(code, ""),
        End::Closed(None) => conn.outbox.close_empty(),
        End::Violation(Violation { code, reason }) => {
            tracing::debug!(conn = %conn.id, code, reason, "client broke the protocol");
            conn.outbox.close(code, reason);
        }
        End::Ours => {}
    }
    drain(&mut meter).await;
}

/// R01-56: what a client hears that spends more than it may.
fn too_fast() -> Reason {
    Reason::new(Prefix::RateLimited, "too much in too short a time; slow down")
}

/// However the reading ends, a panic included, the writer hears of it.
struct CloseOnDrop(Arc<Conn>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.outbox.close(1011, "internal error");
    }
}

/// Reads what a client still sends while its connection closes. A socket that is dropped with
/// unread bytes is reset, and the close frame with it.
async fn drain(meter: &mut Meter<'_>) {
    let mut scratch = vec![0; 4096];
    let mut bytes = 0;
    while bytes < CLOSE_DRAIN_BYTES_MAX {
        match meter.read(&mut scratch).await {
            Ok(0) | Err(_) => return,
            Ok(read) => bytes += read,
        }
    }
}

struct Reader<'a> {
    hub: &'a Hub,
    conn: &'a Arc<Conn>,
    /// Events that were read and not handed over.
    batch: &'a SubmissionBatch,
    session: Session,
    assembler: Assembler,
    purse: Purse,
    subscriptions: HashMap<SubKey, Arc<Subscription>, FxBuildHasher>,
    /// A few at most.
    reconciliations: Vec<Arc<Reconciliation>>,
    /// Bytes of the frames that were read.
    read_bytes: u64,
}

impl<'a> Reader<'a> {
    fn new(hub: &'a Hub, conn: &'a Arc<Conn>, batch: &'a SubmissionBatch) -> Self {
        Self {
            session: Session::new(Arc::clone(&hub.session), conn.login.logins(conn.id)),
            assembler: Assembler::new(hub.session.message_bytes_max),
            purse: Purse::default(),
            subscriptions: HashMap::default(),
            reconciliations: Vec::new(),
            read_bytes: 0,
            hub,
            conn,
            batch,
        }
    }

    async fn read_all(&mut self, meter: &mut Meter<'_>) -> End {
        loop {
            if let Err(end) = self.wait(meter).await {
                return end;
            }
            let (hub, batch) = (self.hub, self.batch);
            // Boxed, so that a connection that waits for its client does not hold its place.
            let mut burst = Box::pin(self.read_burst(meter));
            let read = poll_fn(move |cx| {
                let polled = burst.as_mut().poll(cx);
                // Read to its end, or waiting: for the rest of a frame, for room, for a permit.
                hub.ingest.submit(batch);
                polled
            })
            .await;
            if let Err(end) = read {
                return end;
            }
            // Boxed, here and below: a timer is large, and few connections need one.
            if let Some(pause) = self.purse.pause(false) {
                Box::pin(tokio::time::sleep(pause)).await;
            }
        }
    }

    /// Waits for the client: as long as it likes between messages, not so long within one, which
    /// occupies memory meanwhile.
    async fn wait(&self, meter: &Meter<'_>) -> Result<(), End> {
        let readable = if self.assembler.is_empty() {
            meter.readable().await
        } else {
            Box::pin(in_time(meter.readable())).await?
        };
        readable.map_err(|_| End::Gone)
    }

    /// Reads frames until the frame reader's buffer is empty, then lets go of the buffer.
    async fn read_burst(&mut self, meter: &mut Meter<'_>) -> Result<(), End> {
        let given = meter.given();
        let bytes_max = self.hub.session.message_bytes_max;
        let (mut frames, _) = after_handshake_split(meter, tokio::io::sink(), Role::Server);
        frames.set_auto_close(false);
        frames.set_auto_pong(false);
        // It refuses lengths from here on, before it makes room for them.
        frames.set_max_message_size(bytes_max + 1);
        loop {
            let incoming = self.read_frame(&mut frames).await?;
            self.conn.mark_heard();
            self.take(incoming).await?;
            if given.load(Ordering::Relaxed) == self.read_bytes {
                return Ok(());
            }
            if let Some(pause) = self.purse.pause(true) {
                Box::pin(tokio::time::sleep(pause)).await;
            }
        }
    }

    async fn read_frame(
        &mut self,
        frames: &mut WebSocketRead<&mut Meter<'_>>,
    ) -> Result<Incoming, End> {
        let mut send_nothing = |_: Frame<'_>| async { Ok::<(), std::io::Error>(()) };
        let frame = in_time(frames.read_frame(&mut send_nothing)).await?;
        let mut frame = frame.map_err(end_of)?;
        let bytes = head_bytes(&mut frame) + frame.payload.len();
        self.read_bytes += bytes as u64;
        self.hub.metrics.received_bytes.increment(bytes as u64);
        let assembled = self.assembler.push(frame).map_err(End::Violation);
        if let Some(wait) = self.spending().charge_bytes(bytes) {
            Box::pin(tokio::time::sleep(wait)).await;
        }
        assembled
    }

    async fn take(&mut self, incoming: Incoming) -> Result<(), End> {
        self.conn.outbox.reader_room().await;
        if self.conn.outbox.is_closing() || self.hub.registry.is_stopping() {
            return Err(End::Ours);
        }
        match incoming {
            Incoming::Text(text) => self.message(Input::Text(&text)).await,
            Incoming::Binary(bytes) => self.message(Input::Binary(&bytes)).await,
            Incoming::Ping(payload) => {
                self.conn.outbox.pong(&payload);
                Ok(())
            }
            Incoming::Pong | Incoming::Part => Ok(()),
            Incoming::Close(code) => Err(End::Closed(code)),
        }
    }

    async fn message(&mut self, input: Input<'_>) -> Result<(), End> {
        let now = clock::now();
        for key in self.conn.outbox.take_ended() {
            self.forget(key);
            self.session.handle(now, Input::SubEnded(key));
        }
        for ended in self.reconciliations.extract_if(.., |one| !one.is_active()) {
            self.session.handle(now, Input::NegEnded(ended.key()));
        }
        if self.is_refused_unread(input) {
            return Ok(());
        }
        self.session.handle(now, input);
        while let Some(effect) = self.session.poll() {
            self.apply(effect).await?;
        }
        Ok(())
    }

    /// Takes the price of an event before anybody parses or hashes it: a client that sends too many
    /// cannot make that expensive, and what is malformed costs it as much.
    fn is_refused_unread(&mut self, input: Input<'_>) -> bool {
        self.purse.event_is_paid = false;
        if !self.spending().limits_events() {
            return false;
        }
        let text = match input {
            Input::Text(text) => Ok(text),
            Input::Binary(bytes) => std::str::from_utf8(bytes),
            _ => return false,
        };
        let Some(text) = text.ok().filter(|text| names_event(text)) else { return false };
        self.purse.event_is_paid = self.spending().pay_event();
        if self.purse.event_is_paid {
            return false;
        }
        let Blame::Event(id) = Blame::find(text) else { return false };
        self.refuse(&id, too_fast());
        true
    }

    async fn apply(&mut self, effect: Effect) -> Result<(), End> {
        match effect {
            Effect::Reply(json) => {
                // It is answered either way; but who cannot pay for it has to wait.
                self.spending().pay_query(1);
                self.conn.outbox.reply_json(&json);
            }
            Effect::Demand(reply) => {
                self.spending().pay_query(1);
                self.conn.demand_login(|outbox| outbox.reply_json(&reply));
            }
            Effect::CheckLogin(event) => self.check_login(event),
            Effect::LoggedIn(reader) => {
                self.hub.metrics.logins.increment(1);
                self.conn.login.set(reader);
            }
            Effect::Refuse { reply, prefix } => {
                self.hub.metrics.refused(prefix);
                match prefix {
                    Prefix::AuthRequired => {
                        self.conn.demand_login(|outbox| outbox.reply_json(&reply));
                    }
                    _ => self.conn.outbox.reply_json(&reply),
                }
            }
            Effect::Ingest(event) => {
                let paid = self.purse.event_is_paid || self.spending().pay_event();
                let judged = match paid {
                    true => self.hub.policy.current().judge(event.view(), clock::now()),
                    false => Err(too_fast()),
                };
                if let Err(reason) = judged {
                    self.refuse(&event.view().id().to_string(), reason);
                } else if self.batch.push(self.hub.ingest.let_in(self.conn, event).await) {
                    self.hub.ingest.submit(self.batch);
                }
            }
            Effect::Query { key, sub, filters } => self.query(key, sub, filters),
            Effect::Count { sub, filters } => self.count(sub, filters).await,
            Effect::Unsubscribe(key) => self.unsubscribe(key).await,
            Effect::Reconcile { key, sub, filter, message } => {
                let refused =
                    (!self.spending().pay_query(RECONCILE_COST)).then(|| sub.as_str().to_owned());
                let opened = self.hub.reconciliations.open(self.conn, key, sub, *filter);
                self.reconciliations.push(Arc::clone(&opened));
                match refused {
                    None => self.reconcile(key, message).await,
                    Some(sub) => {
                        opened.end();
                        let refusal = RelayMsg::NegErr(&sub, too_fast(), None);
                        self.conn.outbox.reply(&refusal);
                    }
                }
            }
            Effect::ReconcileMore { key, message } => self.reconcile(key, message).await,
            Effect::ReconcileEnd(key) => self.end_reconciliation(key),
            Effect::Close { code, reason } => {
                self.conn.outbox.close(code, reason);
                return Err(End::Ours);
            }
        }
        Ok(())
    }

    /// A login costs what an event costs, and a tenth of a millisecond of this task's time.
    fn check_login(&mut self, event: Event) {
        if !self.spending().pay_event() {
            let id = event.view().id().to_string();
            return self.conn.outbox.reply(&RelayMsg::Ok(&id, Err(too_fast())));
        }
        let (id, key) = (event.view().id(), event.view().pubkey());
        let is_signed = self.conn.login.desk().is_signed(event);
        self.session.handle(clock::now(), Input::LoginChecked { id, key, is_signed });
    }

    fn spending(&mut self) -> Spending<'_> {
        Spending {
            purse: &mut self.purse,
            account: self.conn.visitor.account.as_ref(),
            counters: &self.hub.metrics.over_budget,
        }
    }

    fn refuse(&self, id: &str, reason: Reason) {
        self.hub.metrics.refused(reason.prefix);
        self.conn.outbox.reply(&RelayMsg::Ok(id, Err(reason)));
    }

    fn query(&mut self, key: SubKey, sub: SubId, filters: Arc<[Filter]>) {
        let pays = self.spending().pay_query(query_cost(&filters));
        let subscription = Subscription::new(Arc::clone(self.conn), key, sub, filters);
        self.subscriptions.insert(key, Arc::clone(&subscription));
        self.hub.metrics.subscriptions.increment(1.0);
        if !pays {
            return subscription.end_with(too_fast());
        }
        self.hub.metrics.queries.increment(1);
        let heard = self.hub.ephemerals.get();
        self.hub.lanes.push(self.conn, Job::query(subscription, heard));
    }

    async fn count(&mut self, sub: SubId, filters: Arc<[Filter]>) {
        if !self.spending().pay_query(count_cost(&filters)) {
            return self.conn.outbox.reply(&RelayMsg::Closed(sub.as_str(), too_fast()));
        }
        self.conn.lane.count_room().await;
        self.hub.metrics.counts.increment(1);
        self.hub.lanes.push(self.conn, Job::count(Arc::clone(self.conn), sub, filters));
    }

    async fn unsubscribe(&mut self, key: SubKey) {
        let Some(subscription) = self.forget(key) else { return };
        subscription.end();
        self.conn.lane.cancel(key);
        self.hub.tell_fanout(FanoutIn::Detach(self.conn.id, key)).await;
    }

    async fn reconcile(&mut self, key: NegKey, message: Vec<u8>) {
        let Some(open) = self.reconciliations.iter().find(|one| one.key() == key) else { return };
        let turn = Turn::new(Arc::clone(open), message);
        self.conn.lane.reconcile_room().await;
        self.hub.metrics.reconciles.increment(1);
        self.hub.lanes.push(self.conn, Job::Reconcile(turn));
    }

    fn end_reconciliation(&mut self, key: NegKey) {
        let Some(at) = self.reconciliations.iter().position(|one| one.key() == key) else { return };
        self.reconciliations.swap_remove(at).end();
        self.conn.lane.cancel_reconciliation(key);
    }

    fn forget(&mut self, key: SubKey) -> Option<Arc<Subscription>> {
        let subscription = self.subscriptions.remove(&key)?;
        self.hub.metrics.subscriptions.decrement(1.0);
        Some(subscription)
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        self.hub.metrics.subscriptions.decrement(self.subscriptions.len() as f64);
        self.reconciliations.iter().for_each(|one| one.end());
    }
}

/// Gives the rest of a message a bounded time. That the future is dropped after it does no harm:
/// nothing is read any more.
async fn in_time<T>(reading: impl Future<Output = T>) -> Result<T, End> {
    timeout(MESSAGE_REST_MAX, reading).await.map_err(|_| End::Violation(TOO_SLOW))
}

fn end_of(error: WebSocketError) -> End {
    match error {
        WebSocketError::UnexpectedEOF
        | WebSocketError::IoError(_)
        | WebSocketError::ConnectionClosed => End::Gone,
        WebSocketError::InvalidUTF8 => End::Violation(NOT_UTF8),
        WebSocketError::FrameTooLarge => End::Violation(TOO_BIG),
        _ => End::Violation(BAD_FRAME),
    }
}
