// The one socket of the page: ids, the handshake, a heartbeat, and coming back after it was lost.
import type { Calls } from './codex.gen'

export type SocketState = 'opening' | 'live' | 'retrying' | 'offline' | 'refused'

export class RpcError extends Error {
  constructor(readonly code: number, message: string) { super(message) }
}

/** The socket went before the answer came: whether the server has heard the request is not known. */
export class Disconnected extends Error {
  constructor() { super('The connection was lost before the answer came.') }
}

export interface SocketEvents {
  state(state: SocketState, retryAtMs: number | null): void
  /** The handshake is done. */
  ready(userAgent: string): void
  notice(method: string, params: unknown, emittedAtMs: number | null): void
  request(id: number, method: string, params: unknown): void
  frame?(direction: 'in' | 'out', text: string): void
}

interface Waiting { resolve(result: unknown): void; reject(error: Error): void }

const RETRY_MIN_MS = 300
const RETRY_MAX_MS = 15_000
const BEAT_MS = 5_000
const SILENCE_MS = 20_000
const PATIENCE_MS = 10_000

export class Socket {
  #socket: WebSocket | null = null
  #waiting = new Map<number, Waiting>()
  #nextId = 1
  #attempt = 0
  #retry: ReturnType<typeof setTimeout> | undefined
  #heartbeat: ReturnType<typeof setInterval> | undefined
  #silentFor = 0
  #ready = false
  #everReady = false
  #closed = false

  constructor(
    private url: string,
    private events: SocketEvents,
    private env: { connect(url: string): WebSocket; refused(): Promise<boolean>; random(): number; now(): number } = browserEnv(url),
  ) {}

  get ready(): boolean { return this.#ready }

  open(): void {
    if (this.#closed || this.#socket) return
    clearTimeout(this.#retry)
    this.events.state(this.#everReady ? 'retrying' : 'opening', null)
    const socket = this.env.connect(this.url)
    this.#socket = socket
    socket.onopen = () => { void this.#shakeHands(socket) }
    socket.onmessage = event => { if (socket === this.#socket) this.#heard(String(event.data)) }
    socket.onclose = () => { if (socket === this.#socket) void this.#lost() }
    socket.onerror = () => { /* onclose follows */ }
  }

  /** Tries at once: the person came back, or clicked, or the network is there again. */
  hurry(): void {
    if (this.#socket) return
    this.#attempt = 0
    this.open()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#retry)
    clearInterval(this.#heartbeat)
    this.#socket?.close()
  }

  async call<M extends keyof Calls>(method: M, params: Calls[M]['params']): Promise<Calls[M]['result']> {
    if (!this.#ready) throw new Disconnected()
    return await this.#ask(method, params) as Calls[M]['result']
  }

  /** Whether it could be put on the wire. */
  answer(id: number, result: unknown): boolean {
    if (!this.#ready) return false
    this.#send({ id, result })
    return true
  }

  #ask(method: string, params: unknown): Promise<unknown> {
    const id = this.#nextId++
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#send(params === undefined ? { id, method } : { id, method, params })
    })
  }

  async #shakeHands(socket: WebSocket): Promise<void> {
    try {
      const hello = await this.#ask('initialize', { clientInfo: { name: 'dragoman-web', title: 'Dragoman', version: '0.1.0' } }) as Calls['initialize']['result']
      this.#send({ method: 'initialized' })
      this.#ready = true
      this.#everReady = true
      this.#attempt = 0
      this.#watchOver()
      this.events.state('live', null)
      this.events.ready(hello.userAgent)
    } catch {
      socket.close()
    }
  }

  #send(frame: unknown): void {
    const text = JSON.stringify(frame)
    this.events.frame?.('out', text)
    this.#socket?.send(text)
  }

  #heard(text: string): void {
    this.events.frame?.('in', text)
    this.#silentFor = 0
    const frame = JSON.parse(text) as { id?: number; method?: string; params?: unknown; result?: unknown; error?: { code: number; message: string }; emittedAtMs?: number }
    if (frame.method !== undefined) {
      if (frame.id !== undefined) this.events.request(frame.id, frame.method, frame.params)
      else this.events.notice(frame.method, frame.params, frame.emittedAtMs ?? null)
      return
    }
    const waiting = this.#waiting.get(frame.id ?? -1)
    if (!waiting) return
    this.#waiting.delete(frame.id ?? -1)
    if (frame.error) waiting.reject(new RpcError(frame.error.code, frame.error.message))
    else waiting.resolve(frame.result)
  }

  /** A socket may die without a word: after a silence it is asked for something small, and given up when nothing comes. */
  #watchOver(): void {
    clearInterval(this.#heartbeat)
    this.#silentFor = 0
    this.#heartbeat = setInterval(() => {
      this.#silentFor += BEAT_MS
      if (this.#silentFor === SILENCE_MS) this.#ask('collaborationMode/list', {}).catch(() => undefined)
      if (this.#silentFor >= SILENCE_MS + PATIENCE_MS) this.#socket?.close()
    }, BEAT_MS)
  }

  async #lost(): Promise<void> {
    const wasReady = this.#ready
    this.#socket = null
    this.#ready = false
    clearInterval(this.#heartbeat)
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const one of waiting) one.reject(new Disconnected())
    if (this.#closed) return
    if (!wasReady && await this.env.refused()) {
      this.events.state('refused', null)
      return
    }
    const wait = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** this.#attempt) * (0.75 + this.env.random() / 2)
    this.#attempt += 1
    this.events.state(this.#attempt > 3 ? 'offline' : 'retrying', this.env.now() + wait)
    this.#retry = setTimeout(() => this.open(), wait)
  }
}

function browserEnv(url: string) {
  return {
    connect: (to: string) => new WebSocket(to),
    random: Math.random,
    now: Date.now,
    // A browser is not told why an upgrade failed. The same address without the upgrade says whether we may come in.
    async refused(): Promise<boolean> {
      try {
        const answer = await fetch(url.replace(/^ws/, 'http'), { cache: 'no-store', credentials: 'same-origin' })
        return answer.status === 401 || answer.status === 403
      } catch {
        return false
      }
    },
  }
}
