// The thread that is about to be deleted, while a person is asked once more: it cannot be taken back.
import type { Row } from '../state/model'
class Deleting { row = $state<Row | null>(null) }
export const deleting = new Deleting()
