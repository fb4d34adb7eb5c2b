// What this client is for: the applications of a visitor, as pages and routes.
import type { Product } from '../product.ts'
import { createApplicationApi } from './application-api.ts'
import { createCredentials } from './credentials.ts'
import { checkId, createDetails } from './details.ts'
import { createApplicationForms } from './form.ts'
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
    const form = createApplicationForms({ api, credentials, clock, ...forms })
    signedIn.addHook('preHandler', checkId)
    signedIn.get('/applications', list)
    signedIn.get('/applications/new', form.newForm.open)
    signedIn.post('/applications', form.newForm.route, form.create)
    signedIn.get('/applications/:id', details.show)
    signedIn.get('/applications/:id/edit', form.editForm.open)
    signedIn.post('/applications/:id/edit', form.editForm.route, form.edit)
    signedIn.get('/applications/:id/secret', details.secretForm.open)
    signedIn.post('/applications/:id/secret', details.secretForm.route, details.refreshSecret)
    signedIn.get('/applications/:id/delete', details.removalForm.open)
    signedIn.post('/applications/:id/delete', details.removalForm.route, details.remove)
  },
}
