// Which addresses may be followed: those of the web and of mail. Everything else is text.
export function safeHref(href: string): string | null {
  try {
    const url = new URL(href)
    return url.protocol === 'http:' || url.protocol === 'https:' || url.protocol === 'mailto:' ? url.href : null
  } catch {
    return null
  }
}

/** The host, where the words of a link hide it. */
export function hiddenHost(href: string, words: string): string | null {
  const url = new URL(href)
  return url.host !== '' && !words.includes(url.host) ? url.host : null
}

const PICTURES = /^data:image\/(?:png|jpeg|webp|gif|avif);base64,/i

/** Pictures come inside of the message; none is fetched. */
export function safePicture(url: string): string | null {
  return PICTURES.test(url) ? url : null
}
