import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Disconnected, RpcError, Socket, type SocketState } from '../../src/protocol/socket'

class Wire {
  static all: Wire[] = []
  sent: { id?: number; method?: string; params?: unknown; result?: unknown }[] = []
  onopen: (() => void) | null = null
  onmessage: ((event: { data: string }) => void) | null = null
  onclose: (() => void) | null = null
  constructor() { Wire.all.push(this) }
  send(text: string): void { this.sent.push(JSON.parse(text) as Wire['sent'][number]) }
  close(): void { this.onclose?.() }
  say(frame: unknown): void { this.onmessage?.({ data: JSON.stringify(frame) }) }
  async ready(): Promise<void> { this.onopen?.(); this.say({ id: this.sent[0]!.id, result: { userAgent: 'dragoman' } }); await Promise.resolve(); await Promise.resolve() }
}

let states: SocketState[]
let seen: string[]
let refused = false
function make(): Socket {
  return new Socket('ws://x/codex', {
    state: state => states.push(state), ready: agent => seen.push(`ready ${agent}`), notice: method => seen.push(`notice ${method}`), request: (id, method) => seen.push(`request ${id} ${method}`),
  }, { connect: () => new Wire() as unknown as WebSocket, refused: async () => refused, random: () => 0.5, now: () => 0 })
}

beforeEach(() => { vi.useFakeTimers(); Wire.all = []; states = []; seen = []; refused = false })
afterEach(() => { vi.useRealTimers() })

describe('the socket', () => {
  it('shakes hands before anything else, and answers calls by their id', async () => {
    const socket = make()
    socket.open()
    await expect(socket.call('model/list', {})).rejects.toBeInstanceOf(Disconnected)
    const wire = Wire.all[0]!
    await wire.ready()
    expect(wire.sent.map(frame => frame.method)).toEqual(['initialize', 'initialized'])
    const first = socket.call('model/list', {})
    const second = socket.call('thread/list', {})
    wire.say({ id: wire.sent[3]!.id, error: { code: -32600, message: 'no' } })
    wire.say({ id: wire.sent[2]!.id, result: { data: [] } })
    await expect(first).resolves.toEqual({ data: [] })
    await expect(second).rejects.toThrowError(new RpcError(-32600, 'no'))
    wire.say({ method: 'turn/started', params: {} })
    wire.say({ id: 7, method: 'item/tool/requestUserInput', params: {} })
    expect(seen).toEqual(['ready dragoman', 'notice turn/started', 'request 7 item/tool/requestUserInput'])
  })

  it('comes back later and later, and fails what waited', async () => {
    const socket = make()
    socket.open()
    await Wire.all[0]!.ready()
    const waiting = socket.call('model/list', {})
    Wire.all[0]!.close()
    await expect(waiting).rejects.toBeInstanceOf(Disconnected)
    for (const [i, wait] of [300, 600, 1200, 2400].entries()) {
      await vi.advanceTimersByTimeAsync(wait - 1)
      expect(Wire.all).toHaveLength(i + 1)
      await vi.advanceTimersByTimeAsync(1)
      expect(Wire.all).toHaveLength(i + 2)
      Wire.all.at(-1)!.close()
    }
    await vi.advanceTimersByTimeAsync(0)
    expect(states.at(-1)).toBe('offline')
    socket.hurry()
    await Wire.all.at(-1)!.ready()
    expect(states.at(-1)).toBe('live')
  })

  it('stops when it is not let in', async () => {
    refused = true
    make().open()
    Wire.all[0]!.close()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(states.at(-1)).toBe('refused')
    expect(Wire.all).toHaveLength(1)
  })

  it('gives up a socket that is silent', async () => {
    make().open()
    await Wire.all[0]!.ready()
    await vi.advanceTimersByTimeAsync(20_000)
    expect(Wire.all[0]!.sent.at(-1)!.method).toBe('collaborationMode/list')
    await vi.advanceTimersByTimeAsync(10_000 + 300)
    expect(Wire.all).toHaveLength(2)
  })
})
