// The list of threads.
import type { Thread } from '../../protocol/codex.gen'
import type { Row, State } from '../model'
import { LIBRARY, threadKey, type Touched } from '../touched'
import { closeAsks } from './asks'

export function setRow(state: State, thread: Thread, archived: boolean, touched: Touched): void {
  if (thread.ephemeral) return
  const { turns: _, ...row } = thread
  state.rows.set(thread.id, { ...row, archived })
  touched.add(LIBRARY)
}

export function patchRow(state: State, id: string, patch: Partial<Row>, touched: Touched): void {
  const row = state.rows.get(id)
  if (!row) return
  state.rows.set(id, { ...row, ...patch })
  touched.add(LIBRARY)
  touched.add(threadKey(id))
}

export function listThreads(state: State, threads: Thread[], archived: boolean, touched: Touched): void {
  for (const thread of threads) setRow(state, thread, archived, touched)
  touched.add(LIBRARY)
}

export function closeThread(state: State, id: string, touched: Touched): void {
  state.rows.delete(id)
  state.threads.delete(id)
  closeAsks(state, ask => ask.threadId === id, touched)
  touched.add(LIBRARY)
  touched.add(threadKey(id))
}
