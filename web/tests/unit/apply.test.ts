import { describe, expect, it } from 'vitest'
import { emptyState } from '../../src/state/model'
import { apply } from '../../src/state/apply'
import { fold, stories, story } from './story'

describe('every recorded story', () => {
  for (const { name, inputs, reads } of stories()) {
    it(`${name}: what was told live is what is read back`, () => {
      const state = fold(inputs)
      expect([...state.unknown.keys()].filter(method => !known.includes(method))).toEqual([])
      const last = reads.at(-1)
      if (!last || last.thread.turns.length === 0) return
      const before = fold(inputs.slice(0, last.after))
      const thread = before.threads.get(last.thread.id)
      // Taken back, or only paged through: the page would read the turns again.
      if (!thread || thread.stale) return
      const told = thread.turnOrder.map(id => thread.turns.get(id)!.itemIds.map(item => thread.items.get(item)!).filter(item => !item.replaced).map(item => comparable(item.body)))
      const read = last.thread.turns.map(turn => turn.items.map(comparable))
      expect(told).toEqual(read)
    })

    it(`${name}: turns that are over have nothing that waits or grows`, () => {
      const state = fold(inputs)
      for (const ask of state.asks.values()) {
        const turn = state.threads.get(ask.threadId)?.turns.get(ask.turnId)
        if (turn && turn.status !== 'inProgress') expect(ask.state).toBe('closed')
      }
      for (const thread of state.threads.values()) for (const item of thread.items.values()) {
        if (thread.turns.get(item.turnId)?.status !== 'inProgress' && item.body.type !== 'commandExecution') expect(item.live).toBe(false)
      }
    })
  }
})

/** Notices that feed settings and searches, which ask anew when they come. */
const known = ['account/updated', 'account/login/completed', 'mcpServer/oauthLogin/completed', 'fuzzyFileSearch/sessionUpdated', 'fuzzyFileSearch/sessionCompleted']

/** What history leaves out of an item on purpose: how long it took, and what a command in the background printed after its call. */
function comparable(body: unknown): unknown {
  const { durationMs: _, source: __, ...rest } = body as { durationMs?: unknown; source?: unknown; type: string; status?: string }
  return rest
}

describe('items', () => {
  it('grow by deltas and are replaced by what is complete', () => {
    const { inputs } = story('plain-answer')
    const cut = inputs.findIndex(input => input.kind === 'notice' && input.method === 'item/completed' && JSON.stringify(input.params).includes('agentMessage'))
    const half = fold(inputs.slice(0, cut))
    const texts = [...[...half.threads.values()][0]!.items.values()].filter(item => item.body.type === 'agentMessage')
    expect(texts).toHaveLength(1)
    expect(texts[0]).toMatchObject({ live: true, body: { text: 'The capital of France is Paris.' } })
  })

  it('of kinds that nobody knows are kept as they came', () => {
    const state = emptyState()
    apply(state, { kind: 'notice', method: 'item/completed', emittedAtMs: 1, params: { threadId: 't', turnId: 'u', completedAtMs: 1, item: { type: 'hologram', id: 'i', shape: 7 } } }, new Set())
    expect(state.threads.get('t')!.items.get('i')!.body).toEqual({ type: 'unknown', id: 'i', json: { type: 'hologram', id: 'i', shape: 7 } })
  })

  it('touch only themselves when they grow', () => {
    const state = fold(story('plain-answer').inputs.slice(0, 12))
    const thread = [...state.threads.values()][0]!
    const item = [...thread.items.values()].find(one => one.live)!
    const touched = new Set<string>()
    apply(state, { kind: 'notice', method: 'item/agentMessage/delta', emittedAtMs: null, params: { threadId: thread.id, turnId: item.turnId, itemId: item.id, delta: 'x' } }, touched)
    expect([...touched]).toEqual([`i:${item.id}`, 'e:item/agentMessage/delta'])
  })
})

describe('the list', () => {
  it('forgets a thread that is gone, and all that was known of it', () => {
    const state = fold(story('approved-command').inputs)
    const ids = [...state.rows.keys()]
    apply(state, { kind: 'gone', threadIds: ids }, new Set())
    expect(state.rows.size).toBe(0)
    expect(state.threads.size).toBe(0)
  })
})

describe('asks', () => {
  it('wait until they are resolved, and keep what this page answered', () => {
    const { inputs } = story('approved-command')
    const at = inputs.findIndex(input => input.kind === 'request')
    const state = fold(inputs.slice(0, at + 1))
    expect(state.asks.get(1)).toMatchObject({ kind: 'command', state: 'open' })
    apply(state, { kind: 'answering', askId: 1, words: 'Allowed once by you' }, new Set())
    expect(state.asks.get(1)).toMatchObject({ state: 'answering' })
    fold(inputs.slice(at + 1), state)
    expect(state.asks.get(1)).toMatchObject({ state: 'closed', mine: 'Allowed once by you' })
  })

  it('are open again when they are asked again, as after a crash of the server', () => {
    const { inputs } = story('killed-while-asking')
    const second = inputs.map((input, i) => (input.kind === 'request' ? i : -1)).filter(i => i >= 0)[1]!
    const state = fold(inputs.slice(0, second))
    apply(state, { kind: 'answering', askId: 1, words: 'Allowed once by you' }, new Set())
    fold(inputs.slice(second, second + 1), state)
    expect(state.asks.get(1)).toMatchObject({ state: 'open', mine: null })
  })
})
