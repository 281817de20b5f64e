// Turns that a person asked to stop, until the server says that they have.
import { session } from '../state/session.svelte'
import { state } from '../state/store.svelte'

class Stopping {
  turns = $state<string[]>([])
  /** One Esc was pressed; a second one within this time stops. */
  armed = $state(false)
  #timer: ReturnType<typeof setTimeout> | undefined

  has(turnId: string): boolean { return this.turns.includes(turnId) }

  stop(threadId: string): void {
    const turnId = state.threads.get(threadId)?.runningTurn
    if (!turnId || this.has(turnId)) return
    this.turns = [...this.turns.slice(-20), turnId]
    void session.stop(threadId)
  }

  /** Esc: the first says so, the second stops. */
  press(threadId: string): void {
    if (!state.threads.get(threadId)?.runningTurn) return
    clearTimeout(this.#timer)
    if (this.armed) { this.armed = false; this.stop(threadId); return }
    this.armed = true
    this.#timer = setTimeout(() => { this.armed = false }, 800)
  }
}

export const stopping = new Stopping()
