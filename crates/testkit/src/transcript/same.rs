//! Makes what differs from run to run the same: ids, times, paths, ports, durations, positions.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

const TIME: &str = "2026-01-01T00:00:00.000Z";
const MILLIS: &str = "1767225600000";
const PORT: &str = "127.0.0.1:7337";
const USER: &str = "/home/user";
/// The directory above it, where it is named as that: scratch directories lie where the machine has them.
const USERS: &str = "\"parent\":\"/home\"";
/// Numbers behind a key that ends so are durations, or moments in Unix time.
const DURATIONS: [&str; 9] = [
    "edAt\":",
    "recencyAt\":",
    "edAtMs\":",
    "\"ts\":",
    "duration_ms\":",
    "urationMs\":",
    "atencyMs\":",
    "lapsedMs\":",
    "tookMs\":",
];

/// Numbers behind these keys are Unix seconds.
const SECONDS: [&str; 6] = [
    "\"created_at\":",
    "\"updated_at\":",
    "\"generated_at\":",
    "\"expires_at_unix\":",
    "\"next_run_at_unix\":",
    "\"nextRunAtUnix\":",
];
const SECONDS_SHOWN: &str = "1767225600";
/// Numbers behind these keys are positions in a log, which jump when a process dies.
const POSITIONS: [&str; 7] = [
    "\"sequence\":",
    "\"last_sequence\":",
    "\"next_cursor\":",
    "\"originSequence\":",
    "\"lastSequence\":",
    // The items of a timeline, which are named after their turn and one of these.
    "\"id\":\"turn-0001-00000000013-",
    "\"snapshot_version\":",
];
/// So are these; and they move by one when a turn's checkpoint is told before the next turn starts.
const SEQS: [&str; 4] = ["\"seq\":", "\"lastSeq\":", "\"fromSeq\":", "\"toSeq\":"];
/// Bytes behind this key depend on how well they were compressed; none are none.
const STORED: &str = "\"patchBytes\":";
const STORED_SHOWN: &str = "1000";
/// A path behind this key may be named by hashes of what differs from run to run.
const KEPT: &str = "\"backupDirectory\":\"";
/// Behind these, in an address that a person signs in at, stands what is drawn anew each time.
const DRAWN: [&str; 3] = ["?state=", "&state=", "code_challenge="];
const DRAWN_SHOWN: &str = "random";
/// A port of this machine within the query of an address, and that of a page for a browser.
const ENCODED_HOSTS: [&str; 3] = ["127.0.0.1%3A", "localhost%3A", "http://localhost:"];
/// Behind this key stands what this machine is called.
const HOST: &str = "\"hostname\":\"";
const HOST_SHOWN: &str = "host";
/// An id that is written without dashes.
const PLAIN_ID_CHARS: usize = 32;
const HASH_CHARS_MIN: usize = 8;
const HASH_SHOWN: &str = "hash";

#[derive(Default)]
pub struct Same {
    /// Scratch paths and what stands for them, longest first.
    paths: Vec<(String, &'static str)>,
    /// Each id's number, by first appearance.
    ids: HashMap<String, usize>,
    /// Each position's number, by first appearance.
    positions: HashMap<String, usize>,
    /// The positions behind `SEQS`: each one's number is its place among them.
    seqs: BTreeSet<u64>,
}

impl Same {
    /// Everything below this directory is shown below the example user's.
    pub fn under(user: &Path) -> Self {
        let above = user.parent().unwrap_or(user).to_string_lossy();
        Self {
            paths: vec![
                (user.to_string_lossy().into_owned(), USER),
                (format!("\"parent\":\"{above}\""), USERS),
            ],
            ids: HashMap::new(),
            positions: HashMap::new(),
            seqs: BTreeSet::new(),
        }
    }

    /// Takes note of what a line tells that is shown by its place among all that is told.
    pub fn learn(&mut self, line: &str) {
        for key in SEQS {
            for (at, _) in line.match_indices(key) {
                let text = &line[at + key.len()..];
                let seq: Option<u64> = text[..count_digits(text)].parse().ok();
                self.seqs.extend(seq.filter(|seq| *seq > 0));
            }
        }
    }

