// The clients that a filter offers on the list of logins and on the page of faults.

const mostOffered = 100

/**
 * Returns the ids of the clients in `records`, at most 100. The selected client comes first, even if the laboratory has
 * no record of this client. Otherwise, the filter would show "All", and the next form would drop the client.
 */
export function offeredClients(selected: string | undefined, records: { clientId: string | undefined }[]): string[] {
  const ids = [selected, ...records.map(({ clientId }) => clientId)].filter(id => id !== undefined)
  return [...new Set(ids)].slice(0, mostOffered)
}
