// Answers to what waits, in the words of the protocol and in those of the receipt.
import type { Ask } from '../state/model'
import { session } from '../state/session.svelte'
import { state } from '../state/store.svelte'

export type Scope = 'once' | 'thread' | 'workspace'

/** How long a yes may hold, for this kind of ask. */
export function scopesOf(ask: Ask): Scope[] {
  if (ask.kind === 'mcp') return ['once', 'thread', 'workspace']
  if (ask.kind === 'questions') return []
  return ask.params.availableDecisions.includes('acceptForSession') ? ['once', 'thread'] : ['once']
}

const longer: Record<Scope, string> = { once: 'once', thread: 'for this thread', workspace: 'for this workspace' }

export function allow(ask: Ask, scope: Scope): void {
  const words = `Allowed ${longer[scope]} by you`
  if (ask.kind === 'mcp') session.answer(ask, { action: 'accept', content: {}, ...(scope !== 'once' && { _meta: { persist: scope === 'thread' ? 'session' : 'always' } }) }, words)
  else session.answer(ask, { decision: scope === 'once' ? 'accept' : 'acceptForSession' }, words)
}

/** With a reason, the agent is told it as well: it reads it at its next step. */
export function deny(ask: Ask, reason = ''): void {
  session.answer(ask, ask.kind === 'mcp' ? { action: 'decline' } : { decision: 'decline' }, reason ? `Denied by you: “${reason}”` : 'Denied by you')
  if (reason && state.threads.get(ask.threadId)?.runningTurn) session.say(ask.threadId, [{ type: 'text', text: reason }])
}

export function denyAndStop(ask: Ask): void {
  session.answer(ask, ask.kind === 'mcp' ? { action: 'cancel' } : { decision: 'cancel' }, 'Denied by you, and the turn was stopped')
}

export function answerQuestions(ask: Ask, answers: Record<string, string[]>): void {
  const given = Object.entries(answers).filter(([, list]) => list.length > 0)
  const words = given.length === 0 ? 'You skipped this' : `You answered: ${given.map(([, list]) => list.join(', ')).join(' · ')}`
  session.answer(ask, { answers: Object.fromEntries(given.map(([id, list]) => [id, { answers: list }])) }, words)
}

/** One line for lists and bars. */
export function askLine(ask: Ask): string {
  switch (ask.kind) {
    case 'command': return ask.params.commandActions?.[0]?.command ?? ask.params.command ?? 'a command'
    case 'files': return 'a change of files'
    case 'mcp': return ask.params.message.split('\n')[0] ?? ask.params.serverName
    case 'questions': return ask.params.questions[0]?.question ?? 'a question'
  }
}
