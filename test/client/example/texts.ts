// The texts of the example product in English and in German, and the function that chooses the language for a request.
import type { FastifyRequest } from 'fastify'
import type { signInTexts } from '../../../src/client/sign-in/texts.ts'
import type { SomeTexts } from '../../../src/client/texts.ts'

export const notesTexts = {
  home: 'Your notes',
  notes: (applications: number, notes: string) => `${applications} applications. Notes: ${notes}`,
  write: 'Write a note',
  all: 'Everybody’s notes',
  form: {
    title: 'A note',
    label: 'Note',
    save: 'Save',
    nothingTyped: 'Write something.',
    used: 'This form has already saved a note. To save another note, send the form again.',
  },
  noUserId: 'The login portal does not say who you are.',
  live: 'Live notes',
  sessionEnded: 'Your session has ended.',
  signInAgain: 'Sign in again',
  unreachable: 'This site cannot be reached. Please try again.',
  add: 'Add',
  file: 'A text file with one note on each line',
  import: 'Import',
  noFile: 'Choose a file.',
  mayCount: 'This site can count your applications every night, even while you are away.',
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

const english: SomeTexts = {
  start: {
    lead: 'Keep your notes in one place.',
    goHome: 'Go to your notes',
    homeText: 'Read your notes and write new ones.',
  },
}

/** With this type, the compiler reports a text that is missing here. */
const germanNotes: typeof notesTexts = {
  home: 'Ihre Notizen',
  notes: (applications, notes) => `${applications} Anwendungen. Notizen: ${notes}`,
  write: 'Notiz schreiben',
  all: 'Alle Notizen',
  form: {
    title: 'Eine Notiz',
    label: 'Notiz',
    save: 'Speichern',
    nothingTyped: 'Schreiben Sie etwas.',
    used: 'Dieses Formular hat schon eine Notiz gespeichert. Senden Sie es noch einmal, um eine weitere zu speichern.',
  },
  noUserId: 'Das Anmeldeportal teilt nicht mit, wer Sie sind.',
  live: 'Notizen live',
  sessionEnded: 'Ihre Sitzung ist abgelaufen.',
  signInAgain: 'Wieder anmelden',
  unreachable: 'Diese Website ist nicht erreichbar. Bitte versuchen Sie es noch einmal.',
  add: 'Hinzufügen',
  file: 'Eine Textdatei mit einer Notiz pro Zeile',
  import: 'Importieren',
  noFile: 'Wählen Sie eine Datei aus.',
  mayCount: 'Diese Website kann jede Nacht Ihre Anwendungen zählen, auch wenn Sie nicht da sind.',
  allow: 'Erlauben',
  counts: 'Diese Website zählt jede Nacht Ihre Anwendungen.',
  stop: 'Nicht mehr zählen',
  counted: applications => `Anwendungen: ${applications}`,
  notAModerator: 'Nur Moderatoren können die Notizen anderer sehen.',
}

/** Each text is a complete sentence, because it can be the only text of a page. */
const germanLoginErrors: typeof signInTexts.loginErrors = {
  login_callback_invalid: 'Dieser Anmeldelink ist unvollständig. Bitte melden Sie sich noch einmal an.',
  login_unknown:
    'Diese Anmeldung wurde in einem anderen Browser begonnen, ist schon beendet oder hat länger als zehn Minuten gedauert. Bitte melden Sie sich noch einmal an.',
  login_without_cookies:
    'Die Anmeldung braucht Cookies, und Ihr Browser hat keine gesendet. Bitte erlauben Sie Cookies für diese Website, und melden Sie sich noch einmal an. Manche Browser speichern auf http-Adressen keine sicheren Cookies: Verwenden Sie https oder einen anderen Browser. Wenn Sie in einem anderen Browser begonnen haben, machen Sie dort weiter.',
  login_used: 'Dieser Anmeldelink wurde schon verwendet. Er gilt nur einmal.',
  invalid_grant:
    'Das Anmeldeportal nimmt diese Anmeldung nicht mehr an. Sie wurde schon verwendet oder hat zu lange gedauert. Bitte melden Sie sich noch einmal an.',
  other_user:
    'Sie sind am Anmeldeportal mit einem anderen Konto angemeldet als hier. Deshalb wurde nichts verbunden. Melden Sie sich am Portal ab, und versuchen Sie es noch einmal.',
  user_unknown:
    'Das Anmeldeportal teilt nicht mit, wer Sie sind. Deshalb kann nichts verbunden werden. Bitte sagen Sie es dem Betreiber dieser Website.',
  no_refresh_token:
    'Das Anmeldeportal hat keinen dauerhaften Zugriff erteilt. Deshalb wurde nichts verbunden. Bitte sagen Sie es dem Betreiber dieser Website.',
  not_connected:
    'Diese Website konnte die Verbindung nicht speichern. Deshalb wurde nichts verbunden. Bitte versuchen Sie es noch einmal.',
  token_too_long:
    'Das Anmeldeportal hat ein Zugriffstoken ausgestellt, das für ein Cookie zu lang ist. Bitte sagen Sie es dem Betreiber dieser Website.',
  client_misconfigured:
    'Diese Website ist für das Anmeldeportal nicht richtig eingerichtet. Es liegt nicht an Ihnen. Bitte sagen Sie es dem Betreiber dieser Website.',
}

const german: SomeTexts = {
  lang: 'de',
  notes: germanNotes,
  web: {
    page: { signOut: 'Abmelden' },
    form: { fieldsRefused: 'Bitte verbessern Sie die markierten Felder.' },
    errors: {
      noPage: 'Unter dieser Adresse gibt es keine Seite.',
      byStatus: { 413: 'Das ist zu groß, um es auf einmal zu senden. Bitte senden Sie weniger.' },
    },
  },
  signIn: {
    signIn: 'Anmelden',
    goBack: 'Zurück',
    signInRequired: 'Bitte melden Sie sich wieder an.',
    loginErrors: germanLoginErrors,
  },
}

/** Returns the texts in the language that the browser asks for. */
export function chooseTexts({ headers }: FastifyRequest): SomeTexts {
  return prefersGerman(headers['accept-language']) ? german : english
}

/** Browsers list the languages of the visitor in order: `de-DE,de;q=0.9,en;q=0.8`. */
function prefersGerman(acceptLanguage = ''): boolean {
  const languages = acceptLanguage.split(',').map(entry => entry.trim().slice(0, 2).toLowerCase())
  return languages.find(language => language === 'de' || language === 'en') === 'de'
}
