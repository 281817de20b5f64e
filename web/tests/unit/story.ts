// The recorded frames of the scenarios, as inputs of `apply`.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import type { Thread } from '../../src/protocol/codex.gen'
import { apply, type Input } from '../../src/state/apply'
import { emptyState, type State } from '../../src/state/model'

const scenarios = new URL('../../../scenarios/', import.meta.url)

export interface Story { name: string; inputs: Input[]; reads: { after: number; thread: Thread }[] }

export function stories(): Story[] {
  return readdirSync(scenarios).sort()
    .filter(name => existsSync(new URL(`${name}/codex.transcript`, scenarios)))
    .map(readStory)
}

export function story(name: string): Story { return readStory(name) }

/** What the first connection sees. */
function readStory(name: string): Story {
  const inputs: Input[] = []
  const reads: Story['reads'] = []
  const asked = new Map<unknown, { method: string; params: unknown }>()
  for (const line of readFileSync(new URL(`${name}/codex.transcript`, scenarios), 'utf8').split('\n')) {
    const match = /^a?([<>]) (\{.*)$/.exec(line)
    if (!match) continue
    const frame = JSON.parse(match[2]!) as { id?: number; method?: string; params?: unknown; result?: unknown; error?: unknown; emittedAtMs?: number }
    if (match[1] === '>') {
      if (frame.method && frame.id !== undefined) asked.set(frame.id, { method: frame.method, params: frame.params })
    } else if (frame.method && frame.id !== undefined) inputs.push({ kind: 'request', id: frame.id, method: frame.method, params: frame.params })
    else if (frame.method) inputs.push({ kind: 'notice', method: frame.method, params: frame.params, emittedAtMs: frame.emittedAtMs ?? null })
    else if (!frame.error) {
      const call = asked.get(frame.id)
      if (!call) continue
      inputs.push({ kind: 'answer', ...call, result: frame.result })
      if (call.method === 'thread/read') reads.push({ after: inputs.length, thread: (frame.result as { thread: Thread }).thread })
    }
  }
  return { name, inputs, reads }
}

export function fold(inputs: Input[], state: State = emptyState()): State {
  for (const input of inputs) apply(state, input, new Set())
  return state
}
