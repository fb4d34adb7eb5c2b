// The mail that the portal writes. A sandbox never sends mail: the laboratory keeps each message and shows it. Without
// a laboratory, the portal does not write mail.

export interface Mail {
  /** The e-mail address of the account. */
  to: string
  subject: string
  /** Plain text. The page shows a line as a link if the line is an address. */
  text: string
}

export interface Mailbox {
  deliver(mail: Mail): void
  /** The address of the page that shows all mail. */
  url: string
}
