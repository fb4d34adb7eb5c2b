// Runs before start, demo and test. Plain JavaScript, because a Node too old for type stripping cannot read a .ts file.
const major = Number(process.versions.node.split('.')[0])
if (major < 24) {
  console.error(
    `This project needs Node.js 24 or later; this is ${process.version}. ` +
      'Run "npm ci" first: it brings a Node.js 24 of its own, which every npm script then uses.',
  )
  process.exit(1)
}
