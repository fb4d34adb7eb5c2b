// Yours: the texts of the start page. Replace them with your own texts.

export const startTexts = {
  title: 'Start',
  heading: 'Register and manage your applications',
  lead: 'Each application gets a client ID and a client secret, which it needs to sign people in. You sign in at the platform’s login portal, so this site never sees your password.',
  /** The heading for signed-in visitors. */
  welcome: (name: string) => `Welcome, ${name}`,
  /** The heading for signed-in visitors whose name the portal does not return. */
  welcomeWithoutName: 'Welcome',
  /** The link to the site's home. */
  goHome: 'Go to your applications',
  homeText: 'Find a client ID, edit an application, or create a new client secret.',
  /** The link to the page for a new application. */
  goNew: 'New application',
  newText: 'Register an application, and get its client ID and its client secret.',
  signIn: 'Sign in',
  /** The link to the page that describes the application API. */
  guide: 'Read the API reference',
  guideText: 'All calls to the application API, with examples.',
  /** A picture of credentials, next to the heading. */
  example: {
    name: { label: 'Name', value: 'Weather station' },
    clientId: { label: 'Client ID', value: 'b76dfc56-8246-4e0f-ae68' },
    clientSecret: { label: 'Client secret', value: '••••••••••••••••' },
  },
  steps: {
    title: 'How it works',
    signIn: { title: 'Sign in', text: 'The login portal asks who you are, and whether this site may act for you.' },
    register: { title: 'Register', text: 'Name your application, and say where people return after signing in.' },
    build: {
      title: 'Build',
      text: 'Put the credentials into the settings of your own client. They are shown only once.',
    },
  },
}

declare module './texts.ts' {
  interface Texts {
    start: typeof startTexts
  }
}
