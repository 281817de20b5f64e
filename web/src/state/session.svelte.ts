// The page's conversation with the server: connects, keeps up, and says what people want said.
import type { Account, Calls, Model, PermissionProfileSummary, Thread, ThreadSection, UserInput } from '../protocol/codex.gen'
import { frames } from '../protocol/frames.svelte'
import { Disconnected, RpcError, Socket, type SocketState } from '../protocol/socket'
import { knowsRequest } from './apply/asks'
import { FROM_THE_TAIL, ITEMS_MAX } from './apply/threads'
import type { Ask } from './model'
import { outbox, type Unsent } from './outbox.svelte'
import { Pump, screenSchedule } from './pump'
import { state, tell } from './store.svelte'
import { toasts } from './toasts.svelte'

const PAGE_TURNS = 12
const LIST_LIMIT = 100
const LIST_PAGES_MAX = 10
const HEARD_MAX = 64
const RELIST_MS = 15_000
const ANSWERS_MAX = 3
export { PINNED } from './ids'

class Session {
  connection = $state<{ state: SocketState; sinceMs: number; retryAtMs: number | null; agent: string }>({ state: 'opening', sinceMs: Date.now(), retryAtMs: null, agent: '' })
  models = $state<Model[]>([])
  profiles = $state<PermissionProfileSummary[]>([])
  sections = $state<ThreadSection[]>([])
  account = $state<Account | null>(null)
  listed = $state(false)
  loadError = $state<Record<string, string>>({})
  #heard = new Set<string>()
  #open: string | null = null
  #given = new Map<number, { result: unknown; words: string; times: number }>()
  #loading = new Map<string, Promise<void>>()
  #socket: Socket
  #pump = new Pump(state, tell, screenSchedule)
  #clients: ((method: string, params: unknown) => void)[] = []

  constructor() {
    const url = new URL('codex', document.baseURI)
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
    url.hash = ''
    this.#socket = new Socket(url.href, {
      state: (next, retryAtMs) => {
        const since = next === this.connection.state ? this.connection.sinceMs : Date.now()
        this.connection = { ...this.connection, state: next, sinceMs: since, retryAtMs }
      },
      ready: agent => { this.connection.agent = agent; void this.#catchUp() },
      notice: (method, params, emittedAtMs) => {
        this.#pump.push({ kind: 'notice', method, params, emittedAtMs }, method === 'item/agentMessage/delta' ? undefined : () => this.#afterNotice(method, params))
      },
      request: (id, method, params) => { if (knowsRequest(method)) this.#asked(id, method, params) },
      frame: (direction, text) => frames.keep(direction, text),
    })
  }

