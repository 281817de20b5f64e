//! Whether a call may run: the tool's own judgement, the user's policy over it, what the sandbox
//! holds, and a person.

use std::sync::Arc;

use serde_json::Value;
use tools::policy::{Decision, PolicyCall};
use tools::sandbox::Mode;
use tools::{Judgement, Risk, Sandbox, Scope, Tool};
use vocabulary::{
    Approval, Approvals, AskKind, Closing, GrantScope, RiskCode, StreamTag, Subject,
    ThreadSettings, ToolCall, ToolOutcome, ToolOutput,
};

use super::tooling::{self, CANCELLED};
use super::{SessionGone, Turn};
use crate::grants;

pub mod external;
mod let_out;

pub use let_out::let_out;

/// What is put before a person.
struct ApprovalRequest {
    command: String,
    dangerous: bool,
    risk: Risk,
    why: String,
}

/// What becomes of a call before any person is asked.
enum GateDecision {
    Run,
    Ask(ApprovalRequest),
    Refuse(String),
}

/// Asks a person where the call needs one; gives the outcome if it may not run.
pub async fn refused(
    turn: &Turn,
    tag: &StreamTag,
    call: &ToolCall,
    tool: &dyn Tool,
    scope: &Scope,
) -> Result<Option<ToolOutcome>, SessionGone> {
    let wish = match verdict(turn, call, tool, scope).await {
        GateDecision::Run => return Ok(None),
        GateDecision::Refuse(error) => return Ok(Some(ToolOutcome::Failed { error })),
        GateDecision::Ask(wish) => wish,
    };
    let unasked = unasked(&turn.permits.borrow().settings, &wish);
    match unasked {
        Some(Ok(())) => return Ok(None),
        Some(Err(error)) => return Ok(Some(ToolOutcome::Failed { error })),
        None => {}
    }
    let (key, others) = grant_keys(tool, call, scope);
    let _one = turn.asks_in_turn.lock().await;
    if covered(turn, &key, &others).await {
        return Ok(None);
    }
    let kind = approval(call, Some(tool), wish, key);
    let closing = turn.ask(tag.clone(), call, kind).await?;
    if closing.approved() {
        return Ok(None);
    }
    Ok(Some(match closing {
        Closing::Answered(_) => ToolOutcome::Denied(denied(call)),
        Closing::Cancelled => ToolOutcome::NotRun {
            why: CANCELLED.to_owned(),
        },
        Closing::Lost { why } => ToolOutcome::NotRun { why },
    }))
}

/// What a yes for longer than once is kept under, and what else covers the call.
fn grant_keys(tool: &dyn Tool, call: &ToolCall, scope: &Scope) -> (String, Vec<String>) {
    let place = scope.outside.asked.as_deref();
    let mut keys = place.map_or_else(Vec::new, tools::path::outside_grant_keys);
    match keys.is_empty() {
        true => (tool.grant_key(&call.input), keys),
        false => (keys.remove(0), keys),
    }
}

async fn covered(turn: &Turn, key: &str, others: &[String]) -> bool {
    for key in std::iter::once(key).chain(others.iter().map(String::as_str)) {
        if grants::covers(turn, key).await {
            return true;
        }
    }
    false
}

/// Where nobody is asked: whether it runs, or why not.
///
/// Not asking never lets anything out of the sandbox: words that a command prints would be enough.
fn unasked(settings: &ThreadSettings, wish: &ApprovalRequest) -> Option<Result<(), String>> {
    let asks_nobody = settings.auto_approve || settings.approvals == Approvals::Never;
    match (asks_nobody, settings.auto_approve, wish.risk) {
        (false, _, _) => None,
        (true, _, Risk::BeyondSandbox) => Some(Err(format!(
            "not run: it {}, and nobody is asked in this thread. Do without it, or tell the user \
             what you need and why; the server's owner can open the network with --network.",
            wish.why
        ))),
        (true, true, Risk::OutsideRead) => Some(Err(format!(
            "not run: it {}, and nobody is asked in this thread. Work with what is in the workspace, \
             or tell the user what you need and why.",
            wish.why
        ))),
        (true, true, _) => Some(Ok(())),
        (true, false, _) => Some(Err(format!(
            "not run: a person would have to allow it ({}), and this thread asks nobody. Do it in \
             another way, or tell the user what you need and why.",
            wish.why
        ))),
    }
}

