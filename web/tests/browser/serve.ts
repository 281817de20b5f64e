// What the server of the page has to do, in small: the built files with the page's policy, and the codex endpoint beside them.
// The endpoint is a real one, elsewhere; its frames are passed on untouched, with its own origin.
import { createReadStream, existsSync, statSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { extname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

const dist = fileURLToPath(new URL('../../dist/', import.meta.url))
const types: Record<string, string> = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript; charset=utf-8', '.css': 'text/css; charset=utf-8', '.svg': 'image/svg+xml', '.webmanifest': 'application/manifest+json' }

export const policy = (host: string) => [
  "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' blob: data:", "font-src 'self'", `connect-src 'self' ws://${host} wss://${host}`, "worker-src 'self'", "manifest-src 'self'",
  "base-uri 'none'", "form-action 'none'", "frame-src 'none'", "frame-ancestors 'none'", "object-src 'none'", "require-trusted-types-for 'script'", 'trusted-types svelte-trusted-html',
].join('; ')

export interface Served { url: string; /** Cuts every socket that is open now. */ cut(): void; /** While true, new sockets are turned away. */ down: boolean; /** While true, nobody is let in. */ refuse: boolean; close(): Promise<void> }

/** `base` is the path under which the page lies, with a slash at both ends. */
export async function serve(target: { host: string; port: number }, base = '/'): Promise<Served> {
  const sockets = new Set<Socket>()
  const served: Served = { url: '', cut: () => { for (const socket of sockets) socket.destroy() }, down: false, refuse: false, close: async () => undefined }
  const http = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? '/', 'http://x').pathname)
    if (!path.startsWith(base)) { response.writeHead(404).end(); return }
    if (path === `${base}codex`) { response.writeHead(served.refuse ? 401 : served.down ? 503 : 400).end(); return }
    const file = join(dist, normalize(path === base ? 'index.html' : path.slice(base.length)))
    if (!file.startsWith(dist) || !existsSync(file) || !statSync(file).isFile()) { response.writeHead(404).end(); return }
    response.writeHead(200, {
      'content-type': types[extname(file)] ?? 'application/octet-stream', 'content-security-policy': policy(request.headers.host ?? ''), 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin', 'cross-origin-resource-policy': 'same-origin', 'cache-control': path.includes('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
    })
    createReadStream(file).pipe(response)
  })
  http.on('upgrade', (request: IncomingMessage, socket: Socket) => {
    if (served.down || served.refuse || new URL(request.url ?? '/', 'http://x').pathname !== `${base}codex`) { socket.destroy(); return }
    const upstream = connect(target.port, target.host, () => {
      const headers = Object.entries(request.headers).filter(([name]) => name !== 'origin' && name !== 'host').map(([name, value]) => `${name}: ${String(value)}`)
      upstream.write(`GET /codex HTTP/1.1\r\nhost: ${target.host}:${target.port}\r\n${headers.join('\r\n')}\r\n\r\n`)
      upstream.pipe(socket).pipe(upstream)
    })
    sockets.add(socket)
    const end = () => { sockets.delete(socket); socket.destroy(); upstream.destroy() }
    for (const one of [socket, upstream]) { one.on('error', end); one.on('close', end) }
  })
  await new Promise<void>(resolve => http.listen(0, '127.0.0.1', resolve))
  served.url = `http://127.0.0.1:${(http.address() as AddressInfo).port}${base}`
  served.close = () => new Promise(resolve => { served.cut(); http.close(() => resolve()); http.closeAllConnections() })
  return served
}
