// What visitors read in the example product, in English and in German, and how a request gets its language.
import type { FastifyRequest } from 'fastify'
import type { SomeTexts } from '../../../src/client/texts.ts'

export const notesTexts = {
  home: 'Your notes',
  notes: (applications: number, notes: string) => `${applications} applications. Notes: ${notes}`,
  write: 'Write a note',
  all: 'Everybody’s notes',
  form: { title: 'A note', label: 'Note', save: 'Save', nothingTyped: 'Write something.' },
  noUserId: 'The login portal does not say who you are.',
  live: 'Live notes',
  sessionEnded: 'Your session has ended.',
  signInAgain: 'Sign in again',
  unreachable: 'This site cannot be reached. Please try again.',
  add: 'Add',
  file: 'A text file with one note in each line',
  import: 'Import',
  noFile: 'Choose a file.',
  mayCount: 'This site can count your applications every night, also while you are away.',
  allow: 'Allow this',
  counts: 'This site counts your applications every night.',
  stop: 'Stop counting',
  counted: (applications: number) => `Applications: ${applications}`,
  notAModerator: 'Only moderators can see the notes of others.',
}

declare module '../../../src/client/texts.ts' {
  interface Texts {
    notes: typeof notesTexts
  }
}

const english: SomeTexts = { start: { lead: 'Keep your notes in one place.', goHome: 'Go to your notes' } }

const german: SomeTexts = {
  lang: 'de',
  notes: {
    home: 'Ihre Notizen',
    notes: (applications, notes) => `${applications} Anwendungen. Notizen: ${notes}`,
    write: 'Notiz schreiben',
    form: { title: 'Eine Notiz', label: 'Notiz', save: 'Speichern', nothingTyped: 'Schreiben Sie etwas.' },
  },
  web: {
    page: { signOut: 'Abmelden' },
    form: { fieldsRefused: 'Bitte verbessern Sie die markierten Felder.' },
    errors: { noPage: 'Unter dieser Adresse gibt es keine Seite.' },
  },
  signIn: { signIn: 'Anmelden', signInRequired: 'Bitte melden Sie sich wieder an.' },
}

/** The texts in the language that the browser asks for. */
export function chooseTexts({ headers }: FastifyRequest): SomeTexts {
  return prefersGerman(headers['accept-language']) ? german : english
}

/** Browsers list the languages of the visitor in order: `de-DE,de;q=0.9,en;q=0.8`. */
function prefersGerman(acceptLanguage = ''): boolean {
  const languages = acceptLanguage.split(',').map(entry => entry.trim().slice(0, 2).toLowerCase())
  return languages.find(language => language === 'de' || language === 'en') === 'de'
}
