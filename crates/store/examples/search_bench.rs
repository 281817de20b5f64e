//! Measures the index of what was said: how long a search takes in many threads, and what the index costs
//! those who append.
//!
//! `cargo xtask bench search [threads]`

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use store::sqlite::SqliteStore;
use store::testing::story::{a_batch, a_thread};
use store::words::{SearchTerms, TextWords};
use store::{
    Batch, IndexPart, IndexPiece, IndexSearch, Lease, MatchedText, SearchSpan, SearchText,
    SharedStore, StoredEvent,
};
use vocabulary::{SearchKind, SearchQuery, Seq, TenantId, Timestamp};

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const ITEMS: u64 = 50;
const VOCABULARY: u64 = 40_000;
const PIECE: u32 = 256;
/// As the engine has it.
const PAUSE_FACTOR: u32 = 4;
const PAUSE_MIN: Duration = Duration::from_millis(5);
const LONE_APPENDS: u64 = 2_000;
const WRITERS: u64 = 64;
const APPENDS_EACH: u64 = 150;
const QUERIES_EACH: usize = 41;

#[tokio::main]
async fn main() -> Outcome<()> {
    let threads = std::env::args()
        .nth(1)
        .map_or(Ok(10_000), |it| it.parse())?;
    searches(threads).await?;
    appends().await
}

/// Words as people use them: the n-th most usual one is used once for every n times of the first.
struct Words(u64);

