// Short sentences at the foot of the page: what failed, or what was done and can be undone.
export interface Toast { id: number; text: string; tone: 'plain' | 'bad'; action?: { label: string; run(): void } }

class Toasts {
  list = $state<Toast[]>([])
  #next = 1

  say(text: string, action?: Toast['action']): void { this.#add({ text, tone: 'plain', ...(action && { action }) }, 6000) }
  fail(error: unknown): void { this.#add({ text: error instanceof Error ? error.message : String(error), tone: 'bad' }, 9000) }
  drop(id: number): void { this.list = this.list.filter(toast => toast.id !== id) }

  #add(toast: Omit<Toast, 'id'>, forMs: number): void {
    const id = this.#next++
    this.list = [...this.list.slice(-3), { ...toast, id }]
    setTimeout(() => this.drop(id), forMs)
  }
}

export const toasts = new Toasts()
