// Yours: the settings of your product. readConfig reads and checks them together with the settings of the client
// (config.ts). buildClient gets them as config.product. After a change run "npm run settings": it lists them in .env.example
// and the README.
import { defineSettings } from './read-settings.ts'

export const productSettings = defineSettings({ list: [], read: () => ({}) })

export type ProductConfig = ReturnType<typeof productSettings.read>
