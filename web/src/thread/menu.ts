// What can be done with a thread, as entries of a menu: in its header, in its row, and in the palette.
import type { Row } from '../state/model'
import { router } from '../router.svelte'
import type { MenuItem } from '../ui/Menu.svelte'
import { archive, exportThread, forkThread, isPinned, pin } from './actions'
import { deleting, moving } from './chosen.svelte'
import { renaming } from './renaming.svelte'

export function rowMenu(row: Row): MenuItem[] {
  return [
    { label: 'Rename', run: () => { if (router.route.name !== 'thread' || router.route.id !== row.id) router.go({ name: 'thread', id: row.id, item: null }); renaming.threadId = row.id } },
    { label: isPinned(row) ? 'Unpin' : 'Pin', run: () => { void pin(row) } },
    { label: 'Move to…', run: () => { moving.row = row } },
    { label: 'Fork', hint: 'A new thread with this one’s past', run: () => { void forkThread(row.id) } },
    { label: row.archived ? 'Take out of the archive' : 'Archive', run: () => { void archive(row) } },
    { label: 'Save as Markdown', run: () => { void exportThread(row.id, 'markdown') } },
    { label: 'Save as JSON', run: () => { void exportThread(row.id, 'json') } },
    { label: 'Delete…', tone: 'bad', run: () => { deleting.row = row } },
  ]
}
