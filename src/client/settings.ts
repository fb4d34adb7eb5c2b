// Yours: the settings of your product. They are read and checked together with those of the client (config.ts), and are
// config.product in buildClient. After a change run "npm run settings": it lists them in .env.example and the README.
import { defineSettings } from './read-settings.ts'

export const productSettings = defineSettings({ list: [], read: () => ({}) })

export type ProductConfig = ReturnType<typeof productSettings.read>
