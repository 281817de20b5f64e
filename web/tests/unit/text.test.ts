import { describe, expect, it } from 'vitest'
import { lex } from '../../src/text/markdown/lex'
import { Growing, cuts } from '../../src/text/markdown/cut'
import { heal } from '../../src/text/markdown/heal'
import { fileDiff, filesOf } from '../../src/text/diff'
import { highlight } from '../../src/text/highlight'
import { safeHref, safePicture } from '../../src/text/links'
import { boldTitle, withoutPlan } from '../../src/text/reasoning'
import { screen } from '../../src/text/screen'
import { visible } from '../../src/text/visible'

const samples = [
  'One.\n\nTwo *em* and `code`.\n\n# Head\n\nThree.',
  '- a\n- b\n\n- c\n\n  more of c\n\nAfter.\n\n1. x\n2. y\n\n3. z\n\nEnd',
  'Before\n\n```rust\nfn main() {\n\n    println!();\n}\n```\n\nAfter\n\n~~~\n```\n\nstill\n~~~\n\nEnd',
  '| a | b |\n|---|---|\n| 1 | 2 |\n\n> quote\n> more\n\n> another\n\n---\n\nx',
  '    indented\n\n    still\n\npara\n\n* one\n* two\n\npara',
  'a\n\n````md\n```js\n\n```\n````\n\nb\n\n`` ` ``\n\nc ```inline``` d\n\ne',
  'Windows\n\n\n\nmany blanks\n\n\n1) list\n\n2) list\n\ntext',
]

const shape = (source: string) => JSON.stringify(lex(source).filter(token => token.type !== 'space').map(token => ({ ...token, raw: token.raw.trimEnd() })))

describe('cut', () => {
  it('of a text gives the blocks of the whole', () => {
    for (const sample of samples) {
      const at = [0, ...cuts(sample)]
      const pieces = at.map((start, i) => sample.slice(start, at[i + 1]))
      expect(pieces.join('')).toBe(sample)
      const parts = pieces.flatMap(piece => JSON.parse(shape(piece)) as unknown[])
      expect(JSON.stringify(parts)).toBe(shape(sample))
    }
  })

  it('of a text that grows by any steps settles as that of the whole', () => {
    for (const sample of samples) for (const step of [1, 2, 3, 7]) {
      const growing = new Growing()
      let last: { start: number; source: string }[] = []
      for (let end = step; end < sample.length + step; end += step) last = growing.grow(sample.slice(0, end))
      expect(last.map(piece => piece.start)).toEqual([0, ...cuts(sample)])
    }
  })

  it('never takes a settled piece back', () => {
    for (const sample of samples) {
      const growing = new Growing()
      let settled: string[] = []
      for (let end = 1; end <= sample.length; end++) {
        const now = growing.grow(sample.slice(0, end)).slice(0, -1).map(piece => piece.source)
        expect(now.slice(0, settled.length)).toEqual(settled)
        settled = now
      }
    }
  })
})

describe('a paragraph without an end', () => {
  const words = Array.from({ length: 20_000 }, (_, i) => `w${i}`).join(' ')
  it('is drawn in parts, the same ones however it came, and none is lost', () => {
    const whole = new Growing().grow(words)
    expect(whole.length).toBeGreaterThan(10)
    expect(Math.max(...whole.map(piece => piece.source.length))).toBeLessThanOrEqual(8192)
    expect(whole.map(piece => piece.source).join('')).toBe(words)
    const growing = new Growing()
    let last = whole
    for (let end = 997; end < words.length + 997; end += 997) last = growing.grow(words.slice(0, end))
    expect(last).toEqual(whole)
  })
})

describe('heal', () => {
  it('closes what is open', () => {
    expect(heal('a **bold')).toBe('a **bold**')
    expect(heal('a `co')).toBe('a `co`')
    expect(heal('see [the page](https://exa')).toBe('see the page')
    expect(heal('```\n**x')).toBe('```\n**x')
    expect(heal('plain')).toBe('plain')
  })
})

