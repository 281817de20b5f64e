//! CodexCalls that wait for their answer, and what to do with it.

use vocabulary::{AskId, SteerTurn, ThreadId};

use super::config::ConfigPurpose;
use super::file_search::FileSearchPurpose;
use super::forks::ForkPurpose;
use super::inventory::InventoryPurpose;
use super::items_list::ItemPurpose;
use super::orbit::ServerControl;
use super::orders::OrderPurpose;
use super::resuming::{FirstPage, ResumedTurns, ShownTurns};
use super::sections::SectionPurpose;
use super::server_login::ServerLoginPurpose;
use super::settings::SettingsPurpose;
use super::terminals::TerminalPurpose;
use super::thread_list::ThreadListPurpose;
use super::turn_list::TurnListing;
use super::turns::WantedTurn;
use super::wire::params::{ListMcpServerStatusParams, ModelListParams};
use crate::jsonrpc::Id;
use crate::pending::Pending;
use crate::{Action, StartAt};

/// More messages than one read gives: the engine's own limit counts.
pub const ALL_MESSAGES: u32 = u32::MAX;

/// What an answer is for.
#[derive(Debug)]
pub enum CodexPurpose {
    Account(Id),
    LoginKey(Id),
    LoginBegin(Id),
    /// The browser has to come back; nobody's request waits for it.
    LoginFinish(u64),
    /// Which accounts there are, to sign out of them.
    Logout(Id),
    /// With the accounts that come next.
    SignOut(Id, Vec<&'static str>),
    ModelList(Id, ModelListParams),
    Settings(SettingsPurpose),
    Threads(ThreadListPurpose),
    Forks(ForkPurpose),
    TurnList(Id, TurnListing),
    Grants(Id),
    Search(Id),
    Inventory(Id, Box<InventoryPurpose>),
    Config(Id, Box<ConfigPurpose>),
    ServerLogin(Box<ServerLoginPurpose>),
    ServerList(Id, ListMcpServerStatusParams),
    StartCreate(Id),
    StartListen(Id),
    /// A page of a thread's turns, before it is heard.
    ResumePage {
        id: Id,
        turns: ResumedTurns,
        listing: TurnListing,
    },
    Resume {
        id: Id,
        turns: ResumedTurns,
        page: Option<Box<FirstPage>>,
    },
    /// The next turns of a long thread, before it is heard.
    ResumeTurns(Id, Box<ShownTurns>),
    Read(Id),
    ReadTurns(Id),
    /// To know the thread that a turn is to start in, where it is not heard.
    TurnThread(Id, Box<WantedTurn>),
    Turn(Id),
    Steer(Id),
    Exec(Id),
    Order(OrderPurpose),
    Sections(Id, SectionPurpose),
    Items(Id, ItemPurpose),
    Terminals(TerminalPurpose),
    /// Zane's, who would lose what was said: a turn that is over is followed by another.
    SteerOrStart(Id, Box<SteerTurn>),
    StartInstead(Id, Box<SteerTurn>),
    /// `{}` when it is done.
    Done(Id),
    Answer(AskId),
    /// Zane's `orbit.subscribe`.
    Subscribe,
    /// A thread that is heard was reset.
    Anew,
    Directories(Id),
    FileSearch(FileSearchPurpose),
    ZaneSkills(Id),
    /// Zane's push frames, with the frame that says it is done.
    Push(Box<ServerControl<'static>>),
}

pub type CodexCalls = Pending<CodexPurpose>;

impl CodexCalls {
    pub fn listen(&mut self, out: &mut Vec<Action>, waiting: CodexPurpose, thread: ThreadId) {
        let recent = match waiting {
            CodexPurpose::Resume { ref turns, .. } => turns.recent(),
            CodexPurpose::Forks(ForkPurpose::Listen { turns: true, .. }) => ALL_MESSAGES,
            // How its last turn ended is in it.
            CodexPurpose::Subscribe => 1,
            _ => 0,
        };
        self.attach(out, waiting, thread, StartAt::Head, recent);
    }
}
