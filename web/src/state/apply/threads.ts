// Threads that are heard, and their turns.
import type { CodexThreadSettings, Thread, Turn as WireTurn } from '../../protocol/codex.gen'
import { emptyThread, emptyTurn, type Settings, type State, type ThreadState, type Turn, type TurnStatusWord } from '../model'
import { itemKey, threadKey, type Touched } from '../touched'
import { knownBody } from './items'

/** A thread of more items than this may forget its oldest turns while its reader is at the end; they can be read again. */
export const ITEMS_MAX = 1500

export function editThread(state: State, id: string, touched: Touched, edit: (thread: ThreadState) => void): ThreadState {
  const thread = { ...(state.threads.get(id) ?? emptyThread(id)) }
  edit(thread)
  state.threads.set(id, thread)
  touched.add(threadKey(id))
  return thread
}

export function editTurn(state: State, threadId: string, turnId: string, touched: Touched, edit: (turn: Turn) => void): void {
  editThread(state, threadId, touched, thread => {
    const known = thread.turns.get(turnId)
    if (!known && !turnId) return
    const turn = { ...(known ?? emptyTurn(turnId)) }
    edit(turn)
    thread.turns.set(turnId, turn)
    if (!known) thread.turnOrder = [...thread.turnOrder, turnId]
  })
}

/** The thread's newest turns, oldest first, as one moment has them. What was known of it is replaced. */
export function openThread(state: State, wire: Thread, turns: WireTurn[], olderCursor: string | null, touched: Touched): void {
  const before = state.threads.get(wire.id)
  editThread(state, wire.id, touched, thread => {
    Object.assign(thread, { ...emptyThread(wire.id), usage: before?.usage ?? null, settings: before?.settings ?? null, loaded: 'tail', olderCursor })
  })
  for (const turn of turns) addTurn(state, wire.id, turn, before, touched)
  editThread(state, wire.id, touched, thread => { thread.turnOrder = turns.map(turn => turn.id) })
}

/** Older turns, newest first as the server pages them. */
export function prependTurns(state: State, threadId: string, newestFirst: WireTurn[], nextCursor: string | null, touched: Touched): void {
  const known = state.threads.get(threadId)
  if (!known) return
  const fresh = [...newestFirst].reverse()
  for (const turn of fresh) addTurn(state, threadId, turn, known, touched)
  editThread(state, threadId, touched, thread => {
    const ids = fresh.map(turn => turn.id)
    const listed = new Set(ids)
    thread.turnOrder = [...ids, ...thread.turnOrder.filter(id => !listed.has(id))]
    thread.olderCursor = nextCursor
    thread.loaded = 'tail'
    thread.stale = false
  })
}

function addTurn(state: State, threadId: string, wire: WireTurn, before: ThreadState | undefined, touched: Touched): void {
  const status = wire.status as TurnStatusWord
  editThread(state, threadId, touched, thread => {
    const known = before?.turns.get(wire.id)
    const turn: Turn = {
      ...(known ?? emptyTurn(wire.id)), status, error: wire.error, durationMs: wire.durationMs,
      startedAtMs: wire.startedAt === null ? known?.startedAtMs ?? null : wire.startedAt * 1000, itemIds: wire.items.map(item => item.id),
    }
    for (const item of wire.items) {
      const orphan = thread.orphans.get(item.id)
      const seen = before?.items.get(item.id)
      const running = status === 'inProgress' && itemRuns(item)
      thread.items.set(item.id, {
        id: item.id, turnId: wire.id, body: withOrphan(knownBody(item), running ? orphan : undefined), live: running,
        startedAtMs: seen?.startedAtMs ?? null, endedAtMs: seen?.endedAtMs ?? null, progress: seen?.progress ?? null,
        waitsForInput: false, processId: seen?.processId ?? null, outputCut: false, replaced: false,
      })
      thread.orphans.delete(item.id)
      touched.add(itemKey(item.id))
    }
    thread.turns.set(wire.id, turn)
    if (status === 'inProgress') thread.runningTurn = wire.id
  })
}

/** What the page has already told of deltas that came before it: the longest end of the text that they begin with. */
function withOrphan<B extends { type: string }>(body: B, orphan: string | undefined): B {
  if (!orphan || !('text' in body)) return body
  const text = body.text as string
  for (let n = Math.min(text.length, orphan.length); n >= 0; n--) if (text.endsWith(orphan.slice(0, n))) return { ...body, text: text + orphan.slice(n) }
  return body
}

/** In the page of a running turn nothing says which item is complete: those with a status do, and texts may yet grow. */
function itemRuns(item: { type: string; status?: string }): boolean {
  if (item.status !== undefined) return item.status === 'inProgress'
  return item.type === 'agentMessage' || item.type === 'reasoning' || item.type === 'plan'
}

export function startTurn(state: State, threadId: string, wire: WireTurn, atMs: number | null, touched: Touched): void {
  const tokens = state.threads.get(threadId)?.usage?.total.totalTokens ?? 0
  editTurn(state, threadId, wire.id, touched, turn => {
    turn.status = 'inProgress'
    turn.startedAtMs = atMs ?? (wire.startedAt === null ? null : wire.startedAt * 1000)
    turn.tokensBefore = tokens
  })
  editThread(state, threadId, touched, thread => {
    thread.runningTurn = wire.id
  })
}

/** Only whole turns go, and never the last two: paging begins again at the newest of those that went. */
export function forgetOldest(thread: ThreadState): void {
  let dropped = 0
  while (thread.items.size > ITEMS_MAX * 0.8 && dropped < thread.turnOrder.length - 2) {
    const turn = thread.turns.get(thread.turnOrder[dropped] ?? '')
    for (const id of turn?.itemIds ?? []) thread.items.delete(id)
    if (turn) thread.turns.delete(turn.id)
    dropped += 1
  }
  if (dropped > 0) {
    thread.turnOrder = thread.turnOrder.slice(dropped)
    thread.olderCursor = FROM_THE_TAIL
  }
}

/** Not a cursor of the server's: the next page is read from the tail on until it meets what is known. */
export const FROM_THE_TAIL = 'from-the-tail'

export function endTurn(state: State, threadId: string, wire: WireTurn, touched: Touched): void {
  editTurn(state, threadId, wire.id, touched, turn => {
    turn.status = wire.status as TurnStatusWord
    turn.error = wire.error
    turn.durationMs = wire.durationMs
    turn.retry = null
  })
  editThread(state, threadId, touched, thread => {
    if (thread.runningTurn === wire.id) thread.runningTurn = null
    // One that is only listened to keeps nothing of turns that are over.
    if (thread.loaded === 'no') {
      for (const id of thread.turns.get(wire.id)?.itemIds ?? []) thread.items.delete(id)
      thread.turns.delete(wire.id)
      thread.turnOrder = thread.turnOrder.filter(id => id !== wire.id)
      thread.orphans = new Map()
    }
    for (const id of thread.turns.get(wire.id)?.itemIds ?? []) {
      const item = thread.items.get(id)
      // A command in the background goes on after its turn; texts do not.
      if (!item?.live || item.body.type === 'commandExecution') continue
      thread.items.set(id, { ...item, live: false })
      touched.add(itemKey(id))
    }
  })
}

export function settingsOf(wire: CodexThreadSettings): Settings {
  return {
    cwd: wire.cwd, approvalPolicy: wire.approvalPolicy, model: wire.model, modelProvider: wire.modelProvider, effort: wire.effort,
    activePermissionProfile: wire.activePermissionProfile, sandbox: wire.sandboxPolicy.type, mode: wire.collaborationMode.mode === 'plan' ? 'plan' : 'code',
  }
}
