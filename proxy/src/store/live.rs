//! A recording that is written while its exchange goes on: each slice is on disk before the next one comes.
//!
//! In: a request, then a head, slices, and how it ended. Out: a folder that reads from the moment its request is written;
//! it is claimed before, and empty until then. One [`Scribe`] thread does all the writing, so that no disk is waited for on anybody's path. Where the disk is slower than what
//! passes, exchanges are not recorded, and that is told.

use super::{
    Recording, StoreError,
    name::folder_name,
    place,
    write::{self, file_name, write_index, write_request},
};
use crate::{
    exchange::{End, Exchange, Head, Slice, Took},
    request::{Mode, Request},
};
use bytes::Bytes;
use std::{
    collections::HashMap,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{
            AtomicU64, AtomicUsize,
            Ordering::{AcqRel, Acquire},
        },
        mpsc::{Receiver, Sender, channel},
    },
    thread::JoinHandle,
};

/// Bytes that may wait to be written: as many as all exchanges under way may hold. Beyond, recordings are given up.
pub const MAX_WAITING: usize = 64 * 1024 * 1024;

/// What an order takes beside the bytes it carries, roughly.
const ORDER: usize = 512;

/// The first exchange of a recording, being written.
#[derive(Debug)]
pub struct Live {
    folder: PathBuf,
    name: String,
    body: File,
    exchange: Exchange,
}

/// A thread that writes; several recordings at a time, told apart by number.
#[derive(Debug)]
pub struct Scribe {
    orders: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
    queue: Arc<Queue>,
}

/// What waits for the thread.
#[derive(Debug, Default)]
struct Queue {
    /// Bytes of orders that are not carried out.
    waiting: AtomicUsize,
    /// Exchanges that were given up and not yet told.
    lost: AtomicU64,
}

/// Why something is not on disk.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The file system says no.
    #[error("cannot keep a recording: {0}")]
    Store(#[from] StoreError),
    /// So many exchanges were given up.
    #[error("{count} exchange{} not recorded: the disk is slower than what passes", if *.count == 1 { "" } else { "s" })]
    Lost {
        /// How many.
        count: u64,
    },
}

/// What became of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Told {
    /// It will be carried out.
    Taken,
    /// Too much was waiting.
    Dropped,
}

/// What a [`Scribe`] is told.
#[derive(Debug)]
pub enum Order {
    /// Begin recording `number`.
    Open {
        /// Ours to choose, unique over the scribe's life.
        number: u64,
        /// The recording's id; its folder was [claimed](claim).
        id: String,
        /// Where the request goes.
        upstream: Option<String>,
        /// What was asked.
        request: Request,
        /// How it was asked.
        mode: Mode,
    },
    /// The head came.
    Head(u64, Head),
    /// Some of the body came.
    Slice(u64, Bytes),
    /// All is known: the whole recording, twins included. Whatever was written before is replaced.
    Keep(Recording),
    /// Nothing more will come; the index is not rewritten.
    Close(u64),
}

/// Takes the first free folder for `stem-1`, `stem-2`, ... and gives the id that it stands for.
pub fn claim(parent: &Path, stem: &str) -> Result<String, StoreError> {
    write::create(parent)?;
    let _guard = place::guard();
    for count in 1_u64.. {
        let id = format!("{stem}-{count}");
        let path = parent.join(folder_name(&id));
        match fs::create_dir(&path) {
            Ok(()) => return Ok(id),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(StoreError::Io { path, source }),
        }
    }
    Ok(stem.to_owned())
}

// === impl Live ===

impl Live {
    /// Begins in `parent/folder_name(id)/`.
    pub fn open(
        parent: &Path,
        id: &str,
        upstream: Option<&str>,
        request: &Request,
        mode: Mode,
    ) -> Result<Self, StoreError> {
        let folder = parent.join(folder_name(id));
        write::create(&folder)?;
        write_request(&folder, id, upstream, request)?;
        let name = file_name(mode, None, 1);
        let path = folder.join(&name);
        let body = File::create(&path).map_err(|source| StoreError::Io { path, source })?;
        let exchange = Exchange {
            mode,
            rounds: None,
            request: request.clone(),
            head: None,
            slices: Vec::new(),
            end: End::Cut("the recording ends here".to_owned()),
            took: Took::default(),
        };
        Ok(Self { folder, name, body, exchange })
    }

