import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { begin, box, ownPage, rest, say, shots, tab, world, type Tab, type World } from './world'

let of: World
const tabs: Tab[] = []
beforeAll(async () => { of = await world('/deep/below/') })
// A picture of what a failed test saw; and no tab is left to disturb the next one.
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await tabs.at(-1)?.page.screenshot({ path: join(shots, `failed-${task.name.slice(0, 30).replace(/\W+/g, '-')}.png`) })
  for (const one of tabs.splice(0)) await one.close()
})
afterAll(async () => { for (const one of tabs) await one.close(); await of?.end() })
async function open(path = ''): Promise<Tab> { const one = await tab(of, {}, path); tabs.push(one); return one }

/** What `slow N` or `stream N` says. */
const counted = (n: number) => Array.from({ length: n }, (_, i) => `w${i}`).join(' ')
const answer = (page: Tab['page']) => page.locator('.prose').last().evaluate(node => node.textContent?.trim().replace(/\s+/g, ' ') ?? '')

describe('under a base path', () => {
  it('loses no character when it is reloaded in the middle of a turn', async () => {
    const { page, troubles } = await open()
    await begin(page, 'slow 60')
    await page.locator('.prose', { hasText: 'w20' }).waitFor()
    await page.reload()
    await rest(page)
    expect(await answer(page)).toBe(counted(60))
    expect(troubles).toEqual([])
  })

  it.skipIf(ownPage !== null)('loses no character when its socket is cut again and again', async () => {
    const { page } = await open()
    await begin(page, 'slow 120')
    for (let i = 0; i < 6; i++) { await page.waitForTimeout(500); of.served.cut() }
    await rest(page)
    expect(await answer(page)).toBe(counted(120))
  })

  it('is in step with another tab', async () => {
    const one = await open()
    await begin(one.page, 'show me an approval')
    await one.page.locator('.askcard').waitFor()
    const two = await open(new URL(one.page.url()).hash)
    await two.page.locator('.askcard').getByRole('button', { name: /Allow once/ }).click()
    await rest(two.page)
    await rest(one.page)
    await one.page.getByText('Answered elsewhere').waitFor()
    expect(await one.page.locator('.askcard').count()).toBe(0)
    expect(one.troubles.concat(two.troubles)).toEqual([])
  })

  it('shows what waits in other threads, and answers it there', async () => {
    const one = await open()
    await begin(one.page, 'show me a question')
    await one.page.locator('.askcard').waitFor()
    const two = await open('#/waiting')
    await two.page.locator('.askcard').waitFor()
    await two.page.getByRole('radio', { name: /Red/ }).click()
    await two.page.getByRole('button', { name: /Answer/ }).click()
    await two.page.getByText('Nothing waits for you.').waitFor()
    await rest(one.page)
  })

  it.skipIf(ownPage !== null)('keeps what is written while the server is away, and asks again when it is back', async () => {
    const { page } = await open()
    await begin(page, 'show me an approval')
    await page.locator('.askcard').waitFor()
    of.served.down = true
    await of.kill()
    of.served.cut()
    await page.locator('.banner').waitFor()
    await box(page).fill('said while away')
    await box(page).press('Enter')
    await page.getByText('Kept. It is sent when the server is back.').waitFor()
    await of.restart()
    of.served.down = false
    await page.locator('.banner button').click()
    await page.locator('.conn[data-state=live]').waitFor()
    await page.locator('.askcard').getByRole('button', { name: /Allow once/ }).click()
    await page.getByText('said while away').waitFor()
    await rest(page)
    expect(await page.getByText('Kept. It is sent').count()).toBe(0)
  })

  it.skipIf(ownPage !== null)('says that it is not let in', async () => {
    of.served.refuse = true
    const { page, troubles } = await open()
    await page.getByText('This browser is not let in.').waitFor()
    of.served.refuse = false
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.locator('.conn[data-state=live]').waitFor()
    expect(troubles).toEqual([])
  })

  it('does not move under a reader while it streams', async () => {
    const { page } = await open()
    await begin(page, 'stream 3000')
    await rest(page)
    await say(page, 'slow 400')
    await page.locator('.prose', { hasText: 'w5' }).last().waitFor()
    const log = page.locator('[role=log]')
    await log.hover()
    await page.mouse.wheel(0, -600)
    await page.waitForTimeout(300)
    const top = () => page.evaluate(() => {
      const box = document.querySelector('[role=log]')!.getBoundingClientRect()
      const row = [...document.querySelectorAll('[data-row]')].find(one => one.getBoundingClientRect().bottom > box.top)!
      return [row.getAttribute('data-item'), Math.round(row.getBoundingClientRect().top)]
    })
    const before = await top()
    await page.waitForTimeout(2500)
    expect(await top()).toEqual(before)
    await page.getByRole('button', { name: 'New below' }).click()
    await page.waitForFunction(() => { const box = document.querySelector('[role=log]')!; return box.scrollHeight - box.clientHeight - box.scrollTop < 60 })
  })
})