/// Whether a call that is under way may go on as if it had been called with this input, only that
/// nobody can be asked any more.
pub async fn may_go_on(turn: &Turn, call: &ToolCall, input: Value) -> Result<(), String> {
    let tool = turn.tools().get(&call.name);
    let tool = tool.ok_or_else(|| format!("there is no tool named {:?}", call.name))?;
    let call = ToolCall {
        subject: tool.subject(&input),
        input,
        ..call.clone()
    };
    match verdict(turn, &call, tool.as_ref(), &tooling::scope(turn)).await {
        GateDecision::Run => Ok(()),
        GateDecision::Refuse(why) => Err(why),
        GateDecision::Ask(_) if turn.permits.borrow().settings.auto_approve => Ok(()),
        GateDecision::Ask(_) if grants::covers(turn, &tool.grant_key(&call.input)).await => Ok(()),
        GateDecision::Ask(wish) => {
            let instead = match &call.subject {
                Subject::Web { url } => format!("fetch {url} directly"),
                // tidy: wildcard, because only what comes from the web goes on elsewhere.
                _ => "make a call of its own".to_owned(),
            };
            let why = wish.why;
            Err(format!("{why}; {instead}, so that a person can be asked"))
        }
    }
}

async fn verdict(turn: &Turn, call: &ToolCall, tool: &dyn Tool, scope: &Scope) -> GateDecision {
    let ruled = || is_ruled(turn, call, scope);
    if let Some(why) = turn.why_not_planned(call, tool, ruled()).await {
        return GateDecision::Refuse(why);
    }
    let fence = CallSandbox::of(turn, call, scope).await;
    if scope.outside.held && fence.is_open() {
        return GateDecision::Refuse(tools::sandbox::HELD.to_owned());
    }
    let judgement = tool.judge_with(scope, &turn.jobs, &call.input);
    let judgement = match judgement {
        Judgement::Allow if turn.only_reads() && is_server(call) => Judgement::Ask {
            command: summary(call, None),
            dangerous: false,
            risk: Risk::OutsideScope,
            why:
                "this thread may only read, and only the MCP server itself says that its tool does"
                    .to_owned(),
        },
        Judgement::Ask { .. } if named_by_user(turn, call) => Judgement::Allow,
        Judgement::Ask {
            command,
            dangerous,
            why,
            risk: Risk::BeyondSandbox,
        } if fence.is_open() => Judgement::Ask {
            command,
            dangerous,
            why,
            risk: Risk::ManualReview,
        },
        Judgement::Allow => fence.doubted(call),
        judgement @ Judgement::Ask { .. } => judgement,
    };
    match (decided(turn, call, scope, &judgement), judgement) {
        (Decision::Refuse { why }, _) => GateDecision::Refuse(why),
        (Decision::Allow, Judgement::Allow) => GateDecision::Run,
        (
            Decision::Allow,
            Judgement::Ask {
                command,
                dangerous,
                risk,
                ..
            },
        ) => match fence.why_rules_do_not_count().await {
            None => GateDecision::Run,
            Some(why) => GateDecision::Ask(ApprovalRequest {
                command,
                dangerous,
                risk,
                why: format!("a rule of yours allows this, but {why}"),
            }),
        },
        (
            Decision::Ask {
                command,
                dangerous,
                risk,
                why,
            },
            judgement,
        ) => {
            let approvals = turn.permits.borrow().settings.approvals;
            let held = why.is_none()
                && matches!(judgement, Judgement::Ask { .. })
                && fence.holds(approvals, risk, call).await;
            match (held, why, judgement) {
                (true, _, _) => GateDecision::Run,
                (false, rule, judgement) => GateDecision::Ask(ApprovalRequest {
                    command,
                    dangerous,
                    risk,
                    why: rule.unwrap_or_else(|| reason(judgement, risk)),
                }),
            }
        }
    }
}

fn reason(judgement: Judgement, risk: Risk) -> String {
    match judgement {
        Judgement::Ask { why, .. } => why,
        Judgement::Allow => risk.in_words().to_owned(),
    }
}

/// What the sandbox does for a call; for anything but a command, nothing.
struct CallSandbox<'a> {
    scope: &'a Scope,
    /// Absent where the call is no command.
    sandbox: Option<Arc<Sandbox>>,
    /// Whether the thread is to have no sandbox.
    is_full: bool,
}

