//! Many sockets with a subscription each.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::task::{AbortHandle, JoinSet, spawn_local};

use super::error::DriveError;
use super::runtime::make_room;
use crate::latency::Recorder;
use crate::limits::CONNECTING_MAX;
use crate::socket::{Message, Socket};
use crate::target::Target;

/// The subscription id of every member.
pub(crate) const SUB: &str = "live";

/// Connected, subscribed and past EOSE.
pub(crate) struct Crowd {
    members: Vec<Socket>,
    /// How long each took to connect.
    pub(crate) connect: Recorder,
}

/// Sockets that are being read. Ends when dropped.
pub(crate) struct Listening {
    tasks: Vec<AbortHandle>,
    lost: Rc<RefCell<Vec<(usize, String)>>>,
}

impl Crowd {
    /// Connects `count` sockets, numbered from `first`; each subscribes with its own filter.
    pub(crate) async fn gather(
        target: &Target,
        first: usize,
        count: usize,
        silence: Duration,
        filter_of: impl Fn(usize) -> String,
    ) -> Result<Self, DriveError> {
        Self::gather_with(target, first, count, silence, None, filter_of).await
    }

    /// Like [`Self::gather`], with receive buffers of this size in the kernel.
    pub(crate) async fn gather_with(
        target: &Target,
        first: usize,
        count: usize,
        silence: Duration,
        receive_bytes: Option<u32>,
        filter_of: impl Fn(usize) -> String,
    ) -> Result<Self, DriveError> {
        make_room(first + count + 16)?;
        let mut joining = JoinSet::new();
        let mut members: Vec<Option<Socket>> = (0..count).map(|_| None).collect();
        let mut connect = Recorder::new();
        let mut next = 0;
        while next < count || !joining.is_empty() {
            while next < count && joining.len() < CONNECTING_MAX {
                let (target, number) = (target.clone(), first + next);
                let filter = filter_of(next);
                joining.spawn_local(async move {
                    let joined = join(&target, number, silence, receive_bytes, &filter).await;
                    (number, joined)
                });
                next += 1;
            }
            let Some(Ok((number, joined))) = joining.join_next().await else { continue };
            let joined = joined.map_err(|error| within(number, error))?;
            connect.record(joined.connect);
            members[number - first] = Some(joined.socket);
        }
        Ok(Self { members: members.into_iter().flatten().collect(), connect })
    }

    /// Reads all members from here on: `on` is given the member's number and what it received.
    pub(crate) fn listen(self, on: impl Fn(usize, Message<'_>, Instant) + 'static) -> Listening {
        let on = Rc::new(on);
        let lost = Rc::new(RefCell::new(Vec::new()));
        let tasks = self.members.into_iter().enumerate().map(|(number, mut socket)| {
            let (on, lost) = (on.clone(), lost.clone());
            let task = spawn_local(async move {
                loop {
                    let read = socket.read(|message, now| on(number, message, now)).await;
                    if let Err(error) = read {
                        lost.borrow_mut().push((number, error.to_string()));
                        return;
                    }
                }
            });
            task.abort_handle()
        });
        Listening { tasks: tasks.collect(), lost }
    }

    /// The sockets themselves.
    pub(crate) fn into_members(self) -> Vec<Socket> {
        self.members
    }
}

impl Listening {
    /// How many members lost their connection.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.borrow().len() as u64
    }

    /// The first loss, in words.
    pub(crate) fn first_loss(&self) -> Option<String> {
        let lost = self.lost.borrow();
        lost.first().map(|(number, error)| format!("socket {number}: {error}"))
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

struct Joined {
    socket: Socket,
    connect: Duration,
}

async fn join(
    target: &Target,
    number: usize,
    silence: Duration,
    receive_bytes: Option<u32>,
    filter: &str,
) -> Result<Joined, DriveError> {
    let begin = Instant::now();
    let mut socket = Socket::connect_with(&target.address, number, receive_bytes).await?;
    let connect = begin.elapsed();
    socket.sender().send(format!("[\"REQ\",\"{SUB}\",{filter}]").as_bytes()).await?;
    let mut refusal = None;
    let reading = socket.read_until(silence, |message, _| match message {
        Message::Closed(_, text) | Message::Notice(text) => {
            refusal = Some(text);
            true
        }
        Message::Eose(SUB) => true,
        _ => false,
    });
    reading.await?;
    match refusal {
        Some(text) => Err(DriveError::Refused { what: "a subscription".into(), text }),
        None => Ok(Joined { socket, connect }),
    }
}

fn within(number: usize, error: DriveError) -> DriveError {
    match error {
        DriveError::Socket(error) => DriveError::Member { number, error },
        other => other,
    }
}
