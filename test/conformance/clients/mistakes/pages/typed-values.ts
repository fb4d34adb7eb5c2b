// Clients that lose typed values when a form is refused, or that have a wrong group field.
import { type Behaviour, correct } from '../../behaviour.ts'
import { answerWith, bodyWith } from '../../changes.ts'
import { type Mistake, mistake } from '../../mistake.ts'
import { formPage, page } from '../../pages.ts'
import { isOfGroups } from '../../requests.ts'

/** Calls the API, and remembers the status of the list of groups for the rest of the visit. */
const rememberGroupsStatus: Pick<Behaviour, 'send'> = {
  async send(visit, request) {
    const answer = await correct.send(visit, request)
    if (isOfGroups(request)) visit.memory.set('status', answer[0])
    return answer
  },
}

export const typedValues: Mistake[] = [
  mistake('refused-form-without-the-description', ['create-refused-all-fields', 'create-422-fields-all-fields'], {
    keptValue: (name, value) => (name === 'description' ? '' : value),
  }),
  mistake(
    'failed-form-without-the-group',
    ['create-403-all-fields', 'create-404-all-fields', 'create-503-all-fields'],
    answerWith((answer, visit) => {
      if (visit.method !== 'POST' || visit.url.pathname !== '/applications' || answer.status < 400) return answer
      const values = new URLSearchParams(visit.body)
      values.delete('groupId')
      return formPage(visit, answer.status, {
        token: values.get('form') ?? '',
        groups: [],
        values,
        problem: 'Try again.',
      })
    }),
  ),
  mistake('names-of-groups-as-html', 'create-group-escapes', {
    groupOption: ({ id, name }) => `<option value="${id}">${name}</option>`,
  }),
  mistake('groups-sorted-by-name', 'create-own-group-preselected', {
    groupField(visit, groups, chosen) {
      const sorted = groups.toSorted((one, other) => one.name.localeCompare(other.name))
      return correct.groupField(visit, sorted, chosen === groups[0]?.id ? sorted[0]!.id : chosen)
    },
  }),
  mistake('first-group-preselected-without-an-own-group', 'create-own-group-preselected', {
    groupField: (visit, groups, chosen) => correct.groupField(visit, groups, chosen || (groups[0]?.id ?? '')),
  }),
  mistake('form-without-a-group-if-nobody-answers', 'create-without-groups', {
    async send(visit, request) {
      return correct.send(visit, request).catch(error => {
        if (request.url.includes('/links')) visit.body = 'no groups'
        throw error
      })
    },
    ...answerWith((answer, visit) => (visit.body === 'no groups' ? page(visit, 502, 'No groups', '') : answer)),
  }),
  mistake('form-needs-the-list-of-groups', 'create-without-groups', {
    async send(visit, request) {
      const [status, answer] = await correct.send(visit, request)
      if (request.url.includes('/links') && status !== 200) visit.body = 'no groups'
      return [status, answer]
    },
    ...answerWith((answer, visit) => (visit.body === 'no groups' ? page(visit, 502, 'No groups', '') : answer)),
  }),
  mistake('only-a-new-group-if-the-list-fails', 'create-without-groups', {
    ...rememberGroupsStatus,
    // The visitor can type only the name of a new group. The small client makes no new group, so it creates nothing.
    ...bodyWith((body, visit) =>
      Number(visit.memory.get('status')) >= 500 ? body.replace('name="groupId"', 'name="newGroup"') : body,
    ),
  }),
  mistake('form-with-an-empty-group-list-after-403', 'create-without-groups', {
    ...rememberGroupsStatus,
    ...bodyWith((body, visit) =>
      visit.memory.get('status') === 403
        ? body.replace(/<input name="groupId"[^>]*>/, '<select name="groupId"></select>')
        : body,
    ),
  }),
]
