// Words in threads: the server's search of everything said, where it has one; else names and first words.
import { session } from '../state/session.svelte'

export interface TextHit { threadId: string; itemId: string | null; title: string; snippet: string; ranges: [number, number][] }

interface WireHit { kind: string; threadId?: string; itemId?: string | null; title: string; snippet: string; ranges: ([number, number] | { start: number; end: number })[] }

export async function searchText(query: string): Promise<TextHit[]> {
  if (await session.has('dragoman/search', { query: 'x', limit: 1 })) {
    const { hits } = await session.callByName('dragoman/search', { query, limit: 20 }) as { hits: WireHit[] }
    return hits.flatMap(hit => (hit.threadId === undefined ? [] : [{
      threadId: hit.threadId, itemId: hit.itemId ?? null, title: hit.title, snippet: hit.snippet,
      ranges: (hit.ranges ?? []).map(range => (Array.isArray(range) ? range : [range.start, range.end] as [number, number])),
    }]))
  }
  const { data } = await session.call('thread/search', { searchTerm: query, limit: 20 })
  return data.filter(hit => hit.snippet).map(hit => ({ threadId: hit.thread.id, itemId: null, title: hit.thread.name ?? hit.thread.preview, snippet: hit.snippet, ranges: rangesOf(hit.snippet, query) }))
}

function rangesOf(text: string, query: string): [number, number][] {
  const at = text.toLowerCase().indexOf(query.toLowerCase())
  return at < 0 ? [] : [[at, at + query.length]]
}
