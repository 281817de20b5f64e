// What this device keeps: theme, what is open, what was read, drafts and unsent messages. Nothing else of a thread is stored here.
const PREFIX = 'dragoman.'

export function load<T>(key: string, otherwise: T): T {
  try {
    const text = localStorage.getItem(PREFIX + key)
    return text === null ? otherwise : JSON.parse(text) as T
  } catch {
    return otherwise
  }
}

export function save(key: string, value: unknown): void {
  try {
    if (value === null || value === undefined) localStorage.removeItem(PREFIX + key)
    else localStorage.setItem(PREFIX + key, JSON.stringify(value))
  } catch { /* full or closed to us: the page works without */ }
}

export type Theme = 'system' | 'dark' | 'light'

class Prefs {
  theme = $state<Theme>(readTheme())
  panelOpen = $state(load('panel', true))
  sidebarOpen = $state(load('sidebar', true))
  letters = $state(load('letters', true))
  notify = $state(load('notify', false))
  folded = $state<Record<string, boolean>>(load('folded', {}))
  seen = $state<Record<string, number>>(load('seen', {}))
  lastThread: string | null = load('last', null)

  setTheme(theme: Theme): void {
    this.theme = theme
    // Plain text, not JSON: boot-theme.js reads it before anything else runs.
    try { theme === 'system' ? localStorage.removeItem('dragoman.theme') : localStorage.setItem('dragoman.theme', theme) } catch { /* as above */ }
    const dark = theme === 'dark' || (theme === 'system' && matchMedia('(prefers-color-scheme: dark)').matches)
    document.documentElement.dataset['theme'] = dark ? 'dark' : 'light'
  }

  toggleTheme(): void { this.setTheme(document.documentElement.dataset['theme'] === 'dark' ? 'light' : 'dark') }
  setPanel(open: boolean): void { this.panelOpen = open; save('panel', open) }
  setSidebar(open: boolean): void { this.sidebarOpen = open; save('sidebar', open) }
  setLetters(on: boolean): void { this.letters = on; save('letters', on) }
  setNotify(on: boolean): void { this.notify = on; save('notify', on) }
  setFolded(key: string, folded: boolean): void { this.folded[key] = folded; save('folded', this.folded) }
  markSeen(threadId: string, at: number): void {
    if ((this.seen[threadId] ?? 0) >= at) return
    this.seen[threadId] = at
    save('seen', this.seen)
  }
  setLast(threadId: string | null): void { this.lastThread = threadId; save('last', threadId) }
}

function readTheme(): Theme {
  try {
    const theme = localStorage.getItem('dragoman.theme')
    return theme === 'dark' || theme === 'light' ? theme : 'system'
  } catch {
    return 'system'
  }
}

export const prefs = new Prefs()
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { if (prefs.theme === 'system') prefs.setTheme('system') })
