//! One client's conversation with the test relay.

use std::collections::HashMap;
use std::rc::Rc;

use negentropy::{Id, Negentropy, NegentropyStorageVector};
use tokio::sync::mpsc::UnboundedSender;
use zeolite_proto::{ClientMsg, EoseHint, Event, EventId, EventParser, Filter, RelayMsg, SubId};

use crate::lie::Lie;
use crate::relay::{Listener, Out, World};

type Peer = Negentropy<'static, NegentropyStorageVector>;

/// One client.
pub(crate) struct Talk {
    connection: u64,
    outbox: UnboundedSender<Out>,
    world: Rc<World>,
    parser: EventParser,
    peers: HashMap<String, Peer>,
}

impl Talk {
    pub(crate) fn new(connection: u64, outbox: UnboundedSender<Out>, world: Rc<World>) -> Self {
        Self { connection, outbox, world, parser: EventParser::new(), peers: HashMap::new() }
    }

    pub(crate) fn hear(&mut self, text: &str) {
        match ClientMsg::parse(text, &mut self.parser).unwrap() {
            ClientMsg::Event(event) => self.publish(&event),
            ClientMsg::Req(sub, filters) => self.answer(&sub, filters),
            ClientMsg::Close(sub) => self.close(sub.as_str()),
            ClientMsg::Count(sub, filters) => {
                let wrong = u64::from(self.world.lie == Lie::WrongCount);
                let count = self.matching(&filters).len() as u64 + wrong;
                say(&self.outbox, &RelayMsg::Count(&sub, count, None));
            }
            ClientMsg::NegOpen(sub, filter, hex) => {
                let peer = self.peer(filter);
                self.peers.insert(sub.as_str().to_owned(), peer);
                self.reconcile(&sub, &hex);
            }
            ClientMsg::NegMsg(sub, hex) => self.reconcile(&sub, &hex),
            ClientMsg::NegClose(sub) => {
                self.peers.remove(sub.as_str());
            }
            ClientMsg::Auth(_) => {}
        }
    }

    fn publish(&mut self, event: &Event) {
        let world = &self.world;
        let lies = |which| world.lie.every(which).is_some_and(|every| world.lies_now(every));
        let id = event.view().id();
        if !lies(Lie::Forget) && world.store(event) {
            self.hand_on(event);
        }
        if let Lie::LateOk(time) = world.lie {
            let _ = self.outbox.send(Out::Wait(time));
        }
        let named = if lies(Lie::WrongOk) { wrong(id) } else { id };
        let ok = |id: EventId| say(&self.outbox, &RelayMsg::Ok(&id.to_string(), Ok(None)));
        ok(named);
        if lies(Lie::DoubleOk) {
            ok(named);
        }
    }

    fn hand_on(&self, event: &Event) {
        let everyone = self.world.lie == Lie::ToEveryone;
        for listener in self.world.listeners.borrow().iter() {
            if everyone || listener.filters.iter().any(|filter| filter.matches(event.view())) {
                self.send(&listener.outbox, &listener.sub, event);
            }
        }
    }

    /// Sends an event, or lies about it.
    fn send(&self, outbox: &UnboundedSender<Out>, sub: &str, event: &Event) {
        let world = &self.world;
        let lies = |which| world.lie.every(which).is_some_and(|every| world.lies_now(every));
        if lies(Lie::Drop) {
            return;
        }
        if lies(Lie::Disconnect) {
            let _ = outbox.send(Out::Hang);
            return;
        }
        let mut json = String::from_utf8(event.json().to_vec()).unwrap();
        let id = event.view().id();
        if lies(Lie::WrongId) {
            json = json.replacen(&id.to_string(), &wrong(id).to_string(), 1);
        }
        let sub = SubId::new(sub).unwrap();
        let message = RelayMsg::Event(&sub, json.as_bytes());
        say(outbox, &message);
        if lies(Lie::Double) {
            say(outbox, &message);
        }
    }

    fn answer(&mut self, sub: &SubId, filters: Vec<Filter>) {
        self.close(sub.as_str());
        let mut events = self.matching(&filters);
        match self.world.lie {
            Lie::CutAt(length) => events.truncate(length),
            Lie::EarlyEose => events.truncate(events.len().div_ceil(2)),
            Lie::OldestFirst => events.reverse(),
            _ => {}
        }
        for event in &events {
            self.send(&self.outbox, sub.as_str(), event);
        }
        if self.world.lie != Lie::NoEose {
            say(&self.outbox, &RelayMsg::Eose(sub, EoseHint::None));
        }
        self.world.listeners.borrow_mut().push(Listener {
            connection: self.connection,
            sub: sub.as_str().to_owned(),
            filters,
            outbox: self.outbox.clone(),
        });
    }

    /// The union of the filters' answers, newest first.
    fn matching(&self, filters: &[Filter]) -> Vec<Event> {
        let events = self.world.newest_first();
        let mut chosen = vec![false; events.len()];
        for filter in filters {
            let limit = filter.limit.map_or(usize::MAX, |limit| limit as usize);
            let matching = (0..events.len()).filter(|at| filter.matches(events[*at].view()));
            matching.take(limit).for_each(|at| chosen[at] = true);
        }
        events.into_iter().zip(chosen).filter(|(_, chosen)| *chosen).map(|(e, _)| e).collect()
    }

    fn close(&self, sub: &str) {
        let is_it = |l: &Listener| l.connection == self.connection && l.sub == sub;
        self.world.listeners.borrow_mut().retain(|listener| !is_it(listener));
    }

    fn peer(&self, filter: Filter) -> Peer {
        let mut set = NegentropyStorageVector::new();
        for (at, event) in self.matching(&[filter]).iter().enumerate() {
            let hidden = matches!(self.world.lie, Lie::HideFromSets(every) if at % every == 0);
            if !hidden {
                let view = event.view();
                set.insert(view.created_at().0, Id::from_byte_array(view.id().0)).unwrap();
            }
        }
        set.seal().unwrap();
        Negentropy::owned(set, 0).unwrap()
    }

    fn reconcile(&mut self, sub: &SubId, hex: &str) {
        let mut bytes = vec![0; hex.len() / 2];
        faster_hex::hex_decode(hex.as_bytes(), &mut bytes).unwrap();
        let peer = self.peers.get_mut(sub.as_str()).unwrap();
        let answer = peer.reconcile(&bytes).unwrap();
        say(&self.outbox, &RelayMsg::NegMsg(sub, &answer));
    }
}

fn say(outbox: &UnboundedSender<Out>, message: &RelayMsg<'_>) {
    let mut json = Vec::new();
    message.encode(&mut json);
    // A client that has gone hears nothing.
    let _ = outbox.send(Out::Text(String::from_utf8(json).unwrap()));
}

/// An id that nobody published.
fn wrong(mut id: EventId) -> EventId {
    id.0[31] ^= 1;
    id
}
