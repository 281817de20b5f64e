import { describe, expect, it } from 'vitest'
import { keyCounts, type Moment } from '../../src/asks/guard'

const calm: Moment = { inTextField: false, menuOpen: false, composing: false, modified: false, repeated: false, visibleForMs: 700, sinceTypedMs: 1000 }

describe('a key that answers', () => {
  it('counts when the card was there long enough and nothing else can have been meant', () => {
    expect(keyCounts(calm)).toBe(true)
  })
  const doubts: Partial<Moment>[] = [{ inTextField: true }, { menuOpen: true }, { composing: true }, { modified: true }, { repeated: true }, { visibleForMs: null }, { visibleForMs: 599 }, { sinceTypedMs: 399 }]
  for (const doubt of doubts) it(`does not count with ${JSON.stringify(doubt)}`, () => { expect(keyCounts({ ...calm, ...doubt })).toBe(false) })
})