    /// Notes status and headers, with an index that says "cut" until a better one replaces it.
    pub fn head(&mut self, head: Head) -> Result<(), StoreError> {
        self.exchange.head = Some(head);
        let (names, exchanges) = (std::slice::from_ref(&self.name), std::slice::from_ref(&self.exchange));
        write_index(&self.folder, &self.exchange.request, names, exchanges)
    }

    /// Appends to the body.
    pub fn slice(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let path = || self.folder.join(&self.name);
        self.body.write_all(bytes).map_err(|source| StoreError::Io { path: path(), source })
    }
}

// === impl Scribe ===

impl Scribe {
    /// Starts the thread; recordings land below `parent`, and each trouble goes to `complain`.
    pub fn start(parent: PathBuf, complain: impl FnMut(Trouble) + Send + 'static) -> io::Result<Self> {
        let (orders, inbox) = channel();
        let queue = Arc::<Queue>::default();
        let shared = queue.clone();
        let write = move || write_all(&parent, &inbox, &shared, complain);
        let thread = std::thread::Builder::new().name("scribe".to_owned()).spawn(write)?;
        Ok(Self { orders: Some(orders), thread: Some(thread), queue })
    }

    /// Hands over an order and returns at once. Of an exchange that is given up its [`Order::Keep`] is dropped; it is
    /// counted, and told as soon as the thread has caught up.
    pub fn tell(&self, order: Order) -> Told {
        let cost = order.cost();
        let before = self.queue.waiting.fetch_add(cost, AcqRel);
        // What nothing waits before is taken however large it is; the end of a recording always is: it frees memory.
        let has_room = before == 0 || before + cost <= MAX_WAITING || matches!(order, Order::Close(_));
        if !has_room {
            self.queue.waiting.fetch_sub(cost, AcqRel);
            if matches!(order, Order::Keep(_)) {
                self.queue.lost.fetch_add(1, AcqRel);
            }
            return Told::Dropped;
        }
        if let Some(orders) = &self.orders {
            let _ = orders.send(order); // a thread that is gone has complained already
        }
        Told::Taken
    }

    /// How many exchanges were given up and not told yet; they count as told now.
    pub fn lost(&self) -> u64 {
        self.queue.lost.swap(0, AcqRel)
    }
}

// === impl Order ===

impl Order {
    /// The memory it holds until it is carried out.
    fn cost(&self) -> usize {
        ORDER
            + match self {
                Self::Open { request, .. } => request.body.len(),
                Self::Head(..) | Self::Close(_) => 0,
                Self::Slice(_, bytes) => bytes.len(),
                Self::Keep(recording) => recording.exchanges.iter().map(held).sum(),
            }
    }
}

/// The memory of an exchange.
fn held(exchange: &Exchange) -> usize {
    let slices = exchange.slices.iter().map(|slice| slice.bytes.len() + size_of::<Slice>());
    exchange.request.body.len() + slices.sum::<usize>()
}

impl Drop for Scribe {
    /// Waits until everything that was ordered is written.
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn write_all(parent: &Path, inbox: &Receiver<Order>, queue: &Queue, mut complain: impl FnMut(Trouble)) {
    let mut open = HashMap::new();
    while let Ok(order) = inbox.recv() {
        let cost = order.cost();
        if let Err(error) = obey(parent, &mut open, order) {
            complain(error.into());
        }
        queue.waiting.fetch_sub(cost, AcqRel);
        // One word for all of a jam, not one for each.
        let is_caught_up = queue.waiting.load(Acquire) == 0;
        let lost = if is_caught_up { queue.lost.swap(0, AcqRel) } else { 0 };
        if lost > 0 {
            complain(Trouble::Lost { count: lost });
        }
    }
}

fn obey(parent: &Path, open: &mut HashMap<u64, Live>, order: Order) -> Result<(), StoreError> {
    match order {
        Order::Open { number, id, upstream, request, mode } => {
            open.insert(number, Live::open(parent, &id, upstream.as_deref(), &request, mode)?);
            Ok(())
        }
        Order::Head(number, head) => open.get_mut(&number).map_or(Ok(()), |live| live.head(head)),
        Order::Slice(number, bytes) => open.get_mut(&number).map_or(Ok(()), |live| live.slice(&bytes)),
        Order::Keep(recording) => write::write(parent, &recording).map(drop),
        Order::Close(number) => {
            open.remove(&number);
            Ok(())
        }
    }
}
