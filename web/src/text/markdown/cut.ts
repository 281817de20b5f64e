// Where a text that grows at its end can be cut, so that what lies before is rendered once and never again.
// A cut lies before a line that follows a blank one, outside of fences, where no list can go on.

const FENCE = /^ {0,3}(`{3,}|~{3,})/
const LIST = /^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)/
/** Begins like a marker of a list and may become one with the next character. */
const MAYBE_LIST = /^ {0,3}(?:[-*+]|\d{1,9}[.)]?)$/

/** Offsets at which `text` can be cut, from `from` on, which is such an offset itself. */
export function cuts(text: string, from = 0): number[] {
  const found: number[] = []
  let fence: string | null = null
  let inList = false
  let blockBegins = true
  let blank = false
  for (let at = from; at < text.length;) {
    const end = text.indexOf('\n', at)
    const line = text.slice(at, end === -1 ? text.length : end)
    const complete = end !== -1
    if (fence !== null) {
      const close = FENCE.exec(line)
      if (close && close[1]!.startsWith(fence) && line.trim() === close[1]) fence = null
      blank = false
    } else if (line.trim() === '') blank = true
    else {
      const indented = /^\s/.test(line)
      const list = LIST.test(line)
      if (blank && !blockBegins && !indented && !(inList && list) && (complete || !MAYBE_LIST.test(line))) {
        found.push(at)
        blockBegins = true
      }
      if (blockBegins) { inList = list; blockBegins = false }
      const opens = FENCE.exec(line)
      // The info string of a fence of backticks has none; otherwise it is code in a line.
      if (opens && !(opens[1]![0] === '`' && line.slice(line.indexOf(opens[1]!) + opens[1]!.length).includes('`'))) fence = opens[1]!
      blank = false
    }
    if (!complete) break
    at = end + 1
  }
  return found
}

/** A paragraph longer than this is drawn in parts: laying out one of a hundred thousand characters anew for each word would hold up the page. */
const PARAGRAPH_MAX = 8192
const PLAIN = /^[\p{L}\p{N}"'(“‘]/u

/** Where such a paragraph is parted: behind a blank, outside of code and of bold words. Null where it is short, or no plain paragraph. */
function partOf(text: string, start: number): number | null {
  if (text.length - start <= PARAGRAPH_MAX || !PLAIN.test(text.slice(start, start + 2)) || LIST.test(text.slice(start, start + 12))) return null
  const head = text.slice(start, start + PARAGRAPH_MAX)
  if (head.includes('\n|') || head.includes('```')) return null
  for (let at = head.lastIndexOf(' '); at > PARAGRAPH_MAX / 2; at = head.lastIndexOf(' ', at - 1)) {
    const before = head.slice(0, at)
    if ((before.split('`').length - 1) % 2 === 0 && (before.split('**').length - 1) % 2 === 0 && !/\[[^\]]*$/.test(before)) return start + at + 1
  }
  return null
}

/** A text that grows: settled pieces, and a tail that may still change. */
export class Growing {
  #starts: number[] = [0]
  #text = ''

  /** Pieces by where they begin. A text that does not continue the last one begins anew. */
  grow(text: string): { start: number; source: string }[] {
    if (!text.startsWith(this.#text.length < 4096 ? this.#text : this.#text.slice(-1))) this.#starts = [0]
    if (text.length < this.#text.length) this.#starts = [0]
    this.#text = text
    this.#starts.push(...cuts(text, this.#starts.at(-1)))
    for (let part = partOf(text, this.#starts.at(-1)!); part !== null; part = partOf(text, part)) this.#starts.push(part)
    return this.#starts.map((start, i) => ({ start, source: text.slice(start, this.#starts[i + 1] ?? text.length) }))
  }
}
