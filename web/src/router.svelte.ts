// Routes lie in the hash, so that the page works under any base path without the server knowing it.
export type Route =
  | { name: 'new'; cwd: string | null }
  | { name: 'home' }
  | { name: 'thread'; id: string; item: string | null }
  | { name: 'waiting' }
  | { name: 'settings'; section: string }

export function parseRoute(hash: string): Route {
  const [first, second, third, fourth] = hash.replace(/^#\/?/, '').split('/').map(decodePart)
  if (first === 'new') return { name: 'new', cwd: second || null }
  if (first === 't' && second) return { name: 'thread', id: second, item: third === 'i' && fourth ? fourth : null }
  if (first === 'waiting') return { name: 'waiting' }
  if (first === 'settings') return { name: 'settings', section: second || 'appearance' }
  return { name: 'home' }
}

function decodePart(part: string): string {
  try { return decodeURIComponent(part) } catch { return '' }
}

export function hrefOf(route: Route): string {
  switch (route.name) {
    case 'home': return '#/'
    case 'new': return route.cwd === null ? '#/new' : `#/new/${encodeURIComponent(route.cwd)}`
    case 'thread': return `#/t/${encodeURIComponent(route.id)}${route.item === null ? '' : `/i/${encodeURIComponent(route.item)}`}`
    case 'waiting': return '#/waiting'
    case 'settings': return `#/settings/${encodeURIComponent(route.section)}`
  }
}

class Router {
  route = $state<Route>(parseRoute(location.hash))
  constructor() { addEventListener('hashchange', () => { this.route = parseRoute(location.hash) }) }
  go(route: Route): void { location.hash = hrefOf(route) }
  replace(route: Route): void { history.replaceState(null, '', hrefOf(route)); this.route = route }
}

export const router = new Router()
export const goThread = (id: string, item: string | null = null) => router.go({ name: 'thread', id, item })
