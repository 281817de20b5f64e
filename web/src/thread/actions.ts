// What can be done with a thread, once: buttons, keys and the palette call these.
import { goThread, router } from '../router.svelte'
import { keepDraft } from '../state/drafts'
import { PINNED, session } from '../state/session.svelte'
import { state } from '../state/store.svelte'
import { toasts } from '../state/toasts.svelte'
import type { Row } from '../state/model'

export const APPROVED = 'Approved. Go ahead.'

export function approvePlan(threadId: string): void {
  session.say(threadId, [{ type: 'text', text: APPROVED }], 'code')
}

async function forked(params: Parameters<typeof session.fork>[0]): Promise<string | null> {
  try {
    return (await session.fork(params)).id
  } catch (error) {
    toasts.fail(error)
    return null
  }
}

export async function approvePlanInFork(threadId: string, turnId: string): Promise<void> {
  const id = await forked({ threadId, lastTurnId: turnId })
  if (id === null) return
  goThread(id)
  approvePlan(id)
}

export async function forkThread(threadId: string, lastTurnId: string | null = null): Promise<void> {
  const id = await forked({ threadId, ...(lastTurnId !== null && { lastTurnId }) })
  if (id !== null) goThread(id)
}

/** A new thread with what was before a message, and the message as its draft. */
export async function forkBefore(threadId: string, turnId: string, text: string): Promise<void> {
  const id = await forked({ threadId, beforeTurnId: turnId })
  if (id === null) return
  keepDraft(id, text)
  goThread(id)
}

export const rename = (threadId: string, name: string) => session.run('thread/name/set', { threadId, name })

export async function archive(row: Row): Promise<void> {
  if (!await session.run(row.archived ? 'thread/unarchive' : 'thread/archive', { threadId: row.id })) return
  if (row.archived) return
  if (router.route.name === 'thread' && router.route.id === row.id) router.go({ name: 'new', cwd: null })
  toasts.say('Archived.', { label: 'Undo', run: () => { void session.run('thread/unarchive', { threadId: row.id }) } })
}

export async function pin(row: Row): Promise<void> {
  const sectionId = row.section?.id === PINNED ? null : PINNED
  if (await session.run('thread/section/move', { threadId: row.id, sectionId })) await session.relist()
}

export async function remove(threadId: string): Promise<void> {
  if (!await session.run('thread/delete', { threadId })) return
  if (router.route.name === 'thread' && router.route.id === threadId) router.go({ name: 'new', cwd: null })
  toasts.say('Deleted for good.')
}

export const compact = (threadId: string) => session.run('thread/compact/start', { threadId })

/** Made here from what the server keeps, and saved as a file. */
export async function exportThread(threadId: string, format: 'markdown' | 'json'): Promise<void> {
  try {
    const { thread } = await session.call('thread/read', { threadId, includeTurns: true })
    const { markdownOf } = await import('./export')
    const text = format === 'json' ? JSON.stringify(thread, null, 2) : markdownOf(thread)
    const name = (thread.name ?? 'thread').replace(/[^\p{L}\p{N} _-]+/gu, '').trim().slice(0, 60) || 'thread'
    const url = URL.createObjectURL(new Blob([text], { type: format === 'json' ? 'application/json' : 'text/markdown' }))
    const link = document.createElement('a')
    link.href = url
    link.download = `${name}.${format === 'json' ? 'json' : 'md'}`
    link.click()
    setTimeout(() => URL.revokeObjectURL(url), 10_000)
  } catch (error) {
    toasts.fail(error)
  }
}

export function titleOf(row: { name: string | null; preview: string } | undefined): string {
  return row?.name || row?.preview || 'New thread'
}

export const isPinned = (row: Row) => row.section?.id === PINNED

/** The last turn's plan, if nothing was said after it. */
export function planStanding(threadId: string, itemId: string): 'writing' | 'proposed' | 'approved' | 'superseded' {
  const thread = state.threads.get(threadId)
  const item = thread?.items.get(itemId)
  if (!thread || !item) return 'superseded'
  if (item.live) return 'writing'
  const at = thread.turnOrder.indexOf(item.turnId)
  const next = thread.turns.get(thread.turnOrder[at + 1] ?? '')
  if (!next) return thread.turns.get(item.turnId)?.status === 'inProgress' ? 'writing' : 'proposed'
  const first = thread.items.get(next.itemIds[0] ?? '')?.body
  const said = first?.type === 'userMessage' ? first.content.map(part => (part.type === 'text' ? part.text : '')).join('') : ''
  return said === APPROVED ? 'approved' : 'superseded'
}
