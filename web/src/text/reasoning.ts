// What the page shows of thoughts: the first bold words while they come, one closed line afterwards.

/** The newest bold words, which models put at the head of each part. */
export function boldTitle(parts: string[]): string | null {
  for (const part of [...parts].reverse()) {
    const title = /\*\*([^*\n]+)\*\*/.exec(part)?.[1]?.trim()
    if (title) return title
  }
  return null
}

/** The first of them, which names the whole block. */
export function firstTitle(parts: string[]): string | null {
  return boldTitle([...parts].reverse())
}

/** The plan of a message stands in a card of its own. */
export function withoutPlan(text: string): string {
  return text.replace(/<proposed_plan>[^]*?(?:<\/proposed_plan>\s*|$)/g, '').replace(/<\/?proposed_plan>/g, '').replace(/<(?:p(?:r(?:o(?:p(?:o(?:s(?:e(?:d(?:_(?:p(?:l(?:an?)?)?)?)?)?)?)?)?)?)?)?)?$/, '')
}
