// The browser's notifications: something waits, or a long turn ended, while the page is not looked at. They carry the thread's name, nothing it says.
import { goThread } from './router.svelte'
import { prefs } from './state/prefs.svelte'
import { session } from './state/session.svelte'
import { state } from './state/store.svelte'
import { toasts } from './state/toasts.svelte'
import { titleOf } from './thread/actions'

const LONG_MS = 30_000

export async function toggleNotifications(): Promise<void> {
  if (prefs.notify) { prefs.setNotify(false); return }
  if (!('Notification' in window)) { toasts.fail('This browser has no notifications for pages like this one.'); return }
  const answer = await Notification.requestPermission()
  if (answer === 'granted') { prefs.setNotify(true); toasts.say('You are told when something waits for you.') }
  else toasts.fail('The browser does not allow notifications for this page.')
}

function show(threadId: string, words: string): void {
  if (!prefs.notify || !document.hidden || !('Notification' in window) || Notification.permission !== 'granted') return
  const note = new Notification(titleOf(state.rows.get(threadId)), { body: words, tag: threadId })
  note.onclick = () => { window.focus(); goThread(threadId); note.close() }
}

export function startNotifying(): void {
  session.onNotice((method, params) => {
    if (method === 'thread/status/changed') {
      const { threadId, status } = params as { threadId: string; status: { type: string; activeFlags?: string[] } }
      if (status.activeFlags?.length) show(threadId, 'It waits for you.')
    }
    if (method === 'turn/completed') {
      const { threadId, turn } = params as { threadId: string; turn: { status: string; durationMs: number | null } }
      if (turn.status === 'failed') show(threadId, 'It failed.')
      else if ((turn.durationMs ?? 0) > LONG_MS) show(threadId, 'It is done.')
    }
  })
}
