// Times, numbers and names as people read them.
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
const weekday = new Intl.DateTimeFormat(undefined, { weekday: 'short' })
const date = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' })
const full = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'medium' })
const number = new Intl.NumberFormat('en')

export const clockTime = (ms: number) => clock.format(ms)
export const exactTime = (ms: number) => full.format(ms)
export const count = (n: number) => number.format(n)

/** "now", "4 m", "2 h", then the weekday, then the date. */
export function ago(ms: number, nowMs: number): string {
  const minutes = Math.floor((nowMs - ms) / 60_000)
  if (minutes < 1) return 'now'
  if (minutes < 60) return `${minutes} m`
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h`
  return minutes < 7 * 24 * 60 ? weekday.format(ms) : date.format(ms)
}

/** 0:08, 1:12, 1:02:03. */
export function stopwatch(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000))
  const two = (n: number) => String(n).padStart(2, '0')
  return s < 3600 ? `${Math.floor(s / 60)}:${two(s % 60)}` : `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`
}

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`
  if (ms < 60_000) return `${Math.round(ms / 1000)} s`
  const minutes = Math.floor(ms / 60_000)
  return minutes < 60 ? `${minutes} min ${Math.round((ms % 60_000) / 1000)} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

export function tokens(n: number): string {
  if (n < 1000) return `${n}`
  if (n < 10_000) return `${(n / 1000).toFixed(1)}k`
  return n < 1_000_000 ? `${Math.round(n / 1000)}k` : `${(n / 1_000_000).toFixed(1)}M`
}

export function plural(n: number, one: string, many = `${one}s`): string { return `${count(n)} ${n === 1 ? one : many}` }

export const baseName = (path: string) => path.replace(/\/+$/, '').split('/').at(-1) || path

/** The home directory of common systems is written as ~. */
export const shortPath = (path: string) => path.replace(/^\/(?:home|Users)\/[^/]+(?=\/|$)/, '~')

export function relativeTo(path: string, cwd: string): string {
  return path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : shortPath(path)
}

/** The command as a person wrote it: a shell's own call around it is not theirs. */
export function bareCommand(command: string): string {
  const inner = /^\/bin\/(?:ba)?sh -l?c '([^]*)'$/.exec(command)?.[1]
  return inner === undefined ? command : inner.replaceAll(`'\\''`, `'`)
}

export const isMac = typeof navigator !== 'undefined' && /Mac|iPhone|iPad/.test(navigator.platform)
export const mod = isMac ? '⌘' : 'Ctrl '
