// Items of a turn: they begin, grow by deltas, and end; what `item/completed` says replaces what grew.
import type { ThreadItem } from '../../protocol/codex.gen'
import type { Body, Item, State } from '../model'
import { itemKey, type Touched } from '../touched'
import { editThread, editTurn } from './threads'

/** Of a command's output so much is kept in the page, its end. */
export const OUTPUT_MAX = 256 * 1024

const known = new Set<ThreadItem['type']>([
  'userMessage', 'agentMessage', 'plan', 'reasoning', 'commandExecution', 'fileChange', 'mcpToolCall', 'dynamicToolCall', 'webSearch', 'imageView',
  'collabAgentToolCall', 'contextCompaction', 'enteredReviewMode', 'exitedReviewMode',
])

export function knownBody(item: ThreadItem): Body {
  return known.has(item.type) ? item : { type: 'unknown', id: (item as { id: string }).id, json: item }
}

export function startItem(state: State, threadId: string, turnId: string, wire: ThreadItem, atMs: number, touched: Touched): void {
  const before = state.threads.get(threadId)?.items.get(wire.id)
  if (before && !before.live) return
  setItem(state, threadId, {
    id: wire.id, turnId, body: knownBody(wire), live: true, startedAtMs: before?.startedAtMs ?? atMs, endedAtMs: null,
    progress: null, waitsForInput: false, processId: null, outputCut: false, replaced: false,
  }, touched)
  // Something came of it: what was in trouble is not any more.
  if (state.threads.get(threadId)?.turns.get(turnId)?.retry) editTurn(state, threadId, turnId, touched, turn => { turn.retry = null })
}

export function completeItem(state: State, threadId: string, turnId: string, wire: ThreadItem, atMs: number, touched: Touched): void {
  const before = state.threads.get(threadId)?.items.get(wire.id)
  setItem(state, threadId, {
    id: wire.id, turnId, body: knownBody(wire), live: false, startedAtMs: before?.startedAtMs ?? atMs, endedAtMs: atMs,
    progress: before?.progress ?? null, waitsForInput: false, processId: null, outputCut: false, replaced: false,
  }, touched)
}

function setItem(state: State, threadId: string, item: Item, touched: Touched): void {
  const turn = state.threads.get(threadId)?.turns.get(item.turnId)
  if (!turn?.itemIds.includes(item.id)) editTurn(state, threadId, item.turnId, touched, turn => { turn.itemIds = [...turn.itemIds, item.id] })
  editThread(state, threadId, touched, thread => thread.items.set(item.id, item))
  touched.add(itemKey(item.id))
}

/** Growth changes the item alone, never the thread: only its own card is drawn again. */
export function growItem(state: State, { threadId, itemId, delta, summaryIndex }: { threadId: string; itemId: string; delta: string; summaryIndex?: number | null }, touched: Touched): void {
  const thread = state.threads.get(threadId)
  const item = thread?.items.get(itemId)
  if (!thread) return
  if (!item) {
    thread.orphans.set(itemId, (thread.orphans.get(itemId) ?? '') + delta)
    return
  }
  if (!item.live) return
  thread.items.set(itemId, grown(item, delta, summaryIndex ?? 0))
  touched.add(itemKey(itemId))
}

function grown(item: Item, delta: string, part: number): Item {
  const { body } = item
  switch (body.type) {
    case 'agentMessage': case 'plan': return { ...item, body: { ...body, text: body.text + delta } }
    case 'reasoning': {
      const summary = [...body.summary]
      summary[part] = (summary[part] ?? '') + delta
      return { ...item, body: { ...body, summary } }
    }
    case 'commandExecution': {
      const output = (body.aggregatedOutput ?? '') + delta
      const cut = output.length > OUTPUT_MAX * 2
      return { ...item, waitsForInput: false, outputCut: item.outputCut || cut, body: { ...body, aggregatedOutput: cut ? output.slice(-OUTPUT_MAX) : output } }
    }
    default: return item
  }
}

export function patchItem(state: State, threadId: string, itemId: string, touched: Touched, patch: Partial<Item>): void {
  const item = state.threads.get(threadId)?.items.get(itemId)
  if (!item) return
  state.threads.get(threadId)?.items.set(itemId, { ...item, ...patch })
  touched.add(itemKey(itemId))
}

/** An attempt failed and is made again: what it had said by then is replaced by what comes. */
export function replaceAttempt(state: State, threadId: string, turnId: string, touched: Touched): void {
  const thread = state.threads.get(threadId)
  for (const id of [...(thread?.turns.get(turnId)?.itemIds ?? [])].reverse()) {
    const item = thread?.items.get(id)
    if (!item || !(item.body.type === 'agentMessage' || item.body.type === 'reasoning' || item.body.type === 'plan')) return
    patchItem(state, threadId, id, touched, { replaced: true, live: false })
  }
}
