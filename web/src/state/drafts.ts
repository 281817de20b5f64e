// What is typed and not yet sent, by thread. Written a moment after the last key and when the page goes.
import { load, save } from './prefs.svelte'

const WAIT_MS = 300
const pending = new Map<string, string>()
let timer: ReturnType<typeof setTimeout> | undefined

export function draftOf(place: string): string { return pending.get(place) ?? load(`draft.${place}`, '') }

export function keepDraft(place: string, text: string): void {
  pending.set(place, text)
  clearTimeout(timer)
  timer = setTimeout(flushDrafts, WAIT_MS)
}

export function flushDrafts(): void {
  clearTimeout(timer)
  for (const [place, text] of pending) save(`draft.${place}`, text === '' ? null : text)
  pending.clear()
}

addEventListener('pagehide', flushDrafts)