describe('screen', () => {
  const text = (output: string) => screen(output).map(line => line.map(span => span.text).join(''))
  it('draws colours, carriage return, erase and cursor moves', () => {
    expect(screen('\u001b[31mred\u001b[0m plain')).toEqual([[{ text: 'red', style: 'f1' }, { text: ' plain', style: '' }]])
    expect(text('10%\r50%\r100%\n')).toEqual(['100%'])
    expect(text('abcdef\r\u001b[Kxy')).toEqual(['xy'])
    expect(text('one\ntwo\n\u001b[2Aone!\n\u001b[1Bend')).toEqual(['one!', 'two', 'end'])
    expect(screen('\u001b[38;5;196mx\u001b[38;2;0;200;0my')[0]!.map(span => span.style)).toEqual(['f9', 'f2'])
  })
  it('drops titles, the clipboard and queries', () => {
    expect(text('\u001b]0;title\u0007a\u001b]52;c;ZXZpbA==\u0007b\u001b[6nc\u001bPq\u001b\\d')).toEqual(['abcd'])
  })
  it('stands any bytes', () => {
    let seed = 7
    const random = () => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) / 0x7fffffff
    for (let round = 0; round < 200; round++) {
      const bytes = Array.from({ length: 200 }, () => (random() < 0.3 ? '\u001b[' : random() < 0.2 ? '\n' : String.fromCharCode(Math.floor(random() * 128)))).join('')
      expect(screen(bytes).length).toBeLessThanOrEqual(2000)
    }
  })
})

describe('diff', () => {
  it('reads hunks with their numbers and marks the words that differ', () => {
    const file = fileDiff('a.rs', 'update', '@@ -1,3 +1,3 @@ fn x\n same\n-let a = old(1);\n+let a = new(1);\n end\n')
    expect(file).toMatchObject({ added: 1, removed: 1 })
    expect(file.hunks[0]!.lines.map(line => [line.kind, line.old, line.new, line.mark])).toEqual([['same', 1, 1, null], ['del', 2, null, [8, 11]], ['add', null, 2, [8, 11]], ['same', 3, 3, null]])
  })
  it('takes a new file’s content as added lines', () => {
    expect(fileDiff('n', 'add', 'a\nb\n')).toMatchObject({ added: 2, removed: 0, hunks: [{ lines: [{ text: 'a', new: 1 }, { text: 'b', new: 2 }] }] })
    expect(fileDiff('n', 'add', '').hunks).toEqual([])
  })
  it('reads several files as git prints them', () => {
    const files = filesOf('diff --git a/x.txt b/x.txt\nnew file mode 100644\n--- /dev/null\n+++ b/x.txt\n@@ -0,0 +1 @@\n+hi\ndiff --git a/y b/y\ndeleted file mode 100644\n--- a/y\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n')
    expect(files.map(file => [file.path, file.kind, file.added, file.removed])).toEqual([['x.txt', 'add', 1, 0], ['y', 'delete', 0, 1]])
  })
})

describe('what is shown', () => {
  it('has no hidden characters', () => {
    expect(visible('rm \u202e-rf\u200b x\u0007')).toBe('rm ⟨U+202E⟩-rf⟨U+200B⟩ x⟨U+0007⟩')
    expect(visible('a\tb\nc')).toBe('a\tb\nc')
  })
  it('links only to the web and to mail, and shows only pictures that came along', () => {
    expect(safeHref('javascript:alert(1)')).toBeNull()
    expect(safeHref('data:text/html,x')).toBeNull()
    expect(safeHref('/relative')).toBeNull()
    expect(safeHref('https://example.com')).toBe('https://example.com/')
    expect(safePicture('data:image/svg+xml;base64,AAAA')).toBeNull()
    expect(safePicture('https://example.com/a.png')).toBeNull()
    expect(safePicture('data:image/png;base64,AAAA')).toBe('data:image/png;base64,AAAA')
  })
  it('of thoughts is the newest bold line, and of a plan’s message what is not the plan', () => {
    expect(boldTitle(['**First**\n\nx', 'y **Second** z'])).toBe('Second')
    expect(boldTitle(['none'])).toBeNull()
    expect(withoutPlan('Here:\n<proposed_plan>\n# P\n</proposed_plan>\nDone')).toBe('Here:\nDone')
    expect(withoutPlan('Here: <proposed_pl')).toBe('Here: ')
    expect(withoutPlan('Here: <proposed_plan># half')).toBe('Here: ')
  })
  it('of code is all of it, coloured', () => {
    for (const [language, code] of [['rust', 'fn main() { let s = "x"; // c\n}'], ['python', 'def f(x):\n  return """a"""'], ['json', '{"a": [1, true]}'], ['sh', 'echo "a" # b'], ['ts', 'const a = `x`']] as const) {
      expect(highlight(code, language)!.map(token => token.text).join('')).toBe(code)
    }
    expect(highlight('fn x', 'rust')![0]).toEqual({ text: 'fn', kind: 'k' })
    expect(highlight('x', 'klingon')).toBeNull()
  })
})