    pub fn line(&mut self, line: &str) -> String {
        let mut text = line.to_owned();
        for (path, shown) in &self.paths {
            text = text.replace(path, shown);
        }
        // What fences commands in depends on the machine.
        text = text.replace(r#""provider":"landlock""#, r#""provider":"bubblewrap""#);
        text = text.replace("landlock was tried out", "bubblewrap was tried out");
        let mut out = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(first) = rest.chars().next() {
            let begins_word = !out.ends_with(|before: char| before.is_ascii_alphanumeric());
            let (shown, taken) = match begins_word {
                true => self.replaced(rest),
                false => None,
            }
            .or_else(|| duration(&out, rest))
            .or_else(|| stored(&out, rest))
            .or_else(|| hashed(&out, rest))
            .or_else(|| drawn(&out, rest))
            .or_else(|| host(&out, rest))
            .or_else(|| self.counted(&out, rest))
            .unwrap_or_else(|| (first.to_string(), first.len_utf8()));
            out.push_str(&shown);
            rest = &rest[taken..];
        }
        out
    }

    /// Unix seconds are fixed; positions in a log are numbered by first appearance, or by their order.
    fn counted(&mut self, before: &str, text: &str) -> Option<(String, usize)> {
        let digits = count_digits(text);
        let behind = |keys: &[&str]| digits > 0 && keys.iter().any(|key| before.ends_with(key));
        if behind(&SECONDS) {
            return Some((SECONDS_SHOWN.to_owned(), digits));
        }
        if behind(&SEQS) {
            let seq: u64 = text[..digits].parse().ok()?;
            return Some((self.seqs.range(..=seq).count().to_string(), digits));
        }
        behind(&POSITIONS).then(|| {
            let next = self.positions.len() + 1;
            let number = self.positions.entry(text[..digits].to_owned());
            (number.or_insert(next).to_string(), digits)
        })
    }

    /// What the text begins with, if it differs per run, and how long it is.
    fn replaced(&mut self, text: &str) -> Option<(String, usize)> {
        if looks_like(text, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx") {
            let next = self.ids.len() + 1;
            let number = *self.ids.entry(text[..36].to_owned()).or_insert(next);
            return Some((format!("00000000-0000-4000-8000-{number:012}"), 36));
        }
        // Without dashes, and no longer: names of commits are, and do not differ.
        let digits = text.bytes().take_while(u8::is_ascii_hexdigit).count();
        if digits == PLAIN_ID_CHARS {
            let next = self.ids.len() + 1;
            let number = *self.ids.entry(text[..digits].to_owned()).or_insert(next);
            return Some((format!("{number:032}"), digits));
        }
        if looks_like(text, "dddd-dd-ddTdd:dd:dd") {
            let fraction = text[19..]
                .strip_prefix('.')
                .map_or(0, |digits| 1 + count_digits(digits));
            let end = 19 + fraction;
            return text[end..]
                .starts_with('Z')
                .then(|| (TIME.to_owned(), end + 1));
        }
        if looks_like(text, "ddddddddddddd") && count_digits(text) == MILLIS.len() {
            return Some((MILLIS.to_owned(), MILLIS.len()));
        }
        let port = text.strip_prefix("127.0.0.1:").map(count_digits)?;
        (port > 0).then(|| (PORT.to_owned(), "127.0.0.1:".len() + port))
    }
}

fn duration(before: &str, text: &str) -> Option<(String, usize)> {
    let digits = count_digits(text);
    // How long a command has run, in words: `1.0 s`.
    if before.ends_with("· ") && digits > 0 && looks_like(&text[digits..], ".d s") {
        return Some(("0.0 s".to_owned(), digits + ".d s".len()));
    }
    let is_duration = digits > 0 && DURATIONS.iter().any(|key| before.ends_with(key));
    is_duration.then(|| ("0".to_owned(), digits))
}

fn stored(before: &str, text: &str) -> Option<(String, usize)> {
    let digits = count_digits(text);
    let is_some = digits > 0 && &text[..digits] != "0";
    (is_some && before.ends_with(STORED)).then(|| (STORED_SHOWN.to_owned(), digits))
}

/// What a sign-in tells itself by, and the port it comes back to.
fn drawn(before: &str, text: &str) -> Option<(String, usize)> {
    if ENCODED_HOSTS.iter().any(|host| before.ends_with(host)) {
        let digits = count_digits(text);
        return (digits > 0).then(|| ("7337".to_owned(), digits));
    }
    let is_drawn = DRAWN.iter().any(|key| before.ends_with(key));
    let letter = |letter: char| letter.is_ascii_alphanumeric() || "-_~.".contains(letter);
    let length = text.find(|each| !letter(each)).unwrap_or(text.len());
    (is_drawn && length > 0).then(|| (DRAWN_SHOWN.to_owned(), length))
}

fn host(before: &str, text: &str) -> Option<(String, usize)> {
    let length = text.find('"').filter(|length| *length > 0)?;
    let is_host = before.ends_with(HOST);
    is_host.then(|| (HOST_SHOWN.to_owned(), length))
}

/// What a component of a path ends with, where that is a hash.
fn hashed(before: &str, text: &str) -> Option<(String, usize)> {
    let (_, path) = before.rsplit_once(KEPT)?;
    let digits = text.bytes().take_while(u8::is_ascii_hexdigit).count();
    let ends = text[digits..].starts_with(['/', '"']);
    let is_hash =
        path.ends_with(['/', '-']) && !path.contains('"') && ends && digits >= HASH_CHARS_MIN;
    is_hash.then(|| (HASH_SHOWN.to_owned(), digits))
}

fn count_digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// `x` stands for a hex digit, `d` for a digit, anything else for itself.
fn looks_like(text: &str, shape: &str) -> bool {
    text.len() >= shape.len()
        && shape
            .bytes()
            .zip(text.bytes())
            .all(|(want, is)| match want {
                b'x' => is.is_ascii_hexdigit(),
                b'd' => is.is_ascii_digit(),
                other => is == other,
            })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_numbered_by_first_appearance() {
        let mut same = Same::default();
        let first = "73d90981-ed97-4e30-a4a8-74684326d1fc";
        let second = "0198c0de-0000-7000-8000-000000000abc";
        let line = format!("{{\"a\":\"{second}\",\"b\":\"turn-{first}\",\"c\":\"{second}\"}}");
        assert_eq!(
            same.line(&line),
            "{\"a\":\"00000000-0000-4000-8000-000000000001\",\
             \"b\":\"turn-00000000-0000-4000-8000-000000000002\",\
             \"c\":\"00000000-0000-4000-8000-000000000001\"}"
        );
        assert!(same.line(first).ends_with("2"));
        assert_eq!(
            same.line("\"1801ad1a32135d0978df5f7ae78f80e0\""),
            "\"00000000000000000000000000000003\""
        );
        let commit = "e1a989266ada6d8df24430f7425b4755981a5a0f";
        assert_eq!(same.line(commit), commit);
    }

    #[test]
    fn what_a_sign_in_draws_is_fixed() {
        let line = "https://a.example/?redirect_uri=http%3A%2F%2F127.0.0.1%3A41234%2Fcb&state=x-1_y&code_challenge=Ab9&scope=read";
        assert_eq!(
            Same::default().line(line),
            "https://a.example/?redirect_uri=http%3A%2F%2F127.0.0.1%3A7337%2Fcb&state=random&code_challenge=random&scope=read"
        );
    }

    #[test]
    fn times_ports_paths_and_durations_are_fixed() {
        let mut same = Same::under(Path::new("/scratch/x1"));
        assert_eq!(
            same.line("{\"at\":\"2031-05-06T07:08:09.123Z\",\"day\":\"2031-05-06\"}"),
            "{\"at\":\"2026-01-01T00:00:00.000Z\",\"day\":\"2031-05-06\"}"
        );
        assert_eq!(
            same.line("{\"ts\":1771524000007,\"size\":177152400000}"),
            "{\"ts\":1767225600000,\"size\":177152400000}"
        );
        assert_eq!(
            same.line("ws://127.0.0.1:49152/ws"),
            "ws://127.0.0.1:7337/ws"
        );
        assert_eq!(
            same.line("\"/scratch/x1/project/ä\" /scratch/x1/.cowork"),
            "\"/home/user/project/ä\" /home/user/.cowork"
        );
        assert_eq!(
            same.line("{\"parent\":\"/scratch\",\"name\":\"/scratch\"}"),
            "{\"parent\":\"/home\",\"name\":\"/scratch\"}"
        );
        assert_eq!(
            same.line("{\"duration_ms\":1234,\"latencyMs\":7,\"index\":12}"),
            "{\"duration_ms\":0,\"latencyMs\":0,\"index\":12}"
        );
        assert_eq!(
            same.line("{\"hostname\":\"box-7.example\",\"name\":\"box-7\"}"),
            "{\"hostname\":\"host\",\"name\":\"box-7\"}"
        );
    }

    #[test]
    fn positions_are_numbered_by_their_order_and_the_beginning_stays() {
        let mut same = Same::default();
        let line = "{\"seq\":17,\"fromSeq\":0,\"toSeq\":65553,\"lastSeq\":5,\"seq\":17}";
        same.learn(line);
        assert_eq!(
            same.line(line),
            "{\"seq\":2,\"fromSeq\":0,\"toSeq\":3,\"lastSeq\":1,\"seq\":2}"
        );
    }

    #[test]
    fn where_and_how_small_a_checkpoint_is_kept_is_not_told() {
        let mut same = Same::under(Path::new("/scratch/x1"));
        assert_eq!(
            same.line(
                "{\"backupDirectory\":\"/scratch/x1/.cowork/checkpoints/4be7da9c2f01/blobs\",\
                 \"hash\":\"4be7da9c2f01\",\"patchBytes\":187,\"next\":{\"patchBytes\":0}}"
            ),
            "{\"backupDirectory\":\"/home/user/.cowork/checkpoints/hash/blobs\",\
             \"hash\":\"4be7da9c2f01\",\"patchBytes\":1000,\"next\":{\"patchBytes\":0}}"
        );
    }
}
