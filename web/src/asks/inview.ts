// Since when the card of each ask is in view; null or absent where it is less than half so.
const since = new Map<number, number>()
const listeners = new Set<() => void>()

export function watchCard(node: HTMLElement, askId: number): { destroy(): void } {
  const seen = new IntersectionObserver(([entry]) => {
    const inView = entry !== undefined && (entry.intersectionRatio >= 0.5 || entry.intersectionRect.height > innerHeight * 0.4)
    if (inView === since.has(askId)) return
    if (inView) since.set(askId, performance.now())
    else since.delete(askId)
    for (const tell of listeners) tell()
  }, { threshold: [0, 0.25, 0.5, 0.75, 1] })
  seen.observe(node)
  return { destroy() { seen.disconnect(); since.delete(askId); for (const tell of listeners) tell() } }
}

export function visibleForMs(askId: number): number | null {
  const at = since.get(askId)
  return at === undefined ? null : performance.now() - at
}

export function onInView(tell: () => void): () => void {
  listeners.add(tell)
  return () => { listeners.delete(tell) }
}
