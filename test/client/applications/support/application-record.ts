// Makes the API's answers about applications (rule api-create).

/** Returns an application. `data` replaces some of its fields. */
export function applicationRecord(id: string, data: Record<string, unknown> = {}, more: Record<string, unknown> = {}) {
  return {
    '@context': 'https://standards.oftrust.net/v2/Context/Identity/Digital/Software/App/',
    '@type': 'App',
    '@id': id,
    data: { name: 'Weather', description: '', privacyPolicyUrl: '', webPageUrl: '', iconUrl: '', ...data },
    metadata: {
      createdAt: '2026-01-01T00:00:00+00:00',
      createdBy: 'visitor-1',
      updatedAt: '2026-01-01T00:00:00+00:00',
      updatedBy: 'visitor-1',
    },
    inLinks: [{ '@type': 'DeveloperOf', '@id': 'link-1', from: 'group-1', to: id, data: {}, metadata: {} }],
    outLinks: [],
    ...more,
  }
}

export function collection(items: unknown[]) {
  return { '@context': 'https://schema.org/', '@type': 'collection', ItemList: items }
}
