// What the page knows, as plain data. `apply` is the only thing that writes it.
import type { CodexThreadSettings, RequestApproval, RequestUserInput, McpServerElicitationRequest, Thread, ThreadItem, ThreadTokenUsage, TurnError, TurnPlanStep } from '../protocol/codex.gen'

/** A row of the list. `archived` is what the list said that it came from. */
export type Row = Omit<Thread, 'turns'> & { archived: boolean }

/** Unknown kinds of items are kept as they came and shown as JSON. */
export type Body = ThreadItem | { type: 'unknown'; id: string; json: unknown }

export interface Item {
  id: string
  turnId: string
  body: Body
  /** It grows, or runs: `item/completed` has not come yet. */
  live: boolean
  startedAtMs: number | null
  endedAtMs: number | null
  /** An MCP server's own words on how far it is. */
  progress: string | null
  /** The command waits for somebody to type; the process to type to. */
  waitsForInput: boolean
  processId: string | null
  /** The beginning of its output was dropped, because the page keeps only so much. */
  outputCut: boolean
  /** Of an attempt that broke off: the service was asked again, and history does not have it. */
  replaced: boolean
}

export type TurnStatusWord = 'inProgress' | 'completed' | 'interrupted' | 'failed'

export interface Turn {
  id: string
  itemIds: string[]
  status: TurnStatusWord
  error: TurnError | null
  startedAtMs: number | null
  durationMs: number | null
  /** What the service had trouble with, while it is tried again. */
  retry: string | null
  plan: TurnPlanStep[] | null
  diff: string | null
  /** Tokens of the thread when the turn began and as of its last step. */
  tokensBefore: number
  tokensAfter: number | null
}

export interface ThreadState {
  id: string
  /** 'no': only listened to. 'tail': the newest turns are here, live from then on. */
  loaded: 'no' | 'tail'
  turnOrder: string[]
  turns: Map<string, Turn>
  items: Map<string, Item>
  olderCursor: string | null
  runningTurn: string | null
  usage: ThreadTokenUsage | null
  settings: Settings | null
  /** Deltas of items that we were not told the beginning of, until a page tells it. */
  orphans: Map<string, string>
  /** Taken back by somebody: the turns have to be read again. */
  stale: boolean
}

export type Settings = Pick<CodexThreadSettings, 'cwd' | 'approvalPolicy' | 'model' | 'modelProvider' | 'effort' | 'activePermissionProfile'> & { sandbox: string; /** Null until the server has said it. */ mode: 'plan' | 'code' | null }

export type AskBody =
  | { kind: 'command'; params: RequestApproval }
  | { kind: 'files'; params: RequestApproval }
  | { kind: 'mcp'; params: McpServerElicitationRequest }
  | { kind: 'questions'; params: RequestUserInput }

export type Ask = AskBody & {
  id: number
  threadId: string
  turnId: string
  itemId: string | null
  openedAtMs: number
  state: 'open' | 'answering' | 'closed'
  /** What this page answered, in words; null where somebody else did. */
  mine: string | null
}

export interface State {
  rows: Map<string, Row>
  threads: Map<string, ThreadState>
  asks: Map<number, Ask>
  /** Notices that this page does not know, by method. */
  unknown: Map<string, number>
}

export function emptyState(): State {
  return { rows: new Map(), threads: new Map(), asks: new Map(), unknown: new Map() }
}

export function emptyThread(id: string): ThreadState {
  return {
    id, loaded: 'no', turnOrder: [], turns: new Map(), items: new Map(), olderCursor: null, runningTurn: null,
    usage: null, settings: null, orphans: new Map(), stale: false,
  }
}

export function emptyTurn(id: string): Turn {
  return { id, itemIds: [], status: 'inProgress', error: null, startedAtMs: null, durationMs: null, retry: null, plan: null, diff: null, tokensBefore: 0, tokensAfter: null }
}
