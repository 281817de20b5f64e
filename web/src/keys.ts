// The keys of the page. Single letters count only outside of text fields and menus, and can be switched off.
import { allow, deny, scopesOf } from './asks/answers'
import { isComposing, isTextField, keyCounts } from './asks/guard'
import { visibleForMs } from './asks/inview'
import { composing } from './composer/composing.svelte'
import { layout } from './layout.svelte'
import { goThread, router } from './router.svelte'
import { prefs } from './state/prefs.svelte'
import { session } from './state/session.svelte'
import { state } from './state/store.svelte'
import { archive, forkThread, pin } from './thread/actions'
import { renaming } from './thread/renaming.svelte'
import { stopping } from './thread/stopping.svelte'
import { transcripts } from './thread/transcripts.svelte'
import { menus } from './ui/menus'

let typedAt = -Infinity
let leader = 0

const openId = () => (router.route.name === 'thread' ? router.route.id : null)
const openRow = () => state.rows.get(openId() ?? '')
const waiting = () => [...state.asks.values()].filter(ask => ask.state === 'open').sort((a, b) => a.openedAtMs - b.openedAtMs)

/** The next ask after the one that has the focus: of this thread first, then of others. */
function nextAsk(by: number): void {
  const mine = waiting().filter(ask => ask.threadId === openId())
  const list = mine.length > 0 || router.route.name === 'waiting' ? (mine.length > 0 ? mine : waiting()) : waiting()
  if (list.length === 0) return
  const focused = Number(document.activeElement?.closest<HTMLElement>('[data-ask]')?.dataset['ask'] ?? -1)
  const at = list.findIndex(ask => ask.id === focused)
  if (at >= 0 && list.length === 1) { composing.focus(); return }
  const ask = list[(at + by + list.length) % list.length]!
  if (router.route.name === 'waiting' || ask.threadId === openId()) {
    if (router.route.name === 'thread') transcripts.showAsk(ask.id)
    document.getElementById(`ask-${ask.id}`)?.focus()
  } else goThread(ask.threadId)
}

export function onKey(event: KeyboardEvent): void {
  const mod = event.metaKey || event.ctrlKey
  if (mod && !event.altKey && modKey(event)) { event.preventDefault(); return }
  const field = isTextField(event.target)
  if (event.key === 'Escape' && !isComposing(event) && menus.open === 0) { escape(event); return }
  if (field && event.key.length === 1) typedAt = performance.now()
  if (field || mod || event.altKey || menus.open > 0 || isComposing(event)) return
  if (askKey(event) || !prefs.letters || event.repeat) return
  if (letter(event)) event.preventDefault()
}

function modKey(event: KeyboardEvent): boolean {
  switch (event.key.toLowerCase()) {
    case 'k': layout.palette = layout.palette === null ? '' : null; return true
    case 'j': nextAsk(event.shiftKey ? -1 : 1); return true
    case 'b': prefs.setSidebar(!prefs.sidebarOpen); return true
    // Pressed twice, the browser's own.
    case 'f': if (openId() === null || layout.find || event.shiftKey) return false; layout.find = true; return true
    case '.': { const id = openId(); if (id) toggleMode(id); return id !== null }
    default: return false
  }
}

function toggleMode(threadId: string): void {
  const plan = state.threads.get(threadId)?.settings?.mode === 'plan'
  void session.run('thread/settings/update', { threadId, collaborationMode: { mode: plan ? 'default' : 'plan' } })
}

function escape(event: KeyboardEvent): void {
  if (layout.navOpen || layout.panelOpen) { layout.navOpen = false; layout.panelOpen = false; return }
  const id = openId()
  if (id !== null && state.threads.get(id)?.runningTurn) { stopping.press(id); return }
  if (isTextField(event.target)) { (event.target as HTMLElement).blur(); transcripts.focus() }
}

/** y, a, n: only for a card that the person can have read, and never for a key that was meant for something else. */
function askKey(event: KeyboardEvent): boolean {
  const key = event.key.toLowerCase()
  if (key !== 'y' && key !== 'a' && key !== 'n') return false
  const focused = Number(document.activeElement?.closest<HTMLElement>('[data-ask]')?.dataset['ask'] ?? -1)
  const list = waiting().filter(ask => ask.kind !== 'questions' && (ask.threadId === openId() || router.route.name === 'waiting') && visibleForMs(ask.id) !== null)
  const ask = list.find(one => one.id === focused) ?? list[0]
  if (!ask || event.shiftKey) return false
  const counts = keyCounts({
    inTextField: false, menuOpen: menus.open > 0, composing: isComposing(event), modified: false, repeated: event.repeat,
    visibleForMs: visibleForMs(ask.id), sinceTypedMs: performance.now() - typedAt,
  })
  if (!counts || (key === 'a' && !scopesOf(ask).includes('thread'))) return true
  event.preventDefault()
  if (key === 'n') deny(ask)
  else allow(ask, key === 'a' ? 'thread' : 'once')
  transcripts.focus()
  return true
}

function letter(event: KeyboardEvent): boolean {
  if (leader > 0 && performance.now() - leader < 1200) { leader = 0; if (afterG(event.key)) return true }
  const id = openId()
  switch (event.key) {
    case '?': layout.help = true; return true
    case 'c': router.go({ name: 'new', cwd: openRow()?.cwd ?? null }); return true
    case '/': case 'i': composing.focus(); return true
    case 'f': layout.palette = '@'; return true
    case 't': prefs.toggleTheme(); return true
    case 'G': transcripts.toEnd(); return true
    case 'g': leader = performance.now(); return true
    case 'e': if (id) renaming.threadId = id; return id !== null
    case 'F': if (id) void forkThread(id); return id !== null
    case 'p': { const row = openRow(); if (row) void pin(row); return row !== undefined }
    case '#': { const row = openRow(); if (row) void archive(row); return row !== undefined }
    default: return false
  }
}

function afterG(key: string): boolean {
  switch (key) {
    case 'g': transcripts.toTop(); return true
    case 'w': router.go({ name: 'waiting' }); return true
    case 's': router.go({ name: 'settings', section: 'appearance' }); return true
    case 't': layout.palette = '#'; return true
    default: return false
  }
}
