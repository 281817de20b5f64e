// What a new thread is to begin with, until there is one.
class Wishes {
  model = $state<string | null>(null)
  effort = $state<string | null>(null)
  profile = $state<string | null>(null)
  approvals = $state<string | null>(null)
  mode = $state<'plan' | 'code'>('code')
  cwd = $state<string | null>(null)
}
export const wishes = new Wishes()
