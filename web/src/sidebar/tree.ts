// The list of threads as groups: pinned, sections, then one for each directory, the newest first.
import { PINNED } from '../state/ids'
import type { Ask, Row } from '../state/model'

export interface Group { key: string; title: string; path: string | null; rows: Row[] }

export function groupsOf(rows: Row[]): Group[] {
  const live = rows.filter(row => !row.archived).sort((a, b) => when(b) - when(a))
  const sections = new Map<string, Group>()
  const places = new Map<string, Group>()
  for (const row of live) {
    if (row.section) {
      const { id, name } = row.section
      const group = sections.get(id) ?? { key: `section:${id}`, title: name, path: null, rows: [] }
      group.rows.push(row)
      sections.set(id, group)
    } else {
      const group = places.get(row.cwd) ?? { key: `cwd:${row.cwd}`, title: row.cwd.replace(/\/+$/, '').split('/').at(-1) || row.cwd, path: row.cwd, rows: [] }
      group.rows.push(row)
      places.set(row.cwd, group)
    }
  }
  const pinned = sections.get(PINNED)
  sections.delete(PINNED)
  return [...(pinned ? [pinned] : []), ...sections.values(), ...places.values()]
}

export const when = (row: Row) => row.recencyAt ?? row.updatedAt

export type Glyph = 'ask' | 'fail' | 'run' | 'new' | ''

/** One glyph, the worst first. */
export function glyphOf(row: Row, asks: Ask[], seen: number, open: boolean): { glyph: Glyph; asks: number; words: string } {
  const waiting = asks.filter(ask => ask.threadId === row.id && ask.state !== 'closed').length
  const { status } = row
  const type = typeof status === 'object' ? status.type : 'idle'
  const flagged = typeof status === 'object' && status.type === 'active' && status.activeFlags.length > 0
  if (waiting > 0 || flagged) return { glyph: 'ask', asks: Math.max(1, waiting), words: 'waits for you' }
  if (type === 'systemError') return { glyph: 'fail', asks: 0, words: 'failed' }
  if (type === 'active') return { glyph: 'run', asks: 0, words: 'running' }
  return !open && when(row) > seen && seen > 0 ? { glyph: 'new', asks: 0, words: 'unread' } : { glyph: '', asks: 0, words: '' }
}
