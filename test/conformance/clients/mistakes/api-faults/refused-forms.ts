// A client that shows the problems of a refused form only beside the fields of the form.
import { bodyWith } from '../../changes.ts'
import { type Mistake, mistake } from '../../mistake.ts'

/** The message of the small client about a field that its forms do not have. */
const otherProblem = /<p role="alert">Please look at these fields again: context( <a [^>]*>Sign in<\/a>)?<\/p>/

export const refusedForms: Mistake[] = [
  mistake(
    'problem-of-another-field-not-shown',
    ['create-422-other-field', 'edit-422-other-field'],
    bodyWith(body => body.replace(otherProblem, '')),
  ),
]
