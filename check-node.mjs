// npm runs this file before the other scripts of package.json. It is plain JavaScript, because an old Node cannot read .ts files.
const major = Number(process.versions.node.split('.')[0])
if (major < 24) {
  console.error(
    `This project needs Node.js 24 or later. You have ${process.version}. ` +
      'Run "npm ci" first. It installs Node.js 24, which every npm script then uses.',
  )
  // The conformance suite uses exit code 1 only if a client broke a rule.
  process.exit(2)
}
