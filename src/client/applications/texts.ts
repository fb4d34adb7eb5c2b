// What visitors read on the pages for applications.

const { format } = new Intl.NumberFormat('en')
const count = (total: number) => `${format(total)} ${total === 1 ? 'application' : 'applications'}`

export const applicationsTexts = {
  /** The text of a link to the list of applications. */
  home: 'Your applications',
  /** These two texts replace a missing name: the first in a heading, the second within a sentence. */
  unnamed: 'Unnamed application',
  anApplication: 'application',
  /** The text of a link to an application whose name is unknown. */
  application: 'Application',
  thisSite: 'This site',
  none: 'None',
  notFound:
    'There is no such application, or it is not yours. Check the address for typing mistakes, and check that you are signed in with the right account.',

  list: {
    title: 'Your applications',
    titleOfPage: (page: number) => `Your applications, page ${format(page)}`,
    titleOfSearch: (search: string) => `“${search}” in your applications`,
    titleAfterRemoval: 'Application removed',
    removed: 'The application has been removed. Nobody can sign in with this application any more.',
    newApplication: 'New application',
    noneYet: {
      title: 'No applications yet',
      text: 'Register an application to get a client ID and a client secret. Your own client needs both to sign people in.',
    },
    search: 'Search by name or client ID',
    searchButton: 'Search',
    showAll: 'Show all applications',
    noneFound: {
      title: 'No applications found',
      text: (search: string) => `None of your applications has “${search}” in its name or client ID.`,
    },
    count,
    countFound: (found: number, total: number, search: string) =>
      `${format(found)} of ${format(total)} match “${search}”`,
    /** The label in front of the sort orders. */
    sort: 'Sort by',
    orders: { newest: 'Newest', oldest: 'Oldest', name: 'Name' },
    created: (time: string) => `Created ${time}`,
    clientId: (id: string) => `Client ID: ${id}`,
    pages: 'Pages',
    previous: 'Previous',
    range: (from: number, to: number, total: number) => `${format(from)} to ${format(to)} of ${format(total)}`,
    pageOf: (page: number, pages: number) => `Page ${format(page)} of ${format(pages)}`,
    next: 'Next',
  },

  details: {
    titleAfterSaving: (name: string) => `Saved: ${name}`,
    edit: 'Edit',
    saved: 'Your changes are saved.',
    createdEarlier:
      'This application was created after you opened the form: perhaps the response to your first attempt was lost. If you do not have its client secret, create a new one below.',
    clientId: 'Client ID',
    groupId: (id: string) => `ID: ${id}`,
    defaultUri: 'default',
    created: 'Created',
    lastChanged: 'Last changed',
    /** The page shows this text in front of the labels of all optional fields that are empty. */
    notFilledIn: 'Not filled in',
    /** The text of a link to the edit form. The link stands after the labels of the empty fields. */
    fillIn: 'Fill in',
    client: 'OAuth client',
    about: 'About',
    secret: {
      title: 'Client secrets',
      current: (age: string) => `The current secret was created ${age}.`,
      previous: (age: string) => `The previous secret was created ${age} and still works.`,
      text: 'You can see a client secret only once, when you create it. If you have lost your client secret, create a new one.',
      link: 'Create new client secret…',
    },
    nextSteps: {
      title: 'Settings and first call, for developers',
      settings: 'Settings for your client',
      settingsText: 'Save these settings in a file named .env, and fill in the client secret.',
      curl: 'A call to the application API',
      curlText: 'First put an access token into the variable TOKEN.',
      guide: 'Read about all calls to the application API',
    },
    remove: {
      title: 'Remove',
      text: 'After you remove the application, nobody can use it any more.',
      link: 'Remove application…',
    },
  },

  /** The page that shows credentials once. */
  credentials: {
    registered: (name: string) => `${name} is registered`,
    newSecret: (name: string) => `New client secret for ${name}`,
    copyNow: 'Copy these credentials now.',
    shownOnce: 'After you leave or reload this page, you will not see these credentials again.',
    ofThisSite:
      'This site uses its previous secret until its operator changes the setting CLIENT_SECRET and restarts this site.',
    client: 'Credentials',
    clientId: 'Client ID',
    clientIdHint: 'The public name of your client.',
    clientSecret: 'Client secret',
    firstSecretHint: 'Keep this secret on your server, never in a browser or an app.',
    newSecretHint:
      'This secret works from now on. The two newest secrets are valid: this secret and the previous secret.',
    appAccessToken: (number: number) => `App access token ${format(number)}`,
    appAccessTokenHint: 'With this token, the application can call the API for itself, without a signed-in user.',
    validUntil: (time: string) => `Valid until ${time}.`,
    tokenId: (id: string) => `Token ID: ${id}`,
    /** A comment in the downloaded file. */
    validUntilInFile: (time: string) => `Valid until ${time}`,
    download: 'Download as .env',
    nextSteps: {
      title: 'Next steps',
      /** The next steps after an application was created. */
      ofClient: {
        settings: 'Put the credentials into the settings file of your client. Keep this file out of version control.',
        start: 'Start your client and sign in.',
      },
      /** The next steps after a new client secret was created. */
      ofSecret: {
        replace: 'Replace the client secret in the settings of your client.',
        restart: 'Restart your client, and sign in to check that the new secret works.',
      },
    },
    done: 'Done',
  },

  form: {
    newTitle: 'New application',
    editTitle: (name: string) => `Edit ${name}`,
    create: 'Create application',
    creating: 'Creating…',
    whatFollows: 'The next page shows the client ID and the client secret.',
    save: 'Save changes',
    saving: 'Saving…',
    about: 'About the application',
    client: 'OAuth client',
    clientUnknown:
      'The application API does not say which redirect URIs this application has. Enter all of them, because your entry replaces the stored redirect URIs.',
    labels: {
      groupId: 'Group',
      groupName: 'Name of your group',
      name: 'Name',
      /** The label of `name` if the form also asks for the name of a group. */
      nameOfApplication: 'Name of the application',
      description: 'Description',
      webPageUrl: 'Web page',
      iconUrl: 'Icon',
      privacyPolicyUrl: 'Privacy policy',
      redirectUris: 'Redirect URIs',
      defaultRedirectUri: 'Default redirect URI',
      scopes: 'Scopes',
      defaultScopes: 'Default scopes',
    },
    hints: {
      groupName:
        'An application belongs to a group of people who develop it. You have no group yet, so this site creates a group with this name.',
      groupChoice: 'The members of this group can change and remove the application.',
      groupId: 'The ID of one of your groups.',
      /** Shown if the session has ended: the visitor cannot choose another group before signing in again. */
      groupChosen: 'You can choose another group after you have signed in.',
      description: 'The login portal shows this text when it asks people to allow the application.',
      iconUrl:
        'The address of a picture. The login portal shows a link to this picture when it asks people to allow the application.',
      redirectUris: (example: string) =>
        `The addresses to which people return after signing in, one per line. Use https://, or http:// for localhost. For example: ${example}`,
      defaultRedirectUri: 'The login portal uses this redirect URI if a sign-in request contains none.',
      defaultRedirectUriUnknown:
        'The login portal uses this redirect URI if a sign-in request contains none. If you leave this field empty, the stored redirect URI does not change.',
      scopes:
        'Names of permissions, separated by spaces, for example: orders:read orders:write. The platform stores these names for your own API, and does not check them. Most applications need no scopes.',
      defaultScopes: 'The login portal uses these scopes if a sign-in request contains none.',
    },
    /** The suggested name of a visitor's first group. */
    groupOf: (name: string) => `${name}’s group`,
    /** The first choice for the default redirect URI. */
    firstRedirectUri: 'The first redirect URI',
    currentRedirectUri: 'The current one',
    /** Shown if the groups cannot be loaded. `problem` says why. */
    groupsNotLoaded: (problem: string, link: string) =>
      `Your groups could not be loaded. ${problem} Enter the ID of your group instead. You can find this ID at ${link}.`,
    portalLink: 'the login portal',
    groupsUnknown: 'The platform does not tell this site which account is yours.',
    /** Shown if a required field is empty. */
    required: {
      groupId: 'Choose the group that the application belongs to.',
      groupName: 'Enter a name for your group.',
      name: 'Enter a name for the application.',
      redirectUris: 'Enter one or more redirect URIs.',
    },
    problems: {
      tooLong: (label: string, most: number, length: number) =>
        `Shorten “${label}” to ${format(most)} characters. It now has ${format(length)}.`,
      nul: (label: string) => `Remove the invisible NUL character from “${label}”.`,
      webUrl: (label: string) => `Enter an address for “${label}” that begins with https:// or http://.`,
      notARedirectUri: 'Choose a default redirect URI that is one of the redirect URIs.',
      notAMember: 'You are not a member of this group.',
      noGroup: 'There is no group with this ID.',
      groupNotCreated: 'The group could not be created. Create a group at the login portal.',
    },
    /** The problems that a redirect URI can have. */
    redirectUris: {
      incomplete: (uri: string) => `“${uri}” must be a complete address that begins with https://.`,
      tooLong: (uri: string, most: number) => `“${uri}” must have at most ${format(most)} characters.`,
      notAscii: (uri: string) => `“${uri}” must contain only ASCII characters. Percent-encode all other characters.`,
      fragment: (uri: string) => `“${uri}” must not have a fragment (#).`,
      character: (uri: string) => `“${uri}” must not contain * or \\.`,
      password: (uri: string) => `“${uri}” must not contain a user name or password.`,
      host: (uri: string) => `“${uri}” must have a host of letters, digits, dots and hyphens.`,
      insecure: (uri: string) =>
        `“${uri}” must begin with https://, because http:// is only for localhost, 127.0.0.1 and [::1].`,
    },
    used: 'This form has already created an application. To create another application, send the form again.',
    /** `problem` says why the site cannot check whether the application exists. */
    inDoubt: (problem: string) =>
      `Your first attempt may have created the application. At the moment, this site cannot check whether the application exists. ${problem}`,
    changedJustNow: 'Somebody else has just changed the application. Send the form again.',
  },

  /**
   * The page for a conflict: somebody else has changed the application while the visitor edited it. The page asks which
   * values to keep.
   */
  conflict: {
    message:
      'Nothing is saved yet, because the application has changed in the meantime. For each field, choose the value to keep. Then save.',
    preselected: 'If only one of the two values is new, the new value is already selected.',
    typed: 'In your form',
    stored: 'Saved now',
    empty: 'Empty',
    choose: 'Choose one of the two values.',
  },

  secret: {
    title: (name: string) => `New client secret for ${name}`,
    /** The name of this page in the breadcrumbs. */
    crumb: 'New client secret',
    button: 'Create new client secret',
    creating: 'Creating…',
    thisSite: 'This application is the site that you are using.',
    thisSiteKeeps:
      'This site uses its current secret until its operator puts the new secret into the settings. If you create a second new secret before that, nobody can sign in here.',
    whatHappens: 'If you create a new client secret:',
    shownOnce: 'The new secret works at once. You will see it only once.',
    currentStays: 'The current secret stays valid, so that you can replace it without an interruption.',
    oldStops:
      'Only the two newest secrets are valid. If there are already two secrets, the older secret stops working.',
    /** Shown if the API returns the times at which the valid secrets were created. */
    previousStops: (age: string) =>
      `The previous secret, which was created ${age}, stops working. Only the two newest secrets are valid.`,
    /** Shown if there is a new secret that did not exist when the form was shown. */
    createdMeanwhile:
      'A client secret has been created since you opened this page, perhaps because you have already sent this form. Nothing was done this time. Before you send the form again, read below which secret stops working.',
    /**
     * Shown if the first attempt failed, and the API does not return the times at which the valid secrets were created.
     */
    inDoubt:
      'Your first attempt may have created a client secret that you have not seen. Only the two newest secrets are valid. So if you send the form again, the client secret that the application uses may stop working.',
    noneStops: 'No secret stops working, because the application has only one secret so far.',
  },

  remove: {
    title: (name: string) => `Remove ${name}`,
    heading: (name: string) => `Remove ${name}?`,
    button: 'Remove application',
    removing: 'Removing…',
    thisSite: 'This application is the site that you are using.',
    thisSiteStops: 'Nobody can sign in here, not even you, until the operator registers this site again.',
    atOnce: 'This takes effect at once, and you cannot undo it:',
    noSignIn: 'Nobody can sign in with this application any more.',
    secretsStop: 'The client secrets and all tokens of this application stop working, including its app access tokens.',
    /** Shown once on the start page, after the application of this site was removed. */
    siteRemoved: {
      sentence: 'This site has been removed.',
      consequence: 'Nobody can sign in here until the operator registers this site again and sets the new credentials.',
    },
  },

  /**
   * If the application is this site itself, the visitor must confirm a new secret or the removal by typing the
   * application's name into this field.
   */
  confirmation: {
    label: 'Type the application’s name to confirm',
    hint: (name: string) => `The name is “${name}”.`,
    nothingDone: 'Nothing was done.',
    differs: 'This is not the name of the application. Type the name as it is shown.',
  },
}

declare module '../texts.ts' {
  interface Texts {
    applications: typeof applicationsTexts
  }
}
