import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { begin, rest, tab, world, type World } from './world'

let of: World
beforeAll(async () => { of = await world() })
afterAll(async () => { await of?.end() })

describe('fast', () => {
  it('takes 20,000 deltas into one message without a task over 100 ms, and loses none', { timeout: 120_000 }, async () => {
    const { page, troubles, close } = await tab(of)
    await begin(page, 'echo warm')
    await rest(page)
    await page.evaluate(() => {
      const long: number[] = []
      ;(window as unknown as { long: number[] }).long = long
      new PerformanceObserver(list => { for (const entry of list.getEntries()) long.push(Math.round(entry.duration)) }).observe({ entryTypes: ['longtask'] })
    })
    await page.locator('#composer textarea').fill('stream 20000')
    await page.locator('#composer textarea').press('Enter')
    await page.waitForFunction(() => document.querySelectorAll('[data-row=end]').length >= 1 && !document.querySelector('[data-row=working]') && document.body.textContent!.includes('w19999'), undefined, { timeout: 90_000 })
    const words = await page.locator('.prose').last().evaluate(node => node.textContent!.trim().split(/\s+/).length)
    expect(words).toBe(20_000)
    const long = await page.evaluate(() => (window as unknown as { long: number[] }).long)
    const heap = await page.evaluate(() => Math.round(((performance as unknown as { memory?: { usedJSHeapSize: number } }).memory?.usedJSHeapSize ?? 0) / 1e6))
    console.log(`long tasks (ms): ${long.join(' ') || 'none'}; heap ${heap} MB`)
    expect(Math.max(0, ...long)).toBeLessThan(Number(process.env['LONG_TASK_MS'] ?? 100))
    expect(troubles).toEqual([])
    await close()
  })

  it('paints and can be typed into at once', async () => {
    const { page, close } = await tab(of)
    await page.locator('#composer textarea').waitFor()
    const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0)
    console.log(`first paint ${Math.round(paint)} ms`)
    expect(paint).toBeLessThan(1000)
    await close()
  })
})
