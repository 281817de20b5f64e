//! What the server says to the launcher over its standard input: that the command is to end, and what is
//! typed to it. When the pipe closes, everything is to end now.

use std::fs::File;
use std::io::{Read, Write};
use std::process::ChildStdin;
use std::sync::mpsc::{self, Sender, SyncSender, TrySendError};

use super::launcher::LauncherEvent;

/// Asks the command to end.
pub const TERMINATE: u8 = b't';
/// Before the length of an input, four bytes in network order, and the input.
const INPUT: u8 = b'i';
const END_OF_INPUT: u8 = b'e';
/// The longest input at once.
pub const INPUT_BYTES_MAX: usize = 64 * 1024;
/// Inputs that may wait for a command to read them.
const INPUTS_MAX: usize = 64;
/// What a person types at a terminal to end the input.
const END_AT_TERMINAL: &[u8] = &[4];

/// The words that pass an input on.
pub fn input(bytes: &[u8]) -> Vec<u8> {
    let mut words = Vec::new();
    for piece in bytes.chunks(INPUT_BYTES_MAX) {
        words.push(INPUT);
        let length = u32::try_from(piece.len()).unwrap_or(u32::MAX);
        words.extend(length.to_be_bytes());
        words.extend(piece);
    }
    words
}

/// The words that say that no input follows.
pub fn end_of_input() -> [u8; 1] {
    [END_OF_INPUT]
}

/// Where a command reads.
pub(super) enum CommandInput {
    Pipe(ChildStdin),
    Terminal(File),
}

/// Hears the server until it has gone.
pub(super) fn hear(events: &Sender<LauncherEvent>, command: Option<CommandInput>) {
    let mut writing = command.map(start_writing);
    let mut control = std::io::stdin().lock();
    let mut word = [0];
    while let Ok(1) = control.read(&mut word) {
        match word[0] {
            TERMINATE if events.send(LauncherEvent::Terminate).is_err() => return,
            INPUT => {
                let Some(bytes) = read_input(&mut control) else {
                    break;
                };
                pass_on(writing.as_ref(), bytes);
            }
            // An empty input stands for its end.
            END_OF_INPUT => {
                pass_on(writing.as_ref(), Vec::new());
                writing = None;
            }
            _ => {}
        }
    }
    let _ = events.send(LauncherEvent::Kill);
}

fn read_input(control: &mut impl Read) -> Option<Vec<u8>> {
    let mut length = [0; 4];
    control.read_exact(&mut length).ok()?;
    let length = usize::try_from(u32::from_be_bytes(length)).ok()?;
    let mut bytes = vec![0; length.min(INPUT_BYTES_MAX)];
    control.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

/// Never waits: a command that does not read must not keep the server from ending it.
fn pass_on(writing: Option<&SyncSender<Vec<u8>>>, bytes: Vec<u8>) {
    let sent = writing.map(|writing| writing.try_send(bytes));
    if let Some(Err(TrySendError::Full(_))) = sent {
        eprintln!("dragoman: input was dropped: the command does not read it");
    }
}

fn start_writing(command: CommandInput) -> SyncSender<Vec<u8>> {
    let (writing, inputs) = mpsc::sync_channel::<Vec<u8>>(INPUTS_MAX);
    std::thread::spawn(move || {
        let mut command = command;
        for bytes in inputs {
            let written = match (&mut command, bytes.is_empty()) {
                (CommandInput::Pipe(_), true) => return,
                (CommandInput::Pipe(pipe), false) => {
                    pipe.write_all(&bytes).and_then(|()| pipe.flush())
                }
                (CommandInput::Terminal(near), true) => near.write_all(END_AT_TERMINAL),
                (CommandInput::Terminal(near), false) => near.write_all(&bytes),
            };
            if written.is_err() {
                return;
            }
        }
        // The server has gone or ended the input; the pipe goes with this.
    });
    writing
}