  start(): void {
    this.#socket.open()
    addEventListener('online', () => this.#socket.hurry())
    addEventListener('focus', () => { this.#socket.hurry(); void this.relist() })
    setInterval(() => { if (!document.hidden) void this.relist() }, RELIST_MS)
  }

  hurry(): void { this.#socket.hurry() }
  get live(): boolean { return this.connection.state === 'live' }

  /** Called with every notice after it was applied. */
  onNotice(hear: (method: string, params: unknown) => void): () => void {
    this.#clients.push(hear)
    return () => { this.#clients = this.#clients.filter(one => one !== hear) }
  }

  call<M extends keyof Calls>(method: M, params: Calls[M]['params']): Promise<Calls[M]['result']> { return this.#socket.call(method, params) }

  /** As `call`, and resolves after the answer is in the state. */
  async callInto<M extends keyof Calls>(method: M, params: Calls[M]['params']): Promise<Calls[M]['result']> {
    const result = await this.#socket.call(method, params)
    await new Promise<void>(resolve => this.#pump.push({ kind: 'answer', method, params, result }, resolve))
    return result
  }

  async #catchUp(): Promise<void> {
    this.#heard.clear()
    this.#loading.clear()
    const open = this.#open
    await Promise.allSettled([
      open === null ? undefined : this.load(open),
      this.relist(true).then(() => { this.listed = true }),
      this.call('model/list', {}).then(page => { this.models = page.data }),
      this.call('permissionProfile/list', {}).then(page => { this.profiles = page.data }),
      this.call('account/read', {}).then(answer => { this.account = answer.account }),
      this.relistSections(),
    ])
    for (const one of outbox.list) if (one.state === 'sending') void this.#deliver(one)
  }

  async relistSections(): Promise<void> {
    this.sections = (await this.call('threadSection/list', {})).data
  }

  /** The newest threads; those that run or wait are listened to, because what they ask is only told to who listens. `all` of them after a connection. */
  async relist(all = false): Promise<void> {
    if (!this.#socket.ready) return
    let cursor: string | null = null
    // Only what was known before can be gone: a thread may begin while the list is read.
    const missing = new Set([...state.rows.values()].filter(row => !row.archived).map(row => row.id))
    for (let n = 0; n < (all ? LIST_PAGES_MAX : 1); n++) {
      const page: Calls['thread/list']['result'] = await this.callInto('thread/list', { sortKey: 'recency_at', limit: LIST_LIMIT, cursor })
      for (const thread of page.data) {
        missing.delete(thread.id)
        if (isActive(thread)) void this.#listen(thread.id)
      }
      cursor = page.nextCursor
      if (cursor === null) break
    }
    if (all && cursor === null && missing.size > 0) this.#pump.push({ kind: 'gone', threadIds: [...missing] })
  }

  async listArchived(): Promise<void> {
    await this.callInto('thread/list', { sortKey: 'recency_at', limit: LIST_LIMIT, archived: true })
  }

  async #listen(id: string): Promise<void> {
    if (this.#heard.has(id) || this.#heard.size >= HEARD_MAX) return
    this.#heard.add(id)
    try {
      await this.callInto('thread/resume', { threadId: id, excludeTurns: true })
    } catch {
      this.#heard.delete(id)
    }
  }

  /** The thread that is on the screen. */
  show(id: string | null): void {
    this.#open = id
    if (id !== null && this.#socket.ready) void this.load(id)
  }

  /** Listens to a thread and has its newest turns; nothing to do where that is so already. */
  load(id: string): Promise<void> {
    const known = state.threads.get(id)
    if (this.#heard.has(id) && known?.loaded === 'tail' && !known.stale) return Promise.resolve()
    const running = this.#loading.get(id)
    if (running) return running
    const loading = this.#load(id).finally(() => this.#loading.delete(id))
    this.#loading.set(id, loading)
    return loading
  }

  /** Takes turns back, and has what is left. */
  async revert(params: Calls['thread/revert']['params']): Promise<void> {
    await this.callInto('thread/revert', params)
    this.#heard.delete(params.threadId)
    await this.load(params.threadId)
  }

  async #load(id: string): Promise<void> {
    try {
      this.#heard.add(id)
      const page = { limit: PAGE_TURNS, sortDirection: 'desc', itemsView: 'full' } as const
      const opened = await this.callInto('thread/resume', { threadId: id, excludeTurns: true, initialTurnsPage: page })
      if (!opened.initialTurnsPage) await this.callInto('thread/turns/list', { threadId: id, ...page })
      delete this.loadError[id]
    } catch (error) {
      this.#heard.delete(id)
      if (!(error instanceof Disconnected)) this.loadError[id] = error instanceof Error ? error.message : String(error)
    }
  }

  /** The reader is at the end: what lies far above need not be kept. */
  forgetOld(id: string): void {
    if ((state.threads.get(id)?.items.size ?? 0) > ITEMS_MAX) this.#pump.push({ kind: 'forget', threadId: id })
  }

  async loadOlder(id: string): Promise<void> {
    const thread = state.threads.get(id)
    if (!thread || thread.olderCursor === null) return
    const cursor = thread.olderCursor === FROM_THE_TAIL ? await this.#cursorAfter(id, thread.turnOrder.length) : thread.olderCursor
    await this.callInto('thread/turns/list', { threadId: id, cursor, limit: PAGE_TURNS, sortDirection: 'desc', itemsView: 'full' })
  }

  /** The place behind the newest `count` turns. */
  async #cursorAfter(id: string, count: number): Promise<string | null> {
    let cursor: string | null = null
    for (let left = count; left > 0; left -= 100) {
      const page: Calls['thread/turns/list']['result'] = await this.call('thread/turns/list', { threadId: id, cursor, limit: Math.min(left, 100), sortDirection: 'desc', itemsView: 'notLoaded' })
      cursor = page.nextCursor
      if (cursor === null) break
    }
    return cursor
  }

  #afterNotice(method: string, params: unknown): void {
    for (const hear of this.#clients) hear(method, params)
    if (method === 'serverRequest/resolved') this.#given.delete((params as { requestId: number }).requestId)
    const { threadId } = (params ?? {}) as { threadId?: string }
    if (!threadId) return
    if (method === 'thread/started') void this.#listen(threadId)
    if (method === 'thread/deleted') this.#heard.delete(threadId)
    if (method === 'thread/closed') { this.#heard.delete(threadId); if (this.#open === threadId) void this.load(threadId) }
    if (state.threads.get(threadId)?.stale && (method === 'thread/reverted' || method === 'thread/started')) {
      if (this.#open === threadId) void this.load(threadId)
    }
    if (method === 'item/started') {
      const item = (params as { item: { type: string; clientId?: string | null } }).item
      if (item.type === 'userMessage' && item.clientId) outbox.drop([item.clientId])
    }
  }

  async startThread(params: Calls['thread/start']['params']): Promise<Thread> {
    const opened = await this.callInto('thread/start', params)
    this.#heard.add(opened.thread.id)
    return opened.thread
  }

  async fork(params: Calls['thread/fork']['params']): Promise<Thread> {
    const opened = await this.callInto('thread/fork', params)
    this.#heard.add(opened.thread.id)
    return opened.thread
  }

  /** Says something in a thread: begins a turn, or steers the one that runs. */
  say(threadId: string, input: UserInput[], mode: Unsent['mode'] = null): void {
    void this.#deliver(outbox.add(threadId, input, mode))
  }

  sayAgain(one: Unsent): void {
    outbox.set(one.clientId, { state: 'sending', why: null })
    void this.#deliver(one)
  }

  async #deliver(one: Unsent): Promise<void> {
    const { threadId, input, clientId: clientUserMessageId, mode } = one
    const running = state.threads.get(threadId)?.runningTurn
    try {
      if (running && mode === null) {
        try {
          await this.call('turn/steer', { threadId, input, expectedTurnId: running, clientUserMessageId })
          outbox.set(one.clientId, { state: 'told' })
          return
        } catch (error) {
          // It ended in between: then this begins the next turn.
          if (!(error instanceof RpcError) || error.code !== -32600) throw error
        }
      }
      await this.call('turn/start', { threadId, input, clientUserMessageId, ...(mode !== null && { collaborationMode: { mode: mode === 'plan' ? 'plan' : 'default' } }) })
      this.#heard.add(threadId)
      outbox.set(one.clientId, { state: 'told' })
      // The same message may have been taken before the connection was lost: then no item comes, it is there already.
      if ([...(state.threads.get(threadId)?.items.values() ?? [])].some(item => item.body.type === 'userMessage' && item.body.clientId === one.clientId)) outbox.drop([one.clientId])
    } catch (error) {
      if (error instanceof Disconnected) return
      outbox.set(one.clientId, { state: 'failed', why: error instanceof Error ? error.message : String(error) })
    }
  }

  async stop(threadId: string): Promise<void> {
    const turnId = state.threads.get(threadId)?.runningTurn
    if (!turnId) return
    try {
      await this.call('turn/interrupt', { threadId, turnId })
    } catch (error) {
      if (!(error instanceof RpcError && error.code === -32600)) toasts.fail(error)
    }
  }

  /**
   * It counts as given with `serverRequest/resolved`. What is asked again although it was answered did not arrive, because the connection
   * was lost or not yet listening: it is sent again, a few times at most.
   */
  answer(ask: Ask, result: unknown, words: string): void {
    this.#given.set(ask.id, { result, words, times: 0 })
    this.#socket.answer(ask.id, result)
    this.#pump.push({ kind: 'answering', askId: ask.id, words })
  }

  #asked(id: number, method: string, params: unknown): void {
    this.#pump.push({ kind: 'request', id, method, params })
    const given = this.#given.get(id)
    if (!given) return
    if (given.times++ >= ANSWERS_MAX) { this.#given.delete(id); return }
    this.#socket.answer(id, given.result)
    this.#pump.push({ kind: 'answering', askId: id, words: given.words })
  }

  /** Runs a call for its effect; a refusal is told in the server's words. */
  async run<M extends keyof Calls>(method: M, params: Calls[M]['params']): Promise<boolean> {
    try {
      await this.callInto(method, params)
      return true
    } catch (error) {
      toasts.fail(error)
      return false
    }
  }
}

function isActive(thread: Thread): boolean {
  return typeof thread.status === 'object' && thread.status.type === 'active'
}

export const session = new Session()
