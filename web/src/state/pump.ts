// One batch per frame of the screen: whatever the socket brings is queued, and applied before the next paint.
import { apply, type Input } from './apply'
import type { State } from './model'
import type { Touched } from './touched'

/** A batch that works longer than this leaves the rest to the next frame of the screen. */
const BUDGET_MS = 4
/** A hidden tab has no frames of the screen. */
const HIDDEN_MS = 250

export interface Schedule {
  now(): number
  next(run: () => void): void
}

export const screenSchedule: Schedule = {
  now: () => performance.now(),
  next: run => {
    if (document.hidden) setTimeout(run, HIDDEN_MS)
    else {
      // A tab that is hidden before its frame comes would wait for ever: whichever is first runs, once.
      let done = false
      const once = () => { if (!done) { done = true; run() } }
      requestAnimationFrame(once)
      setTimeout(once, HIDDEN_MS)
    }
  },
}

export class Pump {
  #queue: { input: Input; then: (() => void) | undefined }[] = []
  #head = 0
  #planned = false

  constructor(private state: State, private tell: (touched: Touched) => void, private schedule: Schedule) {}

  push(input: Input, then?: () => void): void {
    this.#queue.push({ input, then })
    if (this.#planned) return
    this.#planned = true
    this.schedule.next(() => this.#run())
  }

  #run(): void {
    const touched: Touched = new Set()
    const after: (() => void)[] = []
    const until = this.schedule.now() + BUDGET_MS
    let n = 0
    while (this.#head < this.#queue.length) {
      const { input, then } = this.#queue[this.#head++]!
      apply(this.state, input, touched)
      if (then) after.push(then)
      if (++n % 64 === 0 && this.schedule.now() > until) break
    }
    if (this.#head === this.#queue.length) {
      this.#queue = []
      this.#head = 0
      this.#planned = false
    } else this.schedule.next(() => this.#run())
    this.tell(touched)
    for (const then of after) then()
  }
}
