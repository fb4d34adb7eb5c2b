// Yours: the settings of the example product. Your own product defines its settings in src/client/settings.ts.
import { defineSettings } from '../../../src/client/read-settings.ts'

export const productSettings = defineSettings({
  list: [
    { name: 'NOTES_FILE', default: 'data/notes.db', about: 'The database file of the notes.' },
    { name: 'NOTES_MODERATORS', default: '', about: 'The ids of the users who see all notes, comma-separated.' },
  ],
  read: ({ text }) => ({ file: text('NOTES_FILE'), moderators: text('NOTES_MODERATORS').split(',').filter(Boolean) }),
})

export type ProductConfig = ReturnType<typeof productSettings.read>
