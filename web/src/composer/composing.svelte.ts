// What other parts of the page ask of the message box: to take the focus, to take a text, to edit what was said.
export interface Edit { threadId: string; turnId: string; text: string }

class Composing {
  editing = $state<Edit | null>(null)
  #focus: (() => void) | null = null
  #take: ((text: string) => void) | null = null

  attach(focus: () => void, take: (text: string) => void): () => void {
    this.#focus = focus
    this.#take = take
    return () => { if (this.#focus === focus) { this.#focus = null; this.#take = null } }
  }

  focus(): void { this.#focus?.() }
  take(text: string): void { this.#take?.(text); this.#focus?.() }

  edit(threadId: string, turnId: string, text: string): void {
    this.editing = { threadId, turnId, text }
    this.take(text)
  }
}

export const composing = new Composing()
