// frame -> state. It reads no clock, sends nothing and keeps nothing of its own: the same inputs in the same order give the same state.
// Items, turns, threads and asks are replaced when they change, so that what compares by identity sees it.
import type { Calls, Notices, Requests, Thread, ThreadOpened } from '../protocol/codex.gen'
import { applyAsk, closeAsks, resolveAsk } from './apply/asks'
import { completeItem, growItem, patchItem, replaceAttempt, startItem } from './apply/items'
import { closeThread, listThreads, patchRow, setRow } from './apply/library'
import { editThread, forgetOldest, openThread, prependTurns, settingsOf, startTurn, endTurn, editTurn } from './apply/threads'
import type { State } from './model'
import { LIBRARY, eventKey, threadKey, type Touched } from './touched'

export type Input =
  | { kind: 'notice'; method: string; params: unknown; emittedAtMs: number | null }
  | { kind: 'request'; id: number; method: string; params: unknown }
  | { kind: 'answer'; method: string; params: unknown; result: unknown }
  | { kind: 'answering'; askId: number; words: string | null }
  /** Threads that are in no list any more. */
  | { kind: 'gone'; threadIds: string[] }
  /** The reader is at the end of a long thread. */
  | { kind: 'forget'; threadId: string }

export function apply(state: State, input: Input, touched: Touched): void {
  switch (input.kind) {
    case 'notice': return applyNotice(state, input.method, input.params, input.emittedAtMs, touched)
    case 'request': return applyAsk(state, input.id, input.method as keyof Requests, input.params, touched)
    case 'answer': return applyAnswer(state, input.method as keyof Calls, input.params, input.result, touched)
    case 'gone': { for (const id of input.threadIds) closeThread(state, id, touched); return }
    case 'forget': { editThread(state, input.threadId, touched, forgetOldest); return }
    case 'answering': return resolveAsk(state, input.askId, input.words === null ? 'open' : 'answering', input.words, touched)
  }
}

type Handlers = { [M in keyof Notices]?: (state: State, params: Notices[M], touched: Touched, atMs: number | null) => void }

const notices: Handlers = {
  'thread/started': (state, { thread }, touched) => {
    setRow(state, thread, false, touched)
    const known = state.threads.get(thread.id)
    // One that is heard was reset by a client of another dialect, or it is a fork of ours: its turns are to be read again.
    if (known && known.turnOrder.length > 0) editThread(state, thread.id, touched, one => { one.stale = true })
  },
  'thread/archived': (state, { threadId }, touched) => patchRow(state, threadId, { archived: true }, touched),
  'thread/unarchived': (state, { threadId }, touched) => patchRow(state, threadId, { archived: false }, touched),
  'thread/deleted': (state, { threadId }, touched) => closeThread(state, threadId, touched),
  'thread/name/updated': (state, { threadId, name }, touched) => patchRow(state, threadId, { name }, touched),
  'thread/status/changed': (state, { threadId, status }, touched) => patchRow(state, threadId, { status }, touched),
  'thread/closed': (state, { threadId }, touched) => editThread(state, threadId, touched, thread => { thread.stale = true }),
  'thread/reverted': (state, { threadId }, touched) => editThread(state, threadId, touched, thread => { thread.stale = true }),
  'thread/settings/updated': (state, { threadId, threadSettings }, touched) => {
    editThread(state, threadId, touched, thread => { thread.settings = settingsOf(threadSettings) })
    patchRow(state, threadId, { model: threadSettings.model, modelProvider: threadSettings.modelProvider }, touched)
  },
  'thread/tokenUsage/updated': (state, { threadId, turnId, tokenUsage }, touched) => {
    editThread(state, threadId, touched, thread => { thread.usage = tokenUsage })
    editTurn(state, threadId, turnId, touched, turn => { turn.tokensAfter = tokenUsage.total.totalTokens })
  },
  'turn/started': (state, { threadId, turn }, touched, atMs) => startTurn(state, threadId, turn, atMs, touched),
  'turn/completed': (state, { threadId, turn }, touched) => {
    endTurn(state, threadId, turn, touched)
    closeAsks(state, ask => ask.turnId === turn.id, touched)
  },
  'turn/plan/updated': (state, { threadId, turnId, plan }, touched) => editTurn(state, threadId, turnId, touched, turn => { turn.plan = plan }),
  'turn/diff/updated': (state, { threadId, turnId, diff }, touched) => editTurn(state, threadId, turnId, touched, turn => { turn.diff = diff }),
  'item/started': (state, { threadId, turnId, item, startedAtMs }, touched) => startItem(state, threadId, turnId, item, startedAtMs, touched),
  'item/completed': (state, { threadId, turnId, item, completedAtMs }, touched) => completeItem(state, threadId, turnId, item, completedAtMs, touched),
  'item/agentMessage/delta': (state, params, touched) => growItem(state, params, touched),
  'item/plan/delta': (state, params, touched) => growItem(state, params, touched),
  'item/commandExecution/outputDelta': (state, params, touched) => growItem(state, params, touched),
  'item/reasoning/summaryTextDelta': (state, params, touched) => growItem(state, params, touched),
  'item/reasoning/summaryPartAdded': () => undefined,
  'item/commandExecution/terminalInteraction': (state, { threadId, itemId, stdin, processId }, touched) => {
    patchItem(state, threadId, itemId, touched, { waitsForInput: stdin === '', processId })
    if (stdin !== '') growItem(state, { threadId, itemId, delta: stdin }, touched)
  },
  'item/mcpToolCall/progress': (state, { threadId, itemId, message }, touched) => patchItem(state, threadId, itemId, touched, { progress: message }),
  'error': (state, { threadId, turnId, message, willRetry }, touched) => {
    if (!willRetry) return
    replaceAttempt(state, threadId, turnId, touched)
    editTurn(state, threadId, turnId, touched, turn => { turn.retry = message })
  },
  'serverRequest/resolved': (state, { requestId }, touched) => resolveAsk(state, requestId, 'closed', null, touched),
}

