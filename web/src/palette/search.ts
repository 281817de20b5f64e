// Words in threads: the server's search of all that was said.
import { session } from '../state/session.svelte'

export interface TextHit { threadId: string; itemId: string | null; title: string; snippet: string; ranges: [number, number][] }

export async function searchText(searchTerm: string): Promise<TextHit[]> {
  const { data } = await session.call('dragoman/search', { searchTerm, limit: 20 })
  return data.flatMap(({ thread, hits }) => hits.map(hit => ({
    threadId: thread.id, itemId: hit.itemId, title: thread.name ?? thread.preview, snippet: hit.snippet,
    ranges: hit.matches.map((range): [number, number] => [range.start, range.end]),
  })))
}
