// Messages that the server may not have yet. They are kept on the device until it says that it does, and sent again with the same id:
// the second of two alike starts nothing.
import type { UserInput } from '../protocol/codex.gen'
import { load, save } from './prefs.svelte'

export interface Unsent {
  clientId: string
  threadId: string
  input: UserInput[]
  mode: 'plan' | 'code' | null
  state: 'sending' | 'told' | 'failed'
  why: string | null
}

class Outbox {
  list = $state<Unsent[]>(load<Unsent[]>('outbox', []).map(one => ({ ...one, state: one.state === 'failed' ? 'failed' : 'sending' })))

  of(threadId: string): Unsent[] { return this.list.filter(one => one.threadId === threadId) }

  add(threadId: string, input: UserInput[], mode: Unsent['mode']): Unsent {
    const one: Unsent = { clientId: crypto.randomUUID(), threadId, input, mode, state: 'sending', why: null }
    this.list = [...this.list, one]
    this.#save()
    return one
  }

  set(clientId: string, patch: Partial<Unsent>): void {
    this.list = this.list.map(one => (one.clientId === clientId ? { ...one, ...patch } : one))
    this.#save()
  }

  /** The message stands in the transcript, or was given up. */
  drop(clientIds: string[]): void {
    if (!this.list.some(one => clientIds.includes(one.clientId))) return
    this.list = this.list.filter(one => !clientIds.includes(one.clientId))
    this.#save()
  }

  #save(): void {
    // Pictures are too large to keep on the device; a message with one is only kept while the page lives.
    save('outbox', this.list.filter(one => one.input.every(part => part.type !== 'image')))
  }
}

export const outbox = new Outbox()