function applyNotice(state: State, method: string, params: unknown, atMs: number | null, touched: Touched): void {
  const handler = notices[method as keyof Notices] as ((state: State, params: unknown, touched: Touched, atMs: number | null) => void) | undefined
  if (handler) handler(state, params, touched, atMs)
  else state.unknown.set(method, (state.unknown.get(method) ?? 0) + 1)
  touched.add(eventKey(method))
}

function applyAnswer(state: State, method: keyof Calls, params: unknown, result: unknown, touched: Touched): void {
  switch (method) {
    case 'thread/list': {
      const { archived } = params as Calls['thread/list']['params']
      listThreads(state, (result as Calls['thread/list']['result']).data, archived === true, touched)
      return
    }
    case 'thread/start': case 'thread/fork': case 'thread/resume':
      return applyOpened(state, method, params, result as ThreadOpened, touched)
    case 'thread/turns/list': {
      const { threadId } = params as Calls['thread/turns/list']['params']
      const page = result as Calls['thread/turns/list']['result']
      return prependTurns(state, threadId, page.data, page.nextCursor, touched)
    }
    case 'thread/unarchive': return setRow(state, (result as { thread: Thread }).thread, false, touched)
    default: return
  }
}

/** `excludeTurns` without a first page means that the thread is only listened to. */
function applyOpened(state: State, method: string, params: unknown, opened: ThreadOpened, touched: Touched): void {
  const { thread } = opened
  const archived = state.rows.get(thread.id)?.archived ?? false
  setRow(state, thread, archived, touched)
  const asked = params as { excludeTurns?: boolean | null; initialTurnsPage?: unknown }
  if (opened.initialTurnsPage) openThread(state, thread, [...opened.initialTurnsPage.data].reverse(), opened.initialTurnsPage.nextCursor, touched)
  else if (method === 'thread/start' || !asked.excludeTurns) openThread(state, thread, thread.turns, null, touched)
  // The page was left out, because something happened while it was read; the turns are listed next, and none of the old ones counts.
  else editThread(state, thread.id, touched, known => { if (asked.initialTurnsPage) known.turnOrder = known.turnOrder.filter(id => id === known.runningTurn) })
  editThread(state, thread.id, touched, known => {
    known.settings = {
      cwd: opened.cwd, approvalPolicy: opened.approvalPolicy, model: opened.model, modelProvider: opened.modelProvider, effort: opened.reasoningEffort,
      activePermissionProfile: opened.activePermissionProfile, sandbox: opened.sandbox.type, mode: known.settings?.mode ?? null,
    }
  })
  // What still waits is asked again after this answer; what does not is over.
  if (!waits(thread)) closeAsks(state, ask => ask.threadId === thread.id, touched)
  touched.add(LIBRARY)
  touched.add(threadKey(thread.id))
}

function waits(thread: Thread): boolean {
  return typeof thread.status === 'object' && thread.status.type === 'active' && thread.status.activeFlags.length > 0
}
