// The title of an error page.

export function errorTitle(statusCode: number): string {
  if (statusCode === 404) return 'Not found'
  return statusCode >= 500 ? 'Sorry, something went wrong' : 'There is a problem'
}