impl Words {
    fn random(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn rank(&mut self) -> u64 {
        let part = (self.random() >> 11) as f64 / (1_u64 << 53) as f64;
        ((VOCABULARY as f64).powf(part) - 1.0) as u64
    }

    fn text(&mut self, words: u64) -> String {
        let words: Vec<String> = (0..words).map(|_| word(self.rank())).collect();
        words.join(" ")
    }

    /// From a few words to a long answer.
    fn item(&mut self) -> String {
        let words = [6, 12, 30, 60, 120, 250][(self.random() % 6) as usize];
        self.text(words)
    }
}

/// A word that can be read, another one for each rank.
fn word(rank: u64) -> String {
    let (consonants, vowels) = (b"bdfgklmnprstvz", b"aeiou");
    let mut left = rank * 7_919 % 960_400 + 70;
    let mut word = String::new();
    while left > 0 {
        word.push(char::from(consonants[(left % 14) as usize]));
        left /= 14;
        word.push(char::from(vowels[(left % 5) as usize]));
        left /= 5;
    }
    word
}

fn open(home: &Path) -> Outcome<SharedStore> {
    Ok(Arc::new(SqliteStore::open(
        &home.join("sessions.db"),
        "measuring",
    )?))
}

fn said(seq: u64, text: String) -> StoredEvent {
    StoredEvent {
        seq: Seq(seq),
        at: Timestamp(0),
        payload: Bytes::from(text),
    }
}

/// One piece; whether there was one.
async fn index(store: &SharedStore) -> Outcome<bool> {
    let next = store.unindexed(IndexPart::New, PIECE).await?;
    if next.span.after == next.end {
        return Ok(false);
    }
    let text = |(thread, event): (_, StoredEvent)| SearchText {
        thread,
        seq: event.seq,
        kind: SearchKind::User,
        text: String::from_utf8_lossy(&event.payload).into_owned(),
    };
    let piece = IndexPiece {
        span: next.span,
        hidden: Vec::new(),
        texts: next.events.into_iter().map(text).collect(),
    };
    store.index(piece).await?;
    Ok(true)
}

async fn searches(threads: u64) -> Outcome<()> {
    let home = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR"))?;
    let store = open(home.path())?;
    let mut words = Words(0x9E37_79B9_7F4A_7C15);
    for number in 1..=threads {
        let thread = a_thread(number);
        let lease = store.acquire(thread.card.id).await?;
        let batch = Batch {
            thread: Some(thread),
            events: (1..=ITEMS).map(|seq| said(seq, words.item())).collect(),
            ..a_batch(&[])
        };
        store.append(lease, Seq::ZERO, batch).await?;
    }
    let since = Instant::now();
    while index(&store).await? {}
    let texts = threads * ITEMS;
    println!(
        "{texts} texts indexed, {:?} each",
        since.elapsed() / u32::try_from(texts)?
    );
    type QueryKind = (&'static str, fn(&mut Words) -> String);
    let kinds: [QueryKind; 7] = [
        ("the most usual word", |_| word(0)),
        ("usual words", |it| word(it.rank() % 200)),
        ("rare words", |it| word(5_000 + it.rank() % 30_000)),
        ("two words", |it| {
            format!("{} {}", word(it.rank() % 50), word(it.rank()))
        }),
        ("six usual words", |it| it.text(6)),
        ("a phrase", |it| {
            format!("\"{} {}\"", word(it.rank() % 20), word(it.rank() % 50))
        }),
        ("a beginning", |it| {
            word(it.rank()).chars().take(4).collect()
        }),
    ];
    let mut all = Vec::new();
    for (name, query) in kinds {
        let mut took = Vec::new();
        for _ in 0..QUERIES_EACH {
            let text = query(&mut words);
            let since = Instant::now();
            search(&store, &text).await?;
            took.push(since.elapsed());
        }
        took.sort();
        println!(
            "  {name:<22} p50 {:>9.2?}  max {:>9.2?}",
            took[took.len() / 2],
            took[took.len() - 1]
        );
        all.extend(took);
    }
    all.sort();
    println!(
        "search in {threads} threads of {ITEMS} items, p50: {:.2?}, floor 30 ms",
        all[all.len() / 2]
    );
    Ok(())
}

/// What a search does, but for reading events and cutting what is shown: whole words first, then beginnings;
/// each text that was found is read again for its rank.
async fn search(store: &SharedStore, text: &str) -> Outcome<usize> {
    let terms = SearchTerms::of(text);
    let query = SearchQuery::default();
    let local = TenantId::new("local");
    store.unindexed(IndexPart::New, PIECE).await?;
    let mut window = None;
    for terms in [&terms.exact(), &terms] {
        let span = SearchSpan::Newest;
        let query = &query;
        let found = store
            .search(&local, IndexSearch { terms, query, span })
            .await?;
        let is_enough = found.more || !terms.has_prefix();
        window = Some(found);
        if is_enough {
            break;
        }
    }
    let matches = window.map(|window| window.matches).unwrap_or_default();
    let ranked = matches.iter().filter(|found| match &found.text {
        MatchedText::Title(_) => true,
        MatchedText::Event(event) => {
            let text = String::from_utf8_lossy(&event.payload);
            terms.find(&TextWords::of(&text)).is_some()
        }
    });
    Ok(ranked.count())
}

async fn appends() -> Outcome<()> {
    let (mut lone, mut group, mut written) = (Vec::new(), Vec::new(), Vec::new());
    for with_index in [false, true] {
        let home = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR"))?;
        let store = open(home.path())?;
        let before = written_bytes()?;
        let over = Arc::new(AtomicBool::new(false));
        let indexing = tokio::spawn(beside(Arc::clone(&store), Arc::clone(&over), with_index));
        let (median, bytes) = alone(&store).await?;
        lone.push(median);
        let since = Instant::now();
        let bytes = bytes + together(&store).await?;
        group.push(since.elapsed());
        over.store(true, Ordering::Relaxed);
        indexing.await??;
        drop(store);
        written.push((written_bytes()? - before) as f64 / bytes as f64);
    }
    let ratio = |took: &[Duration]| took[1].as_secs_f64() / took[0].as_secs_f64();
    println!(
        "append with the index beside without, p50: {:.2?} / {:.2?} = {:.2}, floor 1.10",
        lone[1],
        lone[0],
        ratio(&lone)
    );
    println!(
        "group commit with the index beside without: {:.2?} / {:.2?} = {:.2}, floor 1.30",
        group[1],
        group[0],
        ratio(&group)
    );
    println!(
        "written per byte of text, with the index and without: {:.2}, {:.2}",
        written[1], written[0]
    );
    Ok(())
}

/// As the engine does it in the background, but without its delay; at the end all that is left.
async fn beside(store: SharedStore, over: Arc<AtomicBool>, with_index: bool) -> Outcome<()> {
    while with_index && !over.load(Ordering::Relaxed) {
        let since = Instant::now();
        index(&store).await?;
        tokio::time::sleep((since.elapsed() * PAUSE_FACTOR).max(PAUSE_MIN)).await;
    }
    while with_index && index(&store).await? {}
    Ok(())
}

/// One thread, one append after the other: the median, and how much text it was.
async fn alone(store: &SharedStore) -> Outcome<(Duration, u64)> {
    let mut words = Words(7);
    let lease = begin(store, 1).await?;
    let (mut took, mut bytes) = (Vec::new(), 0);
    for seq in 1..=LONE_APPENDS {
        let text = words.item();
        bytes += text.len() as u64;
        let since = Instant::now();
        append(store, lease, seq, text).await?;
        took.push(since.elapsed());
    }
    took.sort();
    Ok((took[took.len() / 2], bytes))
}

/// Many threads at once.
async fn together(store: &SharedStore) -> Outcome<u64> {
    let writers = (0..WRITERS).map(|writer| {
        let store = Arc::clone(store);
        tokio::spawn(async move {
            let mut words = Words(writer + 11);
            let lease = begin(&store, writer + 2).await?;
            let mut bytes = 0;
            for seq in 1..=APPENDS_EACH {
                let text = words.item();
                bytes += text.len() as u64;
                append(&store, lease, seq, text).await?;
            }
            Outcome::Ok(bytes)
        })
    });
    let mut bytes = 0;
    for writer in writers.collect::<Vec<_>>() {
        bytes += writer.await??;
    }
    Ok(bytes)
}

async fn begin(store: &SharedStore, number: u64) -> Outcome<Lease> {
    let thread = a_thread(number);
    let lease = store.acquire(thread.card.id).await?;
    let batch = Batch {
        thread: Some(thread),
        ..a_batch(&[])
    };
    store.append(lease, Seq::ZERO, batch).await?;
    Ok(lease)
}

async fn append(store: &SharedStore, lease: Lease, seq: u64, text: String) -> Outcome<()> {
    let batch = Batch {
        events: vec![said(seq, text)],
        state: Bytes::from(vec![b'x'; 1_000]),
        ..a_batch(&[])
    };
    Ok(store.append(lease, Seq(seq - 1), batch).await?)
}

fn written_bytes() -> Outcome<u64> {
    let io = std::fs::read_to_string("/proc/self/io")?;
    let line = io
        .lines()
        .find_map(|line| line.strip_prefix("write_bytes: "));
    Ok(line.ok_or("the kernel does not count")?.parse()?)
}
