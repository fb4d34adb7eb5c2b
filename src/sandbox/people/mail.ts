// Mail of the portal. A sandbox sends none. The laboratory keeps it and shows it; without a laboratory there is no mail.

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
