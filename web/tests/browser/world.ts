// A real server with the rehearsal model, the built page before it, and a real browser.
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Page } from 'playwright-core'
import { serve, type Served } from './serve'

const binary = process.env['DRAGOMAN_BIN'] ?? ''
const chrome = process.env['CHROMIUM'] ?? '/usr/bin/chromium'
export const shots = process.env['SHOTS'] ?? join(tmpdir(), 'dragoman-shots')

export interface World { served: Served; browser: Browser; home: string; project: string; restart(): Promise<void>; kill(): Promise<void>; end(): Promise<void> }

/** A server of its own in directories of its own. DRAGOMAN_PAGE, as `http://127.0.0.1:{port}/`, is the page that the server serves itself; else dist is served beside it. */
export const ownPage = process.env['DRAGOMAN_PAGE'] ?? null
export async function world(base = '/'): Promise<World> {
  if (binary === '') throw new Error('DRAGOMAN_BIN names the server to test against')
  const root = mkdtempSync(join(tmpdir(), 'dragoman-web-'))
  const home = join(root, 'home')
  const project = join(root, 'project')
  mkdirSync(join(project, 'src'), { recursive: true })
  mkdirSync(home, { mode: 0o700 })
  mkdirSync(shots, { recursive: true })
  writeFileSync(join(project, 'README.md'), '# A project\n')
  writeFileSync(join(project, 'src', 'main.rs'), 'fn main() {\n    println!("hello");\n}\n')
  let child = await run(home, project, 0)
  const { port } = child
  const target = { host: '127.0.0.1', port }
  const served = await serve(target, base)
  if (ownPage !== null) served.url = ownPage.replace('{port}', String(port))
  const browser = await chromium.launch({ executablePath: chrome, args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run'] })
  const kill = async () => { child.process.kill('SIGKILL'); await child.gone }
  return {
    served, browser, home, project, kill,
    restart: async () => { child = await run(home, project, port) },
    end: async () => { await browser.close(); await served.close(); await kill(); rmSync(root, { recursive: true, force: true }) },
  }
}

async function run(home: string, project: string, port: number): Promise<{ process: ChildProcess; port: number; gone: Promise<void> }> {
  const child = spawn(binary, ['--dir', project, '--port', String(port)], { env: { ...process.env, DRAGOMAN_HOME: home }, stdio: ['ignore', 'pipe', 'pipe'] })
  const gone = new Promise<void>(resolve => child.once('exit', () => resolve()))
  const found = await new Promise<number>((resolve, reject) => {
    let text = ''
    const look = (data: Buffer) => { text += data.toString(); const match = /ready: http:\/\/[^:]+:(\d+)/.exec(text); if (match) resolve(Number(match[1])) }
    child.stdout.on('data', look)
    child.stderr.on('data', look)
    child.once('exit', code => reject(new Error(`the server ended with ${code}: ${text}`)))
  })
  return { process: child, port: found, gone }
}

export interface Tab { page: Page; context: BrowserContext; /** Errors of the console, of the page, and of its policy. */ troubles: string[]; close(): Promise<void> }

export async function tab(of: World, options: BrowserContextOptions = {}, path = ''): Promise<Tab> {
  const context = await of.browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: 'dark', ...options })
  const page = await context.newPage()
  page.setDefaultTimeout(15_000)
  const troubles: string[] = []
  const origin = new URL(of.served.url).origin
  page.on('console', message => { if (message.type() === 'error' && !/WebSocket connection|ERR_CONNECTION|status of (?:503|401)/.test(message.text())) troubles.push(message.text()) })
  page.on('pageerror', error => troubles.push(String(error.stack ?? error)))
  page.on('request', request => { if (!/^(?:blob|data):/.test(request.url()) && new URL(request.url()).origin !== origin) troubles.push(`asked for ${request.url()}`) })
  await page.goto(of.served.url + path)
  return { page, context, troubles, close: () => context.close() }
}

export const box = (page: Page) => page.locator('#composer textarea')

export async function say(page: Page, text: string): Promise<void> {
  await box(page).fill(text)
  await box(page).press('Enter')
}

/** A new thread that begins with these words. */
export async function begin(page: Page, text: string): Promise<void> {
  await page.evaluate(() => { location.hash = '#/new' })
  await page.getByText('Say what you want done.').waitFor()
  await page.locator('.conn[data-state=live]').waitFor({ state: 'attached' })
  await say(page, text)
  await page.waitForURL(/#\/t\//)
}

/** As many turns as this are over, and none runs. */
export async function rest(page: Page, turns = 1): Promise<void> {
  await page.waitForFunction(count => { const log = document.querySelector('[role=log]'); return log !== null && Number(log.getAttribute('data-ended')) >= count && log.getAttribute('aria-busy') === 'false' }, turns)
}
