// Clients that carry out a form a second time: at another instance, after a restart, or for a new client secret.
import { correct } from '../../behaviour.ts'
import { notInList } from '../../changes.ts'
import { type Mistake, mistake } from '../../mistake.ts'

export const repeatedForms: Mistake[] = [
  mistake('forms-remembered-by-one-process', ['create-once-on-replica', 'create-once-after-restart'], notInList),
  mistake('second-secret-for-the-same-form', ['secret-once', 'secret-once-at-once'], {
    shareCall: (visit, name, act) => (name.startsWith('secret ') ? act() : correct.shareCall(visit, name, act)),
  }),
]
