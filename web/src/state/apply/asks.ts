// Requests of the server: what waits for a person, in any thread that is heard.
import type { Requests } from '../../protocol/codex.gen'
import type { Ask, AskBody, State } from '../model'
import { ASKS, LIBRARY, threadKey, type Touched } from '../touched'

const bodies: { [M in keyof Requests]: (params: Requests[M]) => AskBody } = {
  'item/commandExecution/requestApproval': params => ({ kind: 'command', params }),
  'item/fileChange/requestApproval': params => ({ kind: 'files', params }),
  'mcpServer/elicitation/request': params => ({ kind: 'mcp', params }),
  'item/tool/requestUserInput': params => ({ kind: 'questions', params }),
}

export function knowsRequest(method: string): boolean {
  return Object.hasOwn(bodies, method)
}

export function applyAsk(state: State, id: number, method: keyof Requests, params: unknown, touched: Touched): void {
  const body = bodies[method] as ((params: unknown) => AskBody) | undefined
  if (!body) return
  const { threadId, turnId, itemId, startedAtMs } = params as { threadId: string; turnId: string; itemId?: string; startedAtMs?: number }
  const known = state.asks.get(id)
  // Asked again after a reconnect. An answer of ours that did not arrive is forgotten: it is to be given once more.
  const ask: Ask = { ...body(params), id, threadId, turnId, itemId: itemId ?? null, openedAtMs: startedAtMs ?? known?.openedAtMs ?? 0, state: 'open', mine: null }
  state.asks.set(id, ask)
  touchAsk(ask, touched)
}

export function resolveAsk(state: State, id: number, next: Ask['state'], words: string | null, touched: Touched): void {
  const ask = state.asks.get(id)
  if (!ask || ask.state === 'closed') return
  const closed = { ...ask, state: next, mine: next === 'open' ? null : words ?? ask.mine }
  state.asks.set(id, closed)
  touchAsk(closed, touched)
}

export function closeAsks(state: State, which: (ask: Ask) => boolean, touched: Touched): void {
  for (const ask of [...state.asks.values()]) if (ask.state !== 'closed' && which(ask)) resolveAsk(state, ask.id, 'closed', null, touched)
}

function touchAsk(ask: Ask, touched: Touched): void {
  touched.add(ASKS)
  touched.add(LIBRARY)
  touched.add(threadKey(ask.threadId))
}