impl<'a> CallSandbox<'a> {
    async fn of(turn: &Turn, call: &ToolCall, scope: &'a Scope) -> CallSandbox<'a> {
        let sandbox = match call.is_command() {
            true => Some(turn.sandbox().await),
            false => None,
        };
        CallSandbox {
            scope,
            sandbox,
            is_full: turn.has_full_access(),
        }
    }

    /// Whether nothing holds a command, so that there is nothing to leave either.
    fn is_open(&self) -> bool {
        let mode = self.sandbox.as_ref().map(|sandbox| sandbox.mode());
        mode == Some(Mode::Nothing)
    }

    /// What is made of a command that its judge lets through: with nothing to hold it, a person
    /// looks at all of them, and so at git where its configuration runs a program.
    fn doubted(&self, call: &ToolCall) -> Judgement {
        let (Some(sandbox), Some(command)) = (&self.sandbox, command_of(call)) else {
            return Judgement::Allow;
        };
        let ask = |why: String| Judgement::Ask {
            command: command.to_owned(),
            dangerous: false,
            risk: Risk::ManualReview,
            why,
        };
        match sandbox.mode() {
            Mode::Nothing if self.is_full => Judgement::Allow,
            Mode::Nothing => ask("no sandbox holds commands here".to_owned()),
            Mode::Bubblewrap | Mode::Landlock if is_git(command) => {
                match tools::git::runs_programs(&self.scope.directory) {
                    Some(why) => ask(why),
                    None => Judgement::Allow,
                }
            }
            Mode::Bubblewrap | Mode::Landlock => Judgement::Allow,
        }
    }

    /// Why a rule that allows a command is not enough: it may only lift what the sandbox holds in.
    async fn why_rules_do_not_count(&self) -> Option<String> {
        if self.is_full {
            return None;
        }
        let (sandbox, scope) = (Arc::clone(self.sandbox.as_ref()?), self.scope.clone());
        // It looks through the workspace, away from whoever serves others.
        let look = move || sandbox.why_it_asks(&scope);
        let why = tokio::task::spawn_blocking(look).await;
        why.unwrap_or_else(|_| Some("the sandbox could not be looked at".to_owned()))
    }

    /// Whether a command that its judge would ask for runs without a person, because it cannot do harm.
    async fn holds(&self, approvals: Approvals, risk: Risk, call: &ToolCall) -> bool {
        let (Some(_), Some(command)) = (&self.sandbox, command_of(call)) else {
            return false;
        };
        if self.is_full {
            return match approvals {
                Approvals::Ask => false,
                Approvals::AskUnlessRead => risk == Risk::FileRead,
                // There is nothing to leave; what destroys is for a person still.
                Approvals::Auto | Approvals::Never | Approvals::OnFailure => {
                    risk != Risk::DangerousPattern
                }
            };
        }
        let harmless = match (approvals, risk) {
            (Approvals::OnFailure, risk) => risk != Risk::BeyondSandbox,
            (Approvals::Ask, _) => false,
            (Approvals::AskUnlessRead, risk) => return !self.is_open() && risk == Risk::FileRead,
            (
                Approvals::Auto | Approvals::Never,
                Risk::FileRead | Risk::ShellControlOperator | Risk::ManualReview,
            ) => !tools::risk::leaves_workspace(self.scope, command),
            (
                Approvals::Auto | Approvals::Never,
                Risk::DangerousPattern
                | Risk::OutsideScope
                | Risk::OutsideRead
                | Risk::BeyondSandbox,
            ) => false,
        };
        harmless && self.why_rules_do_not_count().await.is_none()
    }
}

fn is_git(command: &str) -> bool {
    command.split_whitespace().next() == Some("git")
}

fn command_of(call: &ToolCall) -> Option<&str> {
    match &call.subject {
        Subject::Command { line, .. } => Some(line),
        Subject::Files(_)
        | Subject::Web { .. }
        | Subject::Search { .. }
        | Subject::Agent { .. }
        | Subject::Mcp { .. }
        | Subject::Question
        | Subject::Plan
        | Subject::Other => None,
    }
}

/// The host that a call goes to.
fn host_of(call: &ToolCall) -> Option<String> {
    match &call.subject {
        Subject::Web { url } => tools::web::host_of(url),
        Subject::Command { .. }
        | Subject::Files(_)
        | Subject::Search { .. }
        | Subject::Agent { .. }
        | Subject::Mcp { .. }
        | Subject::Question
        | Subject::Plan
        | Subject::Other => None,
    }
}

/// Whether the user's own words name the host that the call goes to.
fn named_by_user(turn: &Turn, call: &ToolCall) -> bool {
    host_of(call).is_some_and(|host| turn.user_named(&host))
}

/// Why a rule refuses a call for which nobody is asked, if one does.
pub fn forbidden(turn: &Turn, call: &ToolCall, scope: &Scope) -> Option<String> {
    match decided(turn, call, scope, &Judgement::Allow) {
        Decision::Refuse { why } => Some(why),
        Decision::Allow | Decision::Ask { .. } => None,
    }
}

fn is_server(call: &ToolCall) -> bool {
    matches!(call.subject, Subject::Mcp { .. })
}

/// Whether a rule of the user's allows the call by name.
fn is_ruled(turn: &Turn, call: &ToolCall, scope: &Scope) -> bool {
    let unknown = Judgement::Ask {
        command: summary(call, None),
        dangerous: false,
        risk: Risk::ManualReview,
        why: String::new(),
    };
    decided(turn, call, scope, &unknown) == Decision::Allow
}

/// What the policy makes of a tool's own judgement.
fn decided(turn: &Turn, call: &ToolCall, scope: &Scope, judgement: &Judgement) -> Decision {
    let mut paths: Vec<String> = match &call.subject {
        Subject::Files(files) => files
            .iter()
            .map(|file| relative(turn, &file.path))
            .collect(),
        Subject::Command { .. }
        | Subject::Web { .. }
        | Subject::Search { .. }
        | Subject::Agent { .. }
        | Subject::Mcp { .. }
        | Subject::Question
        | Subject::Plan
        | Subject::Other => Vec::new(),
    };
    // Whatever name it was given: rules are about where it leads.
    let outside = scope.outside.asked.iter();
    paths.extend(outside.map(|place| place.display().to_string()));
    let hosts: Vec<String> = host_of(call).into_iter().collect();
    let summary = summary(call, paths.first().or(hosts.first()));
    let command = command_of(call);
    turn.own().policy.decide(&PolicyCall {
        tool: &call.name,
        summary: &summary,
        command,
        paths: &paths,
        hosts: &hosts,
        judgement,
    })
}

/// A call in one line.
fn summary(call: &ToolCall, about: Option<&String>) -> String {
    const INPUT_CHARS_MAX: usize = 400;
    match (&call.subject, about) {
        (Subject::Mcp { server, tool }, _) => {
            let input = call.input.to_string();
            let shown: String = input.chars().take(INPUT_CHARS_MAX).collect();
            let rest = if shown.len() < input.len() { "…" } else { "" };
            format!("mcp {server}.{tool} {shown}{rest}")
        }
        (_, Some(about)) => format!("{} {about}", call.name),
        (_, None) => call.name.clone(),
    }
}

/// As rules name it: from the workspace on, where it lies inside.
fn relative(turn: &Turn, path: &str) -> String {
    let inside = std::path::Path::new(path).strip_prefix(&turn.card.directory);
    inside.map_or_else(|_| path.to_owned(), |path| path.display().to_string())
}

fn denied(call: &ToolCall) -> ToolOutput {
    match call.is_command() {
        true => ToolOutput::Command {
            stdout: String::new(),
            stderr: "User rejected this command.".to_owned(),
            exit_code: 1,
            duration_ms: 0,
            model_text: Some("User rejected this command.".to_owned()),
        },
        false => ToolOutput::Text("User rejected this action.".to_owned()),
    }
}

fn approval(
    call: &ToolCall,
    tool: Option<&dyn Tool>,
    wish: ApprovalRequest,
    key: String,
) -> AskKind {
    // A command may have lines, anything else is one.
    let shown = match call.is_command() {
        true => tools::shown::script,
        false => tools::shown::line,
    };
    AskKind::Approval(Approval {
        command: shown(&wish.command).into_owned(),
        dangerous: wish.dangerous,
        risk: risk_code(wish.risk),
        reason: tools::shown::line(&wish.why).into_owned(),
        leaves_sandbox: wish.risk == Risk::BeyondSandbox,
        key: Some(key),
        // A host is asked for once in a thread.
        remembered: tool
            .is_some_and(|tool| tool.is_asked_once())
            .then_some(GrantScope::Session),
    })
}

fn risk_code(risk: Risk) -> RiskCode {
    match risk {
        Risk::DangerousPattern => RiskCode::MatchesDangerousPattern,
        Risk::ShellControlOperator => RiskCode::ContainsShellControlOperator,
        Risk::ManualReview => RiskCode::RequiresManualReview,
        Risk::FileRead => RiskCode::FileReadCommandRequiresReview,
        Risk::OutsideScope | Risk::OutsideRead | Risk::BeyondSandbox => {
            RiskCode::OutsideAllowedScope
        }
    }
}
