// What a turn changed: the server's diff of the turn, or what its items say where that was not told to this page.
import type { ThreadState, Turn } from '../state/model'
import { fileDiff, filesOf, type FileDiff } from '../text/diff'
import { relativeTo } from '../words/format'

/** So far back is looked for one. */
const TURNS_MAX = 40

/** The newest turn that changed something, and its files. */
export function changesOf(thread: ThreadState, cwd: string): { turn: Turn | null; files: FileDiff[] } {
  for (const id of thread.turnOrder.slice(-TURNS_MAX).reverse()) {
    const turn = thread.turns.get(id)
    if (!turn) continue
    const files = turn.diff !== null ? filesOf(turn.diff) : fromItems(thread, turn, cwd)
    if (files.length > 0) return { turn, files }
  }
  return { turn: null, files: [] }
}

function fromItems(thread: ThreadState, turn: Turn, cwd: string): FileDiff[] {
  const byPath = new Map<string, FileDiff>()
  for (const id of turn.itemIds) {
    const body = thread.items.get(id)?.body
    if (body?.type !== 'fileChange' || body.status !== 'completed') continue
    for (const change of body.changes) {
      const file = fileDiff(relativeTo(change.path, cwd), change.kind.type, change.diff)
      const before = byPath.get(file.path)
      byPath.set(file.path, before ? { ...file, hunks: [...before.hunks, ...file.hunks], added: before.added + file.added, removed: before.removed + file.removed } : file)
    }
  }
  return [...byPath.values()]
}
