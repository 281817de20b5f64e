// The page's one state, and how components hear that a part of it changed: `watch(key)` inside of a template or an effect.
import { emptyState, type Ask, type Item, type Row, type ThreadState } from './model'
import { ASKS, LIBRARY, itemKey, threadKey, type Touched } from './touched'

class Signal { n = $state(0) }

export const state = emptyState()
const signals = new Map<string, Signal>()

/** What is made inside of a `$derived` is not tracked by it; a root of its own makes it everybody's. */
function newSignal(): Signal {
  let signal!: Signal
  $effect.root(() => { signal = new Signal() })
  return signal
}

export function watch(key: string): void {
  let signal = signals.get(key)
  if (!signal) signals.set(key, signal = newSignal())
  void signal.n
}

export function tell(touched: Touched): void {
  for (const key of touched) {
    const signal = signals.get(key)
    if (signal) signal.n += 1
  }
}

export function threadOf(id: string | null): ThreadState | undefined {
  if (id === null) return undefined
  watch(threadKey(id))
  return state.threads.get(id)
}

export function rowOf(id: string | null): Row | undefined {
  if (id === null) return undefined
  watch(LIBRARY)
  return state.rows.get(id)
}

export function itemOf(threadId: string, id: string): Item | undefined {
  watch(itemKey(id))
  return state.threads.get(threadId)?.items.get(id)
}

export function openAsks(): Ask[] {
  watch(ASKS)
  return [...state.asks.values()].filter(ask => ask.state !== 'closed')
}

export function askOf(id: number): Ask | undefined {
  watch(ASKS)
  return state.asks.get(id)
}

export function allRows(): Row[] {
  watch(LIBRARY)
  return [...state.rows.values()]
}
