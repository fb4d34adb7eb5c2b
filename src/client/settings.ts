// Yours: the settings of your product. readConfig reads and checks them together with the settings of the client
// (config.ts). buildClient gets the settings of the product as config.product. After you change a setting, run "npm run
// settings". This command writes the list of settings into .env.example and the README.
import { defineSettings } from './read-settings.ts'

export const productSettings = defineSettings({ list: [], read: () => ({}) })

export type ProductConfig = ReturnType<typeof productSettings.read>
