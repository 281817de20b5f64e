// What a command printed, as lines of coloured text. Colours, carriage return, erase and cursor moves up and down are drawn;
// titles, the clipboard, queries and all else of the terminal is dropped.

export interface Span { text: string; style: string }
export type Line = Span[]

interface Cell { char: string; style: string }

const LINES_MAX = 2000
const CSI = /^\u001b\[([0-9;:?<>=!]*)([ -/]*)([@-~])/
const OSC = /^\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?/

export function screen(output: string): Line[] {
  const drawn = new Screen()
  drawn.write(output)
  return drawn.lines()
}

class Screen {
  #rows: Cell[][] = [[]]
  #row = 0
  #column = 0
  #style = new Style()

  write(text: string): void {
    for (let i = 0; i < text.length;) {
      const char = text[i]!
      if (char === '\u001b') i += this.#escape(text.slice(i, i + 4096))
      else {
        if (char === '\n') this.#down(1, true)
        else if (char === '\r') this.#column = 0
        else if (char === '\b') this.#column = Math.max(0, this.#column - 1)
        else if (char === '\t') do this.#put(' '); while (this.#column % 8 !== 0)
        else if (char >= ' ') this.#put(char)
        i += 1
      }
    }
  }

  lines(): Line[] {
    const rows = this.#rows.at(-1)!.length === 0 ? this.#rows.slice(0, -1) : this.#rows
    return rows.map(row => {
      const spans: Span[] = []
      for (const cell of row) {
        const last = spans.at(-1)
        if (last && last.style === (cell?.style ?? '')) last.text += cell?.char ?? ' '
        else spans.push({ text: cell?.char ?? ' ', style: cell?.style ?? '' })
      }
      return spans
    })
  }

  #put(char: string): void {
    const row = this.#rows[this.#row]!
    while (row.length < this.#column) row.push({ char: ' ', style: '' })
    row[this.#column++] = { char, style: this.#style.name }
  }

  #down(n: number, home: boolean): void {
    this.#row += n
    if (home) this.#column = 0
    while (this.#rows.length <= this.#row) this.#rows.push([])
    if (this.#rows.length > LINES_MAX) {
      const over = this.#rows.length - LINES_MAX
      this.#rows.splice(0, over)
      this.#row = Math.max(0, this.#row - over)
    }
  }

  /** How many characters the sequence has. */
  #escape(text: string): number {
    const csi = CSI.exec(text)
    if (!csi) return OSC.exec(text)?.[0].length ?? Math.min(2, text.length)
    const n = Number.parseInt(csi[1]!, 10)
    const count = Math.min(Number.isNaN(n) ? 1 : Math.max(1, n), LINES_MAX)
    const row = this.#rows[this.#row]!
    switch (csi[3]) {
      case 'm': this.#style.set(csi[1]!); break
      case 'A': this.#row = Math.max(0, this.#row - count); break
      case 'B': this.#down(count, false); break
      case 'C': this.#column = Math.min(this.#column + count, 1000); break
      case 'D': this.#column = Math.max(0, this.#column - count); break
      case 'G': this.#column = Math.min(count, 1000) - 1; break
      case 'K':
        if (n === 1) row.fill({ char: ' ', style: '' }, 0, Math.min(this.#column + 1, row.length))
        else row.length = n === 2 ? 0 : Math.min(row.length, this.#column)
        break
      case 'J': if (n === 2 || n === 3) { this.#rows = [[]]; this.#row = 0; this.#column = 0 } else { row.length = Math.min(row.length, this.#column); this.#rows.length = this.#row + 1 } break
    }
    return csi[0].length
  }
}

/** Select Graphic Rendition, as the names of classes: `f3`, `b`, … */
class Style {
  name = ''
  #colour = ''
  #flags = new Set<string>()

  set(codes: string): void {
    const parts = codes.split(/[;:]/).map(code => (code === '' ? 0 : Number.parseInt(code, 10)))
    for (let i = 0; i < parts.length; i++) {
      const code = parts[i]!
      if (code === 0) { this.#colour = ''; this.#flags.clear() }
      else if (code === 1) this.#flags.add('bold')
      else if (code === 2) this.#flags.add('faint')
      else if (code === 3) this.#flags.add('ital')
      else if (code === 4) this.#flags.add('under')
      else if (code === 7) this.#flags.add('inv')
      else if (code === 22) { this.#flags.delete('bold'); this.#flags.delete('faint') }
      else if (code === 23) this.#flags.delete('ital')
      else if (code === 24) this.#flags.delete('under')
      else if (code === 27) this.#flags.delete('inv')
      else if (code >= 30 && code <= 37) this.#colour = `f${code - 30}`
      else if (code >= 90 && code <= 97) this.#colour = `f${code - 82}`
      else if (code === 39) this.#colour = ''
      else if (code === 38 || code === 48) {
        const kind = parts[i + 1]
        const colour = kind === 5 ? nearest256(parts[i + 2] ?? 0) : kind === 2 ? nearest(parts[i + 2] ?? 0, parts[i + 3] ?? 0, parts[i + 4] ?? 0) : ''
        if (code === 38) this.#colour = colour
        i += kind === 5 ? 2 : kind === 2 ? 4 : 0
      }
    }
    this.name = [this.#colour, ...this.#flags].filter(Boolean).join(' ')
  }
}

/** Our sixteen colours are readable on both grounds; every other is moved to the nearest of them. */
function nearest256(n: number): string {
  if (n < 16) return `f${n}`
  if (n >= 232) { const grey = 8 + (n - 232) * 10; return nearest(grey, grey, grey) }
  const level = (v: number) => (v === 0 ? 0 : 55 + v * 40)
  return nearest(level(Math.floor((n - 16) / 36)), level(Math.floor((n - 16) / 6) % 6), level((n - 16) % 6))
}

function nearest(r: number, g: number, b: number): string {
  const max = Math.max(r, g, b)
  if (max - Math.min(r, g, b) < 40) return max < 120 ? 'f0' : max < 200 ? 'f8' : ''
  const on = (v: number) => (v > max * 0.66 ? 1 : 0)
  return `f${on(r) + on(g) * 2 + on(b) * 4 + (max > 210 ? 8 : 0)}`
}
