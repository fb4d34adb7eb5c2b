// The entry point of the image "conformance". It starts one of two programs: "conformance --client URL" or "sandbox".
const programs = { conformance: '../src/conformance/main.ts', sandbox: '../src/sandbox/main.ts' }
const [node = '', file = '', name = '', ...rest] = process.argv

if (name in programs) {
  process.argv = [node, file, ...rest]
  await import(programs[name as keyof typeof programs])
} else {
  process.stderr.write('Name a program: conformance or sandbox. "conformance --help" lists its options.\n')
  process.exitCode = 1
}
