// Ids that the server gives a meaning.
/** The section of pinned threads, which is always there. */
export const PINNED = '01984de2-8f74-7c91-a3b2-5c5e937cf318'
