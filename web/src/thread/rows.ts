// The rows of a transcript: items in their order, quiet work folded into one line, what waits in its place, and the end of each turn.
import type { Ask, Item, ThreadState, Turn } from '../state/model'

export type TranscriptRow = { key: string; turnId: string | null; first: boolean; last: boolean } & (
  | { type: 'item'; itemId: string }
  | { type: 'work'; itemIds: string[] }
  | { type: 'thought'; itemIds: string[] }
  | { type: 'ask'; askId: number }
  | { type: 'end' }
  | { type: 'working' }
  | { type: 'unsent'; clientId: string }
)
type Bare = TranscriptRow extends infer R ? (R extends unknown ? Omit<R, 'first' | 'last'> : never) : never

/** Tools that only look. */
const LOOKS = new Set(['read', 'glob', 'grep', 'list', 'ls', 'search', 'webFetch', 'fetch', 'skill', 'readMany', 'codeSearch'])

export function isQuiet(item: Item): boolean {
  switch (item.body.type) {
    case 'dynamicToolCall': return LOOKS.has(item.body.tool) && (item.live || item.body.status === 'completed')
    case 'webSearch': case 'imageView': return true
    default: return false
  }
}

/** Rows of turns that are over: they change no more, and a thread may have thousands. */
const settled = new WeakMap<Turn, TranscriptRow[]>()

export function rowsOf(thread: ThreadState, asks: Ask[], unsent: string[]): TranscriptRow[] {
  const asked = new Map<string, Ask[]>()
  for (const ask of asks) asked.set(ask.turnId, [...(asked.get(ask.turnId) ?? []), ask])
  const rows: TranscriptRow[] = []
  for (const turnId of thread.turnOrder) {
    const turn = thread.turns.get(turnId)
    if (!turn) continue
    const mine = asked.get(turnId)
    const known = mine ? undefined : settled.get(turn)
    const own = known ?? turnRows(thread, turn, mine ?? [])
    if (!known && !mine && turn.status !== 'inProgress') settled.set(turn, own)
    for (const row of own) rows.push(row)
  }
  for (const clientId of unsent) rows.push({ key: `unsent:${clientId}`, turnId: null, type: 'unsent', clientId, first: true, last: true })
  return rows
}

function turnRows(thread: ThreadState, turn: Turn, asks: Ask[]): TranscriptRow[] {
  const turnId = turn.id
  const rows: Bare[] = []
  const placed = new Set<number>()
  for (const itemId of turn.itemIds) {
    const item = thread.items.get(itemId)
    if (!item) continue
    const mine = asks.filter(ask => ask.itemId === itemId)
    const waits = mine.some(ask => ask.state !== 'closed')
    // A command that is asked for is shown by the question alone, until there is an answer.
    if (!(waits && item.live)) addItem(rows, item, turnId)
    for (const ask of mine) { rows.push({ key: `ask:${ask.id}`, turnId, type: 'ask', askId: ask.id }); placed.add(ask.id) }
  }
  for (const ask of asks) if (!placed.has(ask.id)) rows.push({ key: `ask:${ask.id}`, turnId, type: 'ask', askId: ask.id })
  rows.push(turn.status === 'inProgress' ? { key: `working:${turnId}`, turnId, type: 'working' } : { key: `end:${turnId}`, turnId, type: 'end' })
  return rows.map((row, i) => ({ ...row, first: i === 0, last: i >= rows.length - 2 }) as TranscriptRow)
}

function addItem(rows: Bare[], item: Item, turnId: string): void {
  const last = rows.at(-1)
  const fold = item.body.type === 'reasoning' ? 'thought' : isQuiet(item) ? 'work' : null
  // While thoughts come only their title is shown, in the working line; empty ones are never shown.
  if (fold === 'thought' && (item.live || !hasThought(item))) return
  if (fold === null) rows.push({ key: item.id, turnId, type: 'item', itemId: item.id })
  else if (last?.type === fold && last.turnId === turnId) last.itemIds.push(item.id)
  else rows.push({ key: `${fold}:${item.id}`, turnId, type: fold, itemIds: [item.id] })
}

function hasThought(item: Item): boolean {
  return item.body.type === 'reasoning' && [...item.body.summary, ...item.body.content].some(part => part.trim() !== '')
}

/** "Read 7 files, searched 3 times": what quiet work was, in one line. */
export function workTitle(items: Item[]): string {
  const counts = new Map<string, number>()
  for (const item of items) counts.set(workKind(item), (counts.get(workKind(item)) ?? 0) + 1)
  const words = [...counts].map(([kind, n]) => ({
    read: n === 1 ? 'read a file' : `read ${n} files`, search: n === 1 ? 'searched once' : `searched ${n} times`, web: n === 1 ? 'looked at the web' : `looked at the web ${n} times`,
    image: n === 1 ? 'looked at a picture' : `looked at ${n} pictures`, other: n === 1 ? 'used a tool' : `used ${n} tools`,
  })[kind] ?? kind).join(', ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

function workKind(item: Item): 'read' | 'search' | 'web' | 'image' | 'other' {
  const { body } = item
  if (body.type === 'webSearch') return 'web'
  if (body.type === 'imageView') return 'image'
  if (body.type !== 'dynamicToolCall') return 'other'
  if (body.tool === 'read' || body.tool === 'readMany') return 'read'
  if (body.tool === 'webFetch' || body.tool === 'fetch') return 'web'
  return ['glob', 'grep', 'search', 'list', 'ls', 'codeSearch'].includes(body.tool) ? 'search' : 'other'
}

/** One line for one look: what was read, or what was searched for. */
export function workLine(item: Item): { verb: string; what: string } {
  const { body } = item
  if (body.type === 'webSearch') return body.action?.type === 'openPage' ? { verb: 'Opened', what: body.query } : { verb: 'Searched the web for', what: body.query }
  if (body.type === 'imageView') return { verb: 'Looked at', what: body.path }
  if (body.type !== 'dynamicToolCall') return { verb: body.type, what: '' }
  const input = (body.arguments ?? {}) as Record<string, unknown>
  const what = input['filePath'] ?? input['path'] ?? input['pattern'] ?? input['query'] ?? input['url'] ?? input['skillName'] ?? input['name'] ?? ''
  const verb = { read: 'Read', readMany: 'Read', webFetch: 'Opened', fetch: 'Opened', skill: 'Loaded' }[body.tool] ?? (workKind(item) === 'search' ? 'Searched' : body.tool)
  return { verb, what: typeof what === 'string' ? what : JSON.stringify(what) }
}
