// For tests that still need the applications.
export { rememberingApi } from '../applications/support/remembering-api.ts'
