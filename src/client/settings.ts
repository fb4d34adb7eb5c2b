// Yours: the settings of your product. readConfig reads and checks them together with the settings of the client
// (config.ts). buildClient gets the settings of the product as config.product. After a change, run "npm run settings".
// This command lists the settings in .env.example and in the README.
import { defineSettings } from './read-settings.ts'

export const productSettings = defineSettings({ list: [], read: () => ({}) })

export type ProductConfig = ReturnType<typeof productSettings.read>
