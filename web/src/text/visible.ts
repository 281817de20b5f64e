// Characters that hide what a text says, shown by their number: control, bidirectional and invisible ones.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb]/g

export function visible(text: string): string {
  return text.replace(HIDDEN, char => `⟨U+${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`)
}

/** Names of files and threads: on one line, and not endless. */
export function visibleName(text: string): string {
  const shown = visible(text.replace(/\s+/g, ' '))
  return shown.length > 200 ? `${shown.slice(0, 199)}…` : shown
}
