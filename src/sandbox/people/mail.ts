// Mail of the portal. A sandbox sends none: it is kept for the laboratory to show, and where there is none, nowhere.

export interface Mail {
  /** An e-mail address, as the account has it. */
  to: string
  subject: string
  /** Plain text; a line that is an address is a link. */
  text: string
}

export interface Mailbox {
  deliver(mail: Mail): void
  /** Where somebody reads it in a browser. */
  url: string
}
