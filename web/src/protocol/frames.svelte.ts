// The log of frames, for people who build clients: a ring of the newest, kept only while somebody wants it.
export interface Frame { n: number; atMs: number; direction: 'in' | 'out'; method: string; text: string }

const FRAMES_MAX = 2000

class Frames {
  on = $state(false)
  /** Bumped once per batch by whoever shows the log. */
  list: Frame[] = []
  #n = 0

  keep(direction: Frame['direction'], text: string): void {
    if (!this.on) return
    const method = /"method":"([^"]+)"/.exec(text.slice(0, 200))?.[1] ?? 'answer'
    this.list.push({ n: this.#n++, atMs: Date.now(), direction, method, text: hideSecrets(method, text) })
    if (this.list.length > FRAMES_MAX * 1.2) this.list.splice(0, this.list.length - FRAMES_MAX)
  }

  clear(): void { this.list = [] }
}

/** A key that is typed goes to the server and nowhere else. */
export function hideSecrets(method: string, text: string): string {
  return method === 'account/login/start' ? text.replace(/("apiKey":")(?:[^"\\]|\\.)*"/g, '$1…"') : text
}

export const frames = new Frames()
