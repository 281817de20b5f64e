// Rules of the page that a reader of the code would otherwise have to watch over.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'

const web = fileURLToPath(new URL('../../', import.meta.url))
const filesIn = (path: string): string[] => readdirSync(path).flatMap(name => { const full = join(path, name); return statSync(full).isDirectory() ? filesIn(full) : [full] })
const sources = filesIn(join(web, 'src')).filter(path => !path.endsWith('.gen.ts'))

describe('sources', () => {
  it('put no markup of others into the page, and no style or script where the policy forbids them', () => {
    for (const path of sources) {
      const text = readFileSync(path, 'utf8')
      for (const pattern of [/\{@html/, /innerHTML|outerHTML|insertAdjacentHTML|document\.write/, /\beval\(|new Function\(/, /\sstyle="/, /\son\w+="/]) expect(`${path}: ${pattern.exec(text)?.[0] ?? ''}`).toBe(`${path}: `)
    }
  })

  it('have types that are current', () => {
    execFileSync(process.execPath, [join(web, 'scripts/types.mjs')])
  })
})

describe('colours', () => {
  const css = readFileSync(join(web, 'src/ui/tokens.css'), 'utf8')
  const tokens = (theme: string) => Object.fromEntries([...css.matchAll(new RegExp(`\\[data-theme=${theme}\\]\\{([^}]*)\\}`, 'g'))].flatMap(block => [...block[1]!.matchAll(/--([\w-]+):(#[0-9A-F]{6})/gi)].map(match => [match[1]!, match[2]!])))
  const light = (hex: string) => [1, 3, 5].map(i => Number.parseInt(hex.slice(i, i + 2), 16) / 255).map(v => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i]!, 0)
  const contrast = (a: string, b: string) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p) as [number, number]; return (x + 0.05) / (y + 0.05) }
  for (const theme of ['dark', 'light']) it(`of ${theme} can be read on every ground`, () => {
    const t = tokens(theme)
    const grounds = ['bg-0', 'bg-1', 'bg-2', 'bg-3', 'bg-4', 'term-bg']
    for (const ground of grounds) {
      expect(contrast(t['text-1']!, t[ground]!)).toBeGreaterThanOrEqual(10)
      expect(contrast(t['text-2']!, t[ground]!)).toBeGreaterThanOrEqual(6)
      expect(contrast(t['text-3']!, t[ground]!)).toBeGreaterThanOrEqual(4.5)
      for (const pigment of ['lapis', 'saffron', 'coral', 'jade', 'turquoise', 'plum']) expect(contrast(t[pigment]!, t[ground]!), `${pigment} on ${ground}`).toBeGreaterThanOrEqual(4.5)
    }
    for (const pigment of ['lapis', 'saffron', 'coral', 'jade', 'turquoise', 'plum']) expect(contrast(t[pigment]!, t[`${pigment}-tint`]!)).toBeGreaterThanOrEqual(4.5)
    for (let i = 0; i < 16; i++) expect(contrast(t[`term-${i}`]!, t['term-bg']!), `term-${i}`).toBeGreaterThanOrEqual(4.5)
  })
})

const dist = join(web, 'dist')
describe.skipIf(!existsSync(join(dist, 'index.html')))('the build', () => {
  const html = () => readFileSync(join(dist, 'index.html'), 'utf8')
  it('is made from these sources', () => {
    expect(readFileSync(join(dist, 'source-hash'), 'utf8')).toBe(execFileSync(process.execPath, [join(web, 'scripts/source-hash.mjs')], { encoding: 'utf8' }))
  })
  it('loads at most 100 kB at first, and is at most 1.5 MB in all', () => {
    const first = ['index.html', 'boot-theme.js', ...[...html().matchAll(/(?:src|href)="\.\/(assets\/[^"]+)"/g)].map(match => match[1]!)].map(name => readFileSync(join(dist, name)))
    const sum = (pack: (data: Buffer) => Buffer) => first.reduce((total, data) => total + pack(data).length, 0)
    expect(sum(data => brotliCompressSync(data))).toBeLessThanOrEqual(100_000)
    expect(sum(data => gzipSync(data, { level: 9 }))).toBeLessThanOrEqual(100_000)
    expect(filesIn(dist).reduce((total, path) => total + statSync(path).size, 0)).toBeLessThanOrEqual(1_500_000)
  })
  it('has no inline script or style, no address that is not relative, and no source maps', () => {
    expect(html()).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/)
    expect(html()).not.toMatch(/(?:src|href)="(?!\.\/)/)
    expect(filesIn(dist).filter(path => path.endsWith('.map'))).toEqual([])
    for (const path of filesIn(dist).filter(one => one.endsWith('.js'))) expect(readFileSync(path, 'utf8')).not.toMatch(/sourceMappingURL/)
  })
})
