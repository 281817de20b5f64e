// When a single key answers an ask. A key that was meant for something else answers nothing.
export interface Moment {
  /** Where the key went. */
  inTextField: boolean
  menuOpen: boolean
  composing: boolean
  /** Held with Ctrl, Alt or Meta. */
  modified: boolean
  /** The key repeats because it is held down. */
  repeated: boolean
  /** How long the ask's card has been in view; null where it is not. */
  visibleForMs: number | null
  /** Since a character was last typed anywhere on the page. */
  sinceTypedMs: number
}

export const VISIBLE_MS = 600
export const TYPED_MS = 400

export function keyCounts(moment: Moment): boolean {
  return !moment.inTextField && !moment.menuOpen && !moment.composing && !moment.modified && !moment.repeated
    && moment.visibleForMs !== null && moment.visibleForMs >= VISIBLE_MS && moment.sinceTypedMs >= TYPED_MS
}

/** The input method has the key: Enter ends a word and sends nothing. */
export function isComposing(event: KeyboardEvent): boolean {
  return event.isComposing || event.keyCode === 229
}

export function isTextField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  return target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || (target instanceof HTMLInputElement && target.type !== 'checkbox' && target.type !== 'radio')
}
