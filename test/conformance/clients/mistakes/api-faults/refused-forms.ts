// A client that does not show the problem with a field that its form does not contain.
import { bodyWith } from '../../changes.ts'
import { type Mistake, mistake } from '../../mistake.ts'

/** The small client's message about a field that its forms do not have. */
const otherProblem = /<p role="alert">Please look at these fields again: context( <a [^>]*>Sign in<\/a>)?<\/p>/

export const refusedForms: Mistake[] = [
  mistake(
    'problem-of-another-field-not-shown',
    ['create-422-other-field', 'edit-422-other-field'],
    bodyWith(body => body.replace(otherProblem, '')),
  ),
]
