// What this client is for: the applications of a visitor, as pages and routes.
import type { Product } from '../product.ts'
import { createApplicationApi } from './application-api.ts'
import { createCreation } from './create.ts'
import { createDetails } from './details.ts'
import { createEditing } from './edit.ts'
import { createList } from './list.ts'
import { createQuestions } from './questions.ts'

// Yours: the product, by hand and in order.
export const product: Product = {
  name: 'Applications',
  home: '/applications',
  links: [{ href: '/applications', text: 'Your applications' }],

  pages(signedIn, { config, upstream, clock, defineForm, handovers, notices }) {
    const { clientId } = config
    const api = createApplicationApi(config.apiInternalUrl, upstream, clock)
    const list = createList({ api, notices, clientId })
    const details = createDetails({ api, handovers, notices, site: config })
    const creation = createCreation({ api, details, notices, defineForm })
    const editing = createEditing({ api, notices, defineForm })
    const questions = createQuestions({ api, details, notices, clientId, defineForm })
    signedIn.get('/applications', list)
    signedIn.get('/applications/new', creation.form.open)
    signedIn.post('/applications', creation.form.route, creation.create)
    signedIn.get('/applications/:id', details.show)
    signedIn.get('/applications/:id/edit', editing.form.open)
    signedIn.post('/applications/:id/edit', editing.form.route, editing.edit)
    signedIn.get('/applications/:id/secret', questions.secretForm.open)
    signedIn.post('/applications/:id/secret', questions.secretForm.route, questions.refreshSecret)
    signedIn.get('/applications/:id/delete', questions.removalForm.open)
    signedIn.post('/applications/:id/delete', questions.removalForm.route, questions.remove)
  },
}
