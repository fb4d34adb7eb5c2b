// What this client is for: the applications of a visitor, as pages and routes.
import type { Product } from '../product.ts'
import { createApplicationApi } from './application-api.ts'
import { createCreation } from './create.ts'
import { createCredentials } from './credentials.ts'
import { createDetails } from './details.ts'
import { createEditing } from './edit.ts'
import { createList } from './list.ts'

// Yours: the product, by hand and in order.
export const product: Product = {
  name: 'Applications',
  home: '/applications',
  links: [{ href: '/applications', text: 'Your applications' }],

  pages(signedIn, { config, upstream, clock, ...forms }) {
    const { clientId } = config
    const api = createApplicationApi(config.apiInternalUrl, upstream)
    const credentials = createCredentials({ ...config, ...forms, clock })
    const list = createList({ api, clientId })
    const details = createDetails({ api, credentials, clientId, ...forms })
    const creation = createCreation({ api, credentials, clock, ...forms })
    const editing = createEditing({ api, ...forms })
    signedIn.get('/applications', list)
    signedIn.get('/applications/new', creation.form.open)
    signedIn.post('/applications', creation.form.route, creation.create)
    signedIn.get('/applications/:id', details.show)
    signedIn.get('/applications/:id/edit', editing.form.open)
    signedIn.post('/applications/:id/edit', editing.form.route, editing.edit)
    signedIn.get('/applications/:id/secret', details.secretForm.open)
    signedIn.post('/applications/:id/secret', details.secretForm.route, details.refreshSecret)
    signedIn.get('/applications/:id/delete', details.removalForm.open)
    signedIn.post('/applications/:id/delete', details.removalForm.route, details.remove)
  },
}
