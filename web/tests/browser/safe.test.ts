import AxeSource from 'axe-core'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { begin, rest, say, shots, tab, world, type Tab, type World } from './world'

let of: World
const tabs: Tab[] = []
beforeAll(async () => { of = await world() })
afterAll(async () => { for (const one of tabs) await one.close(); await of?.end() })
async function open(options: Parameters<typeof tab>[1] = {}, path = ''): Promise<Tab> { const one = await tab(of, options, path); tabs.push(one); return one }

describe('what others wrote', () => {
  it('does nothing: markup, scripts, addresses, names', async () => {
    const { page, troubles } = await open()
    await begin(page, 'echo <img src=x onerror="window.bad=1"><script>window.bad=1</script> [go](javascript:window.bad=1) ![p](https://evil.invalid/p.png) [ok](https://example.com/a)')
    await rest(page)
    expect(await page.evaluate(() => (window as { bad?: number }).bad)).toBeUndefined()
    expect(await page.locator('.prose script, .prose img').count()).toBe(0)
    expect(await page.locator('.prose a').evaluateAll(links => links.map(link => link.getAttribute('href')))).toEqual(['https://evil.invalid/p.png', 'https://example.com/a'])
    expect(await page.locator('.prose a').last().getAttribute('rel')).toContain('noopener')
    await page.getByText('(example.com)').waitFor()
    await say(page, 'tool bash {"command": "printf \'\\\\033]0;title\\\\007\\\\033[31mred\\\\033[0m <b>x</b>\\\\n\'"}')
    await page.locator('[data-row=item]', { hasText: 'printf' }).first().waitFor()
    await rest(page, 2)
    expect(troubles).toEqual([])
  })
})

/** The turn is over, or waits for a person. */
const settled = (page: Tab['page']) => page.waitForFunction(() => document.querySelector('.askcard') !== null || Number(document.querySelector('[role=log]')?.getAttribute('data-ended')) > 0)

const scenes: [name: string, hash: string, words: string | null, options: Parameters<typeof tab>[1]][] = [
  ['first-run-light', '#/new', null, { colorScheme: 'light', viewport: { width: 1389, height: 868 } }],
  ['approval-dark', '', 'show me an approval', { viewport: { width: 1389, height: 868 } }],
  ['question-light', '', 'show me a question', { colorScheme: 'light', viewport: { width: 1389, height: 868 } }],
  ['edit-dark', '', 'show me a file edit', { viewport: { width: 1389, height: 868 } }],
  ['error-light', '', 'show me an error', { colorScheme: 'light', viewport: { width: 1389, height: 868 } }],
  ['phone-approval-dark', '', 'show me an approval', { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }],
  ['phone-first-run-light', '#/new', null, { colorScheme: 'light', viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }],
  ['tablet-light', '', 'show me reasoning', { colorScheme: 'light', viewport: { width: 820, height: 1000 } }],
  ['waiting-dark', '#/waiting', null, { viewport: { width: 1389, height: 868 } }],
  ['settings-permissions-light', '#/settings/permissions', null, { colorScheme: 'light', viewport: { width: 1389, height: 868 } }],
  ['settings-models-dark', '#/settings/models', null, { viewport: { width: 1389, height: 868 } }],
  ['settings-frames-dark', '#/settings/frames', null, { viewport: { width: 1389, height: 868 } }],
]

describe('every scene', () => {
  for (const [name, hash, words, options] of scenes) {
    it(`${name}: has no finding of axe, and no error`, async () => {
      const { page, troubles, close } = await tab(of, { ...options, bypassCSP: true }, hash)
      await page.locator('.conn[data-state=live]').waitFor({ state: 'attached' })
      if (words !== null) { await begin(page, words); await settled(page) }
      await page.waitForFunction(() => document.getAnimations().every(one => one.playState !== 'running' || one.effect?.getTiming().iterations === Infinity))
      await page.screenshot({ path: join(shots, `${name}.png`) })
      await page.addScriptTag({ content: AxeSource.source })
      const found = await page.evaluate(async () => {
        const { violations } = await (window as unknown as { axe: { run(): Promise<{ violations: { id: string; impact: string; nodes: { target: unknown; html: string }[] }[] }> } }).axe.run()
        return violations.map(one => `${one.impact} ${one.id}: ${one.nodes.slice(0, 3).map(node => node.html.slice(0, 160)).join(' | ')}`)
      })
      expect(found).toEqual([])
      expect(troubles).toEqual([])
      await close()
    })
  }
})

describe('a phone', () => {
  it('opens the list, answers, and goes nowhere sideways', async () => {
    const { page } = await open({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true })
    await begin(page, 'show me an approval')
    const allow = page.locator('.askcard').getByRole('button', { name: /Allow once/ })
    expect((await allow.boundingBox())!.height).toBeGreaterThanOrEqual(44)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390)
    await allow.tap()
    await rest(page)
    await page.getByRole('button', { name: /^Threads/ }).tap()
    await page.locator('nav.side.open').waitFor()
    await page.screenshot({ path: join(shots, 'phone-list-dark.png') })
    await page.getByRole('button', { name: 'Close', exact: true }).tap({ position: { x: 380, y: 400 } })
    await page.locator('nav.side.open').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'To-do and changes' }).tap()
    await page.locator('.panel-holder.sheet aside').waitFor()
  })
})

describe('finding', () => {
  it('words in a thread, in a turn that lies far above', async () => {
    const { page, troubles } = await open()
    await begin(page, 'echo the needle lies here')
    await rest(page)
    for (let turn = 2; turn <= 16; turn++) { await say(page, `echo hay ${'more hay '.repeat(30)}`); await rest(page, turn) }
    await page.reload()
    await page.locator('.prose', { hasText: 'hay' }).first().waitFor()
    await page.locator('[role=log]').focus()
    await page.keyboard.press('Control+f')
    await page.getByLabel('Find in this thread').fill('needle lies')
    await page.getByText(/of 2/).waitFor()
    await page.locator('.prose', { hasText: 'the needle lies here' }).waitFor()
    await page.keyboard.press('Escape')
    expect(await page.getByLabel('Find in this thread').count()).toBe(0)
    expect(troubles).toEqual([])
  })
})

describe('the keyboard alone', () => {
  it('finds a thread, answers an ask, and shows its keys', async () => {
    const { page } = await open()
    await begin(page, 'show me an approval')
    await page.locator('.askcard').waitFor()
    await page.keyboard.press('Control+j')
    await page.waitForFunction(() => document.activeElement?.closest('[data-ask]'))
    await page.waitForTimeout(700)
    await page.keyboard.press('y')
    await rest(page)
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+k')
    const field = page.getByRole('combobox', { name: 'Search or run' })
    await field.fill('>new thread')
    await page.screenshot({ path: join(shots, 'palette-dark.png') })
    await page.keyboard.press('Enter')
    await page.getByText('Say what you want done.').waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('main.rs')
    await page.getByRole('option', { name: /src\/main\.rs/ }).waitFor()
    await page.keyboard.press('Escape')
  })
})
